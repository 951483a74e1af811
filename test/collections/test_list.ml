(* Muster.Parallel.List against Stdlib.List. *)

open Harness
open Laws
module Ours = Muster.Parallel.List
module Theirs = Stdlib.List

let even c x =
  body c x;
  x land 1 = 0

let add c x =
  body c x;
  x + 1

let add_at c i x =
  body c x;
  x + i

let some c x = if even c x then Some (x + 1) else None

let few c x =
  body c x;
  Theirs.init (x land 3) (fun i -> x + i)

(* The sum of what a function was called with; it raises like [c]'s bodies. *)
let sum_of call =
  let sum = Atomic.make 0 in
  call (fun x -> ignore (Atomic.fetch_and_add sum x));
  Atomic.get sum

(* [None], [Some x] or what a body raised: whichever is the leftmost. *)
let one_of c x =
  body c x;
  x mod 97 = 5

let by ours theirs (name, f) =
  Law (name, (fun c -> ours (f c) c.elements), fun c -> theirs (f c) c.elements)

let laws_of_lists =
  [
    by Ours.map Theirs.map ("map", add);
    by Ours.mapi Theirs.mapi ("mapi", add_at);
    by Ours.filter Theirs.filter ("filter", even);
    by Ours.find_all Theirs.find_all ("find_all", even);
    by Ours.filteri Theirs.filteri ("filteri", fun c i x -> even c (x + i));
    by Ours.filter_map Theirs.filter_map ("filter_map", some);
    by Ours.concat_map Theirs.concat_map ("concat_map", few);
    by Ours.partition Theirs.partition ("partition", even);
    Law
      ( "map2",
        (fun c -> Ours.map2 (fun x y -> add c x - y) c.elements (Theirs.rev c.elements)),
        fun c -> Theirs.map2 (fun x y -> add c x - y) c.elements (Theirs.rev c.elements) );
    Law
      ( "init",
        (fun c -> Ours.init (Theirs.length c.elements) (add c)),
        fun c -> Theirs.init (Theirs.length c.elements) (add c) );
  ]

let laws_of_effects =
  let iter (iter : _ -> int list -> unit) c =
    sum_of (fun tell ->
        iter
          (fun x ->
            body c x;
            tell x)
          c.elements)
  in
  let iteri (iteri : _ -> int list -> unit) c =
    sum_of (fun tell ->
        iteri
          (fun i x ->
            body c x;
            tell (i * x))
          c.elements)
  in
  [
    Law ("iter", iter Ours.iter, iter Theirs.iter);
    Law ("iteri", iteri Ours.iteri, iteri Theirs.iteri);
  ]

let laws_of_searches =
  [
    by Ours.find Theirs.find ("find", one_of);
    by Ours.find_opt Theirs.find_opt ("find_opt", one_of);
    by Ours.find_index Theirs.find_index ("find_index", one_of);
    by Ours.find_map Theirs.find_map
      ("find_map", fun c x -> if one_of c x then Some (x + 1) else None);
    by Ours.find_mapi Theirs.find_mapi
      ("find_mapi", fun c i x -> if one_of c x then Some (i, x) else None);
    by Ours.exists Theirs.exists ("exists", one_of);
    by Ours.for_all Theirs.for_all ("for_all", fun c x -> not (one_of c x));
    by Ours.mem Theirs.mem ("mem", fun c -> c.boom);
    by Ours.memq Theirs.memq ("memq", fun c -> c.boom);
  ]

let first_by better = function
  | [] -> None
  | x :: l -> Some (Theirs.fold_left (fun best x -> if better x best then x else best) x l)

let key_only c (a, _) (b, _) =
  spin c.spin;
  Int.compare a b

let numbered c = Theirs.mapi (fun i x -> (x land 15, i)) c.elements

let groups key l =
  let add keys x = if Theirs.mem (key x) keys then keys else key x :: keys in
  let keys = Theirs.fold_left add [] l in
  Theirs.rev_map (fun k -> (k, Theirs.filter (fun x -> key x = k) l)) keys

let count_bins bins f l =
  let counts = Array.make bins 0 in
  Theirs.iter
    (fun x ->
      let bin = f x in
      counts.(bin) <- counts.(bin) + 1)
    l;
  counts

let scan op = function
  | [] -> []
  | x :: l ->
    let step acc y =
      let acc = op acc y in
      (acc, acc)
    in
    x :: snd (Theirs.fold_left_map step x l)

(* Not commutative. *)
let affine (a, b) (c, d) = (a * c land 0xffff, ((b * c) + d) land 0xffff)
let maps c = Theirs.map (fun x -> ((2 * x) + 1, x)) c.elements

let laws_of_reductions =
  [
    Law
      ( "fold",
        (fun c -> Ours.fold affine (1, 0) (maps c)),
        fun c -> Theirs.fold_left affine (1, 0) (maps c) );
    Law
      ( "reduce",
        (fun c ->
          Ours.reduce
            (fun a b ->
              spin c.spin;
              affine a b)
            (maps c)),
        fun c -> match maps c with [] -> None | x :: l -> Some (Theirs.fold_left affine x l) );
    Law ("scan", (fun c -> Ours.scan affine (maps c)), fun c -> scan affine (maps c));
    by Ours.count (fun f l -> Theirs.length (Theirs.filter f l)) ("count", even);
    Law
      ( "min",
        (fun c -> Ours.min (key_only c) (numbered c)),
        fun c -> first_by (fun x y -> key_only c x y < 0) (numbered c) );
    Law
      ( "max",
        (fun c -> Ours.max (key_only c) (numbered c)),
        fun c -> first_by (fun x y -> key_only c x y > 0) (numbered c) );
  ]

let laws_of_groups =
  let key c x =
    body c x;
    x land 7
  in
  [
    by Ours.group_by groups ("group_by", key);
    by (Ours.histogram ~bins:8) (count_bins 8) ("histogram", key);
  ]

let laws_of_sorting =
  let sorted sort c = sort (key_only c) (numbered c) in
  [
    Law ("sort", sorted Ours.sort, sorted Theirs.stable_sort);
    Law ("stable_sort", sorted Ours.stable_sort, sorted Theirs.stable_sort);
    Law ("fast_sort", sorted Ours.fast_sort, sorted Theirs.stable_sort);
    by Ours.sort_uniq Theirs.sort_uniq
      ( "sort_uniq",
        fun c x y ->
          spin c.spin;
          Int.compare x y );
    Law
      ( "sort_uniq keeps the first",
        (fun c -> Ours.sort_uniq (key_only c) (numbered c)),
        fun c ->
          let keep kept (k, i) =
            match kept with (k', _) :: _ when k' = k -> kept | _ -> (k, i) :: kept
          in
          Theirs.rev (Theirs.fold_left keep [] (Theirs.stable_sort (key_only c) (numbered c))) );
  ]

(* {2 What random cases do not show} *)

let different_lengths () =
  let check long short =
    check_raises "map2" (Invalid_argument "List.map2") (fun () -> Ours.map2 ( + ) long short);
    check_raises "map2" (Invalid_argument "List.map2") (fun () -> Ours.map2 ( + ) short long)
  in
  let upto n = Theirs.init n Fun.id in
  Theirs.iter
    (fun (a, b) -> check (upto a) (upto b))
    [ (1, 0); (2, 0); (2, 1); (3, 2); (300, 1); (50_000, 49_999); (50_000, 2) ]

let bad_arguments () =
  check_raises "init" (Invalid_argument "List.init") (fun () -> Ours.init (-1) Fun.id);
  let mentions what = [ "Muster.Parallel.List.histogram"; what ] in
  let refuses what f = check_invalid ~mentions:(mentions what) "histogram" f in
  refuses "bins = -1" (fun () -> Ours.histogram ~bins:(-1) Fun.id []);
  refuses "bins = 3" (fun () -> Ours.histogram ~bins:3 Fun.id [ 0; 1; 2; 3 ]);
  refuses "-1" (fun () -> Ours.histogram ~bins:3 Fun.id [ 0; -1 ])

(* A sum of floats tells brackets apart. *)
let same_bits () =
  let floats n = Theirs.init n (fun i -> 1. /. float (1 + (i * 7919 mod 1009))) in
  let slow_add x y =
    spin 100;
    x +. y
  in
  let sums n =
    let l = floats n in
    (Ours.fold ( +. ) 0. l, Ours.fold slow_add 0. l, Ours.scan slow_add l)
  in
  let check n =
    let expected = run_on 1 (fun () -> sums n) in
    let fast, slow, _ = expected in
    check_equal "the bracketing does not depend on the time" fast slow;
    let again domains =
      for _ = 1 to 3 do
        check_equal "the same bits" expected (run_on domains (fun () -> sums n))
      done
    in
    Theirs.iter again [ 1; 2; 3; 8 ]
  in
  Theirs.iter check [ 2; 5; 100; 5_001; 20_000 ]

(* Runs of 32 from left to right; two trees of one height become one; the others, from the right. *)
let bracketed op l =
  let rec merge = function
    | (right, rank) :: (left, rank') :: trees when rank = rank' ->
      merge ((op left right, rank + 1) :: trees)
    | trees -> trees
  in
  let rec leaf acc more = function
    | x :: l when more > 0 -> leaf (op acc x) (more - 1) l
    | l -> (acc, l)
  in
  let rec leaves trees = function
    | [] -> trees
    | x :: l ->
      let value, l = leaf x 31 l in
      leaves (merge ((value, 0) :: trees)) l
  in
  match leaves [] l with
  | [] -> None
  | (last, _) :: trees -> Some (Theirs.fold_left (fun right (left, _) -> op left right) last trees)

let same_brackets () =
  let pair x y = Printf.sprintf "(%s%s)" x y in
  let slow_pair x y =
    spin 100;
    pair x y
  in
  let check n =
    let l = Theirs.init n string_of_int in
    let expected = bracketed pair l in
    check_equal "reduce" expected (Ours.reduce pair l);
    check_equal "slow" expected (Ours.reduce slow_pair l)
  in
  run_on 3 (fun () -> Theirs.iter check (Theirs.init 300 Fun.id @ [ 1_023; 1_024; 5_001 ]))

(* The operation of which the sequential program raises first. *)
let first_failure_of_fold () =
  let op x y =
    spin 100;
    if (x + y) mod 1009 = 0 then raise (Boom (x + y)) else x + y
  in
  let l = Theirs.init 20_000 (fun i -> i * 31 mod 977) in
  let result domains = run_on domains (fun () -> outcome (fun () -> Ours.fold op 0 l)) in
  let expected = result 1 in
  check_bool "it raises" true (Result.is_error expected);
  let again domains =
    for _ = 1 to 5 do
      check_equal "the same failure" expected (result domains)
    done
  in
  Theirs.iter again [ 2; 3; 8 ]

(* Depth in proportion to the length would not fit. *)
let deep () =
  let limit = (Gc.get ()).stack_limit in
  Fun.protect ~finally:(fun () -> Gc.set { (Gc.get ()) with stack_limit = limit }) @@ fun () ->
  Gc.set { (Gc.get ()) with stack_limit = 50_000 };
  run_on 2 @@ fun () ->
  let n = 1_000_000 in
  let l = Ours.init n Fun.id in
  let is_length what l = check_int what n (Theirs.length l) in
  is_length "map" (Ours.map succ l);
  is_length "mapi" (Ours.mapi ( + ) l);
  is_length "map2" (Ours.map2 ( + ) l l);
  is_length "filter" (Ours.filter (fun x -> x >= 0) l);
  is_length "filter_map" (Ours.filter_map Option.some l);
  is_length "concat_map" (Ours.concat_map (fun x -> [ x ]) l);
  is_length "partition" (fst (Ours.partition (fun x -> x >= 0) l));
  is_length "scan" (Ours.scan ( + ) l);
  is_length "sort" (Ours.sort Int.compare l);
  is_length "sort_uniq" (Ours.sort_uniq Int.compare l);
  is_length "group_by" (Ours.group_by (fun x -> x) l);
  check_int "fold" (n * (n - 1) / 2) (Ours.fold ( + ) 0 l);
  check_int "count" n (Ours.count (fun x -> x >= 0) l);
  check_bool "for_all" true (Ours.for_all (fun x -> x >= 0) l);
  Ours.iter ignore l

let no_more_allocation () =
  let check l =
    let same what ours theirs = allocates_no_more what (fun () -> ours l) (fun () -> theirs l) in
    let even x = x land 1 = 0 in
    same "map" (fun l -> Ours.map succ l) (fun l -> Theirs.map succ l);
    same "mapi" (fun l -> Ours.mapi ( + ) l) (fun l -> Theirs.mapi ( + ) l);
    same "map2" (fun l -> Ours.map2 ( + ) l l) (fun l -> Theirs.map2 ( + ) l l);
    same "iter" (fun l -> Ours.iter ignore l) (fun l -> Theirs.iter ignore l);
    same "iteri" (fun l -> Ours.iteri (fun _ _ -> ()) l) (fun l -> Theirs.iteri (fun _ _ -> ()) l);
    same "filter" (fun l -> Ours.filter even l) (fun l -> Theirs.filter even l);
    same "filteri"
      (fun l -> Ours.filteri (fun _ -> even) l)
      (fun l -> Theirs.filteri (fun _ -> even) l);
    same "filter_map"
      (fun l -> Ours.filter_map Option.some l)
      (fun l -> Theirs.filter_map Option.some l);
    same "concat_map"
      (fun l -> Ours.concat_map (fun _ -> l) l)
      (fun l -> Theirs.concat_map (fun _ -> l) l);
    same "partition" (fun l -> Ours.partition even l) (fun l -> Theirs.partition even l);
    same "find_opt" (fun l -> Ours.find_opt even l) (fun l -> Theirs.find_opt even l);
    same "find_index" (fun l -> Ours.find_index even l) (fun l -> Theirs.find_index even l);
    same "find_map" (fun l -> Ours.find_map Option.some l) (fun l -> Theirs.find_map Option.some l);
    same "exists" (fun l -> Ours.exists even l) (fun l -> Theirs.exists even l);
    same "for_all" (fun l -> Ours.for_all even l) (fun l -> Theirs.for_all even l);
    same "mem" (fun l -> Ours.mem 1 l) (fun l -> Theirs.mem 1 l);
    same "sort" (fun l -> Ours.sort Int.compare l) (fun l -> Theirs.sort Int.compare l);
    same "stable_sort"
      (fun l -> Ours.stable_sort Int.compare l)
      (fun l -> Theirs.stable_sort Int.compare l);
    same "sort_uniq"
      (fun l -> Ours.sort_uniq Int.compare l)
      (fun l -> Theirs.sort_uniq Int.compare l);
    same "init"
      (fun l -> Ours.init (Theirs.length l) Fun.id)
      (fun l -> Theirs.init (Theirs.length l) Fun.id)
  in
  check [];
  check [ 4 ]

let shared () =
  let l = Theirs.init 200 Fun.id in
  let check what call = takes_two_domains what (fun meet -> ignore (call meet)) in
  check "map" (fun meet -> ignore (Ours.map meet (Theirs.map ignore l)));
  check "filter" (fun meet ->
      ignore
        (Ours.filter
           (fun _ ->
             meet ();
             true)
           l));
  check "iter" (fun meet -> Ours.iter (fun _ -> meet ()) l);
  check "init" (fun meet -> ignore (Ours.init 200 (fun _ -> meet ())));
  check "fold" (fun meet ->
      ignore
        (Ours.fold
           (fun a b ->
             meet ();
             a + b)
           0 l));
  check "for_all" (fun meet ->
      ignore
        (Ours.for_all
           (fun _ ->
             meet ();
             true)
           l));
  check "sort" (fun meet ->
      ignore
        (Ours.sort
           (fun a b ->
             meet ();
             compare b a)
           l))

(* What is known as short, but is not any more, is shared after some elements. *)
let grown_slow () =
  let slow = Atomic.make false in
  takes_two_domains "map that has become slow" (fun meet ->
      let f x =
        if Atomic.get slow then (
          spin 10_000;
          if x > 500 then meet ())
        else ()
      in
      let l = Theirs.init 1000 Fun.id in
      for _ = 1 to 10 do
        ignore (Ours.map f l)
      done;
      Atomic.set slow true;
      ignore (Ours.map f l))

let cancelled () =
  let n = 1_000_000 in
  let l = Theirs.init n Fun.id in
  let check what call = ends_when_cancelled what ~most:(n - 1) (fun tick -> ignore (call tick)) in
  check "map" (fun tick -> ignore (Ours.map (fun _ -> tick ()) l));
  check "fold" (fun tick ->
      ignore
        (Ours.fold
           (fun a _ ->
             tick ();
             a)
           0 l));
  check "exists" (fun tick ->
      ignore
        (Ours.exists
           (fun _ ->
             tick ();
             false)
           l));
  check "sort" (fun tick ->
      ignore
        (Ours.sort
           (fun a b ->
             tick ();
             compare b a)
           l));
  check "Seq.iter" (fun tick -> Muster.Parallel.Seq.iter (fun _ -> tick ()) (Theirs.to_seq l))

let () =
  Alcotest.run "list"
    [
      ("lists", properties "lists" laws_of_lists);
      ("effects", properties "effects" laws_of_effects);
      ("searches", properties "searches" laws_of_searches);
      ("reductions", properties "reductions" laws_of_reductions);
      ("groups", properties "groups" laws_of_groups);
      ("sorting", properties ~count:15 "sorting" laws_of_sorting);
      ( "more",
        [
          case "lists of different lengths are refused" (fun () -> run_on 2 different_lengths);
          case "bad arguments are refused" bad_arguments;
          case "sums of floats have the same bits" same_bits;
          case "the same brackets at every length" same_brackets;
          case "a fold raises its first failure" first_failure_of_fold;
          case "a million elements need little stack" deep;
          case "no or one element allocate no more than the stdlib" no_more_allocation;
          case "two domains share a call" shared;
          case "calls are shared once their function becomes slow" grown_slow;
          case "calls are cancelled" cancelled;
        ] );
    ]
