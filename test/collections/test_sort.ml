(* Sorting arrays, and the merge sort below it, against the stdlib's. *)

open Harness
open Muster_core
open Muster_loop
module Ours = Muster.Parallel.Array
module Theirs = Stdlib.Array

exception Boom of int

type case = { keys : int array; spin : int }

let spin n =
  for _ = 1 to n do
    ignore (Sys.opaque_identity n)
  done

let print c =
  let first = List.filteri (fun i _ -> i < 50) (Theirs.to_list c.keys) in
  let some = String.concat "; " (List.map string_of_int first) in
  Printf.sprintf "%d keys [%s…], spin %d" (Theirs.length c.keys) some c.spin

(* Random keys, many and few; in order, in reverse, rising and falling, all but in order. *)
let shape n =
  let open QCheck.Gen in
  let random top = array_size (return n) (int_bound top) in
  let disturbed =
    let+ swaps = list_size (int_bound 5) (pair (int_bound n) (int_bound n)) in
    let keys = Theirs.init n Fun.id in
    List.iter (fun (i, j) -> if i < n && j < n then keys.(i) <- j) swaps;
    keys
  in
  oneof
    [
      random 1_000_000;
      random 50;
      random 2;
      disturbed;
      return (Theirs.init n (fun i -> n - i));
      return (Theirs.init n (fun i -> min i (n - i)));
    ]

let case_generator =
  let open QCheck.Gen in
  let short = int_range 0 20 and longer = int_range 0 300 and long = int_range 5_000 50_000 in
  let* n = weighted [ (5, short); (8, longer); (1, long) ] in
  let* keys = shape n in
  let+ spin = if n > 300 then return 0 else one_of [ 0; 20; 1000 ] in
  { keys; spin }

let any_case = QCheck.make ~print case_generator

let properties ?(count = 15) name holds =
  let holds _ c = holds c in
  List.map (fun domains -> property ~seconds:120 ~count ~domains name any_case holds) [ 1; 2; 3; 8 ]

(* {2 Like the stdlib's} *)

let sorts_like ours theirs of_case cmp c =
  let a = of_case c in
  let b = Theirs.copy a in
  ours (cmp c) a;
  theirs (cmp c) b;
  Stdlib.compare a b = 0

let each_sort = [ Ours.sort; Ours.stable_sort; Ours.fast_sort ]

let agrees of_case cmp c =
  List.for_all (fun ours -> sorts_like ours Theirs.stable_sort of_case cmp c) each_sort

(* Of equal keys, the index tells which was the first. *)
let numbered c = Theirs.mapi (fun i key -> (key, i)) c.keys

let by_key c (a, _) (b, _) =
  spin c.spin;
  Int.compare a b

let strings c = Theirs.map string_of_int c.keys

(* With some that are nan. *)
let floats c = Theirs.map (fun k -> if k mod 17 = 0 then nan else float k /. 3.) c.keys
let extreme _ a b = if a < b then min_int else if a = b then 0 else max_int

let agrees_with_the_stdlib c =
  agrees numbered by_key c
  && agrees
       (fun c -> c.keys)
       (fun c a b ->
         spin c.spin;
         Int.compare b a)
       c
  && agrees strings (fun _ -> String.compare) c
  && agrees floats (fun _ -> Float.compare) c
  && agrees (fun c -> Theirs.map Option.some c.keys) (fun _ -> Stdlib.compare) c
  && agrees (fun c -> c.keys) extreme c

(* Those of the stdlib before OCaml 5.4 need not be the first. *)
let keeps_the_first c =
  let rec firsts = function
    | (a, i) :: (b, _) :: l when a = b -> firsts ((a, i) :: l)
    | x :: l -> x :: firsts l
    | [] -> []
  in
  let sorted = List.stable_sort (by_key c) (Theirs.to_list (numbered c)) in
  Theirs.to_list (Ours.sort_uniq (by_key c) (numbered c)) = firsts sorted

let sort_uniq_agrees c =
  let sorted = List.sort_uniq Int.compare (Theirs.to_list c.keys) in
  Theirs.to_list
    (Ours.sort_uniq
       (fun a b ->
         spin c.spin;
         Int.compare a b)
       c.keys)
  = sorted
  && Theirs.to_list (Ours.sort_uniq (extreme c) c.keys) = sorted
  && keeps_the_first c

(* {2 Comparisons that are none} *)

let same_elements a b =
  let sorted a = List.sort Stdlib.compare (Theirs.to_list a) in
  sorted a = sorted b

(* Its answers look random, and are the same for the same pair. *)
let inconsistent seed (_, i) (_, j) = (Hashtbl.hash (seed, i, j) mod 3) - 1

let keeps_elements_with cmp c =
  let a = numbered c in
  let before = Theirs.copy a in
  ignore (outcome (fun () -> Ours.sort cmp a));
  same_elements before a

let nothing_is_lost c =
  List.for_all (fun seed -> keeps_elements_with (inconsistent seed) c) [ 1; 2 ]
  && keeps_elements_with (fun _ _ -> 1) c
  && keeps_elements_with (fun _ _ -> -1) c
  && keeps_elements_with (fun _ _ -> 0) c

(* At some call, or wherever one key meets another. *)
let nothing_is_lost_when_it_raises c =
  let n = Theirs.length c.keys in
  let after limit =
    let calls = Atomic.make 0 in
    fun (a, _) (b, _) ->
      if Atomic.fetch_and_add calls 1 = limit then raise (Boom limit);
      Int.compare a b
  in
  let at m (a, i) (b, j) = if (i + j) mod m = 0 then raise (Boom (i + j)) else Int.compare a b in
  List.for_all (fun limit -> keeps_elements_with (after limit) c) [ 0; n / 2; n; 5 * n; 12 * n ]
  && List.for_all (fun m -> keeps_elements_with (at m) c) [ 1; 100; 10_007 ]

let floats_survive_a_failure () =
  let calls = Atomic.make 0 in
  let cmp a b = if Atomic.fetch_and_add calls 1 > 100_000 then raise Exit else Float.compare a b in
  let a = Theirs.init 50_000 (fun i -> float (i * 7919 mod 10_007)) in
  let before = Theirs.copy a in
  check_raises "sort" Exit (fun () -> run_on 2 (fun () -> Ours.sort cmp a));
  check_bool "the same elements" true (same_elements before a)

(* {2 Exceptions} *)

let unique cmp a = ignore (Ours.sort_uniq cmp a)

(* The same exception on any number of domains. *)
let same_exception ?(rounds = 10) sort () =
  let n = 30_000 in
  let input = Theirs.init n (fun i -> i * 7919 mod 32_003) in
  let fails m =
    let cmp a b = if (a + b) mod m = 0 then raise (Boom (a + b)) else Int.compare a b in
    let sort () = sort cmp (Theirs.copy input) in
    let result domains = run_on domains (fun () -> outcome sort) in
    let expected = result 1 in
    let again domains =
      for _ = 1 to rounds do
        check_equal "the exception" expected (result domains)
      done
    in
    List.iter again [ 2; 3; 8 ];
    Result.is_error expected
  in
  check_bool "rare" true (fails 20_011);
  check_bool "more often" true (fails 4_001);
  check_bool "often" true (fails 101)

(* The left half's, though the right half's comes first. *)
let left_before_right sort () =
  let n = 10_000 in
  let cmp a b =
    if a < n / 2 && b < n / 2 && a + b = 9 then (
      burn 0.05;
      raise (Boom 1))
    else if a >= n / 2 && b >= n / 2 then raise (Boom 2)
    else if a < n / 2 <> (b < n / 2) then raise (Boom 3)
    else Int.compare a b
  in
  let sort () = sort cmp (Theirs.init n Fun.id) in
  let on domains = check_raises "sort" (Boom 1) (fun () -> run_on domains sort) in
  List.iter on [ 1; 2; 3 ]

(* Another domain compares elements of the right half when the left half raises. *)
let right_of_a_failure () =
  let n = 100 and begun = Atomic.make false in
  let in_vain () = Muster_core.(Fiber.is_in_vain (Fiber.place ())) in
  let cmp a b =
    if a < n / 2 && b < n / 2 then begin
      wait_until (fun () -> Atomic.get begun);
      raise Exit
    end
    else if not (Atomic.exchange begun true) then wait_until in_vain;
    Int.compare a b
  in
  let sort () = Ours.sort cmp (Theirs.init n Fun.id) in
  check_raises "sort" Exit (fun () -> run_on 2 sort)

let ended_before_it_raises sort () =
  let running = Atomic.make 0 in
  let cmp a b =
    Atomic.incr running;
    spin 100;
    if a + b = 12_345 then (
      Atomic.decr running;
      raise Exit);
    Atomic.decr running;
    Int.compare a b
  in
  for _ = 1 to 20 do
    let a = Theirs.init 20_000 (fun i -> i * 7919 mod 20_011) in
    ignore (outcome (fun () -> run_on 3 (fun () -> sort cmp a)));
    check_int "calls that run" 0 (Atomic.get running)
  done

let cancelled () =
  let n = 100_000 in
  let before = Theirs.init n (fun i -> i * 7919 mod 100_003) in
  let a = Theirs.copy before in
  let sort tick =
    Ours.sort
      (fun a b ->
        tick ();
        Int.compare a b)
      a
  in
  Laws.ends_when_cancelled "sort" ~most:(10 * n) sort;
  check_bool "the same elements" true (same_elements before a)

let unique_cancelled () =
  let n = 100_000 in
  let sort tick =
    unique
      (fun a b ->
        tick ();
        Int.compare a b)
      (Theirs.init n (fun i -> i * 7919 mod 100_003))
  in
  Laws.ends_when_cancelled "sort_uniq" ~most:(10 * n) sort

(* The other domain, too. *)
let unique_stops () =
  let n = 300_000 in
  let calls = Atomic.make 0 in
  let cmp a b =
    Atomic.incr calls;
    spin 20;
    if a + b < 1000 then raise Exit else Int.compare a b
  in
  let sort () = unique cmp (Theirs.init n Fun.id) in
  check_raises "sort_uniq" Exit (fun () -> run_on 2 sort);
  if Atomic.get calls > n then failf "%d calls" (Atomic.get calls)

(* {2 Cost} *)

let counted sort cmp input =
  let calls = Atomic.make 0 in
  let cmp a b =
    Atomic.incr calls;
    cmp a b
  in
  ignore (sort cmp input);
  Atomic.get calls

(* The fewer different ones there are, the less there is to do. *)
let number_of_calls () =
  let n = 100_000 in
  let calls = Atomic.make 0 in
  let cmp a b =
    Atomic.incr calls;
    Int.compare a b
  in
  let a = Theirs.init n (fun i -> i * 7919 mod 100_003) in
  run_on 2 (fun () -> Ours.sort cmp a);
  let log = 16.7 in
  let most = int_of_float (1.02 *. log *. float n) in
  if Atomic.get calls > most then failf "%d calls, more than %d" (Atomic.get calls) most

(* Where its comparison is known to be fast, a short list is the stdlib's affair, but for one call
   that tells whether it still is. *)
let short_ones () =
  let l = List.init 10 (fun i -> i * i mod 3) in
  let theirs = counted List.sort_uniq Int.compare l in
  let tries = List.init 50 (fun _ -> counted Muster.Parallel.List.sort_uniq Int.compare l) in
  if Sys.ocaml_release.minor >= 4 && List.for_all (fun n -> n > theirs + 1) tries then
    failf "%d calls, where the stdlib's makes %d" (List.hd (List.rev tries)) theirs

let no_more_allocation () =
  let check input =
    let run sort = fun () -> sort Int.compare input in
    Laws.allocates_no_more "sort" (run Ours.sort) (run Theirs.sort);
    Laws.allocates_no_more "stable_sort" (run Ours.stable_sort) (run Theirs.stable_sort)
  in
  check [||];
  check [| 4 |]

let shared () =
  Laws.takes_two_domains "sort" (fun meet ->
      Ours.sort
        (fun a b ->
          meet ();
          Int.compare a b)
        (Theirs.init 100 (fun i -> 100 - i)));
  (* The halves are in order, each; so that only the last merge has to compare much. *)
  let n = 100_000 in
  let compared = Atomic.make 0 in
  Laws.takes_two_domains "the last merge" (fun meet ->
      let cmp a b =
        if Atomic.fetch_and_add compared 1 > n + (n / 5) then meet ();
        Int.compare a b
      in
      Ours.sort cmp (Theirs.init n (fun i -> if i < n / 2 then 2 * i else (2 * (i - (n / 2))) + 1)))

(* Immediates and young blocks take each other's places while the collector moves and marks. *)
let immediates_among_blocks () =
  let n = 20_000 in
  let key i = i * 7919 mod n in
  let fresh i = if key i mod 3 = 0 then None else Some (ref (key i)) in
  let keys = Theirs.map (Option.map ( ! )) in
  let calls = Atomic.make 0 in
  let disturb () =
    let call = Atomic.fetch_and_add calls 1 in
    if call mod 2_000 = 0 then Gc.minor ();
    if call mod 50_000 = 0 then ignore (Gc.major_slice 0)
  in
  let cmp a b =
    disturb ();
    Option.compare (fun a b -> Int.compare !a !b) a b
  in
  let turned i = function
    | None ->
      disturb ();
      Some (ref i)
    | Some _ -> None
  in
  let check () =
    let a = Theirs.init n fresh in
    let sorted = Theirs.init n fresh |> keys in
    Theirs.stable_sort (Option.compare Int.compare) sorted;
    Ours.stable_sort cmp a;
    Gc.full_major ();
    check_bool "sorted" true (keys a = sorted);
    Ours.mapi_inplace turned a;
    Gc.full_major ();
    let is_turned i before after =
      match (before, after) with None, Some i' -> i = i' | Some _, None -> true | _ -> false
    in
    let holds i = is_turned i sorted.(i) (Option.map ( ! ) a.(i)) in
    check_bool "turned" true (Theirs.for_all holds (Theirs.init n Fun.id))
  in
  List.iter
    (fun domains ->
      Muster.Pool.with_ ~domains ~oversubscribe:true (fun _ -> check ()))
    [ 1; 2; 3 ]

(* What was a little too long for its caller alone stays with it when it has become a little shorter. *)
let short_again () =
  let n = 20 and ticks = ref 0 in
  let cmp a b =
    let since = Machine.ticks () in
    while Machine.ticks () - since < !ticks do
      ()
    done;
    Int.compare a b
  in
  let code = Machine.code_of cmp and calls = Muster_collections_engine.Merge_sort.comparisons n in
  let is_short () = Site.estimate (Site.cost code) calls < Muster_loop.Tuning.min_shared in
  let rec sort_until ~short tries =
    Ours.sort cmp (Theirs.init n (fun i -> i * 7 mod n));
    if is_short () <> short && tries > 0 then sort_until ~short (tries - 1)
  in
  with_domains 2 @@ fun pool ->
  Muster.Pool.run pool (fun () ->
      ticks := 14 * Muster_loop.Tuning.min_shared / (10 * calls);
      sort_until ~short:false 1000;
      check_bool "too long at first" false (is_short ());
      (* A cost is remembered anew where it has changed by a factor of two. *)
      ticks := 5 * Muster_loop.Tuning.min_shared / (10 * calls);
      sort_until ~short:true 1000;
      check_bool "short afterwards" true (is_short ()))

let () =
  Alcotest.run "sort"
    [
      ("like the stdlib's", properties "sorts" agrees_with_the_stdlib);
      ("sort_uniq", properties ~count:10 "sort_uniq" sort_uniq_agrees);
      ("no order", properties "keeps all elements" nothing_is_lost);
      ("the collector", [ case "the collector finds blocks among immediates"
        immediates_among_blocks ]);
      ( "raising",
        properties "keeps all elements" nothing_is_lost_when_it_raises
        @ [
            case "a sort of floats that raises keeps all elements" floats_survive_a_failure;
            case "the same exception on 1, 2, 3 and 8 domains" (same_exception Ours.sort);
            case "the left half's exception is raised" (left_before_right Ours.sort);
            case "no comparison runs after the exception" (ended_before_it_raises Ours.sort);
            case "the half right of an exception gets no more help" right_of_a_failure;
            case "a cancelled sort keeps all elements" cancelled;
            case "sort_uniq: the same exception on 1, 2, 3 and 8 domains"
              (same_exception ~rounds:3 unique);
            case "sort_uniq: the left half's exception is raised" (left_before_right unique);
            case "sort_uniq: no comparison runs after the exception"
              (ended_before_it_raises unique);
            case "sort_uniq is cancelled" unique_cancelled;
            case "sort_uniq stops where it raises" unique_stops;
          ] );
      ( "cost",
        [
          case "sorts make no more comparisons than promised" number_of_calls;
          case "sort_uniq of a short list costs no more than the stdlib's" short_ones;
          case "no or one element allocate no more than the stdlib" no_more_allocation;
          case "two domains share a sort" shared;
          case "a sort that becomes short again stays with its caller" short_again;
        ] );
    ]
