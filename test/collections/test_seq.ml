(* Muster.Parallel.Seq against Stdlib.Seq. *)

open Harness
open Laws
module Ours = Muster.Parallel.Seq
module Theirs = Stdlib.Seq

let seq c = List.to_seq c.elements

(* Raises where it ends. *)
let failing c = Theirs.append (seq c) (fun () -> raise (Boom (-7)))

let even c x =
  body c x;
  x land 1 = 0

let sum_of call =
  let sum = Atomic.make 0 in
  call (fun x -> ignore (Atomic.fetch_and_add sum x));
  Atomic.get sum

let iter iter of_case c =
  sum_of (fun tell ->
      iter
        (fun x ->
          body c x;
          tell x)
        (of_case c))

let iteri iteri of_case c =
  sum_of (fun tell ->
      iteri
        (fun i x ->
          body c x;
          tell (i * x))
        (of_case c))

let laws_of_effects of_case =
  [
    Law ("iter", iter Ours.iter of_case, iter Theirs.iter of_case);
    Law ("iteri", iteri Ours.iteri of_case, iteri Theirs.iteri of_case);
  ]

let key_only c (a, _) (b, _) =
  spin c.spin;
  Int.compare a b

let numbered c = Theirs.mapi (fun i x -> (x land 15, i)) (seq c)

let affine c (a, b) (a', b') =
  spin c.spin;
  (a * a' land 0xffff, ((b * a') + b') land 0xffff)

let maps of_case c = Theirs.map (fun x -> ((2 * x) + 1, x)) (of_case c)

let bin c x =
  body c x;
  x land 7

let count_bins f s =
  let counts = Array.make 8 0 in
  Theirs.iter
    (fun x ->
      let b = f x in
      counts.(b) <- counts.(b) + 1)
    s;
  counts

let laws_of_reductions of_case =
  [
    Law
      ( "fold",
        (fun c -> Ours.fold (affine c) (1, 0) (maps of_case c)),
        fun c -> Theirs.fold_left (affine c) (1, 0) (maps of_case c) );
    Law
      ( "count",
        (fun c -> Ours.count (even c) (of_case c)),
        fun c -> Theirs.length (Theirs.filter (even c) (of_case c)) );
    Law
      ( "histogram",
        (fun c -> Ours.histogram ~bins:8 (bin c) (of_case c)),
        fun c -> count_bins (bin c) (of_case c) );
  ]

let first_by better s =
  let pick best x = match best with Some y when not (better x y) -> best | _ -> Some x in
  Theirs.fold_left pick None s

(* As far as the sequences can be compared: their elements. *)
let listed s = List.of_seq s

let laws_of_sorting =
  [
    Law
      ( "min",
        (fun c -> Ours.min (key_only c) (numbered c)),
        fun c -> first_by (fun x y -> key_only c x y < 0) (numbered c) );
    Law
      ( "max",
        (fun c -> Ours.max (key_only c) (numbered c)),
        fun c -> first_by (fun x y -> key_only c x y > 0) (numbered c) );
    Law
      ( "sort",
        (fun c -> listed (Ours.sort (key_only c) (numbered c))),
        fun c -> List.stable_sort (key_only c) (listed (numbered c)) );
    Law
      ( "stable_sort",
        (fun c -> listed (Ours.stable_sort (key_only c) (numbered c))),
        fun c -> List.stable_sort (key_only c) (listed (numbered c)) );
    Law
      ( "sort_uniq",
        (fun c -> listed (Ours.sort_uniq Int.compare (seq c))),
        fun c -> List.sort_uniq Int.compare c.elements );
    Law
      ( "group_by",
        (fun c -> List.map (fun (k, s) -> (k, listed s)) (listed (Ours.group_by (bin c) (seq c)))),
        fun c -> Muster.Parallel.List.group_by (bin c) c.elements );
    Law
      ( "find_opt",
        (fun c -> Ours.find_opt (even c) (seq c)),
        fun c -> List.find_opt (even c) c.elements );
    Law ("mem", (fun c -> Ours.mem c.boom (seq c)), fun c -> List.mem c.boom c.elements);
  ]

(* {2 What is forced, and when} *)

(* The numbers from 0, each to be forced once, in order, by one thread at a time. *)
let watched ?(stop = max_int) forced =
  let busy = Atomic.make false in
  let rec from i () =
    if Atomic.exchange busy true then failf "two force at once";
    if Atomic.get forced <> i then failf "%d is forced, and %d were before" i (Atomic.get forced);
    spin 100;
    Atomic.incr forced;
    Atomic.set busy false;
    if i >= stop then Theirs.Nil else Theirs.Cons (i, from (i + 1))
  in
  from 0

let forces_once_in_order () =
  let check spinning n =
    let forced = Atomic.make 0 and sum = Atomic.make 0 in
    let f x =
      spin spinning;
      ignore (Atomic.fetch_and_add sum x)
    in
    run_on 3 (fun () -> Ours.iter f (watched ~stop:n forced));
    check_int "forced" (n + 1) (Atomic.get forced);
    check_int "sum" (n * (n - 1) / 2) (Atomic.get sum)
  in
  let check_all spinning = List.iter (check spinning) [ 0; 1; 2; 15; 16; 17; 1000; 30_000 ] in
  List.iter check_all [ 0; 300 ]

(* An endless one can be left, and little of it was forced in vain. *)
let endless () =
  let leave spinning at =
    let forced = Atomic.make 0 in
    let f x =
      spin spinning;
      if x = at then raise (Boom at)
    in
    check_raises "iter" (Boom at) (fun () -> run_on 2 (fun () -> Ours.iter f (watched forced)));
    let ahead = Atomic.get forced - at in
    if ahead > 8192 then failf "%d were forced ahead of %d" ahead at;
    if at = 0 && ahead > 32 then failf "%d were forced ahead of the first" ahead
  in
  for _ = 1 to 5 do
    List.iter
      (fun at ->
        leave 2000 at;
        leave 10 at)
      [ 0; 1; 20; 300; 20_000 ]
  done

(* Whatever was remembered. *)
let alone_in_time () =
  let slow _ = Unix.sleepf 0.002 in
  run_on 1 @@ fun () ->
  let since = Unix.gettimeofday () in
  check_raises "deadline" Muster.Task.Deadline_exceeded (fun () ->
      Muster.Task.with_deadline 0.05 (fun () -> Ours.iter slow (Theirs.take 5000 (Theirs.ints 0))));
  if Unix.gettimeofday () -. since > 2. then failf "noticed late"

(* What makes a sequence forces nothing; what searches, nothing right of what it looks for. *)
let stays_lazy () =
  let forced = Atomic.make 0 in
  let s = watched forced in
  let made = Ours.(map succ s |> filter (fun x -> x > 0) |> filter_map Option.some |> mapi ( + )) in
  let sorted = Ours.(sort Int.compare (take 10 s)) in
  let grouped = Ours.(group_by Fun.id (take 10 s)) in
  check_int "forced by making" 0 (Atomic.get forced);
  ignore (sorted, grouped);
  check_equal "the first three" [ 1; 3; 5 ] (List.of_seq (Ours.take 3 made));
  let forced = Atomic.make 0 in
  let slow_is n x =
    spin 10_000;
    x = n
  in
  check_equal "found" (Some 20) (Ours.find_opt (slow_is 20) (watched forced));
  check_int "forced by a search" 21 (Atomic.get forced);
  (* A second element never comes. *)
  let is n x = if x > n then failf "looked beyond" else x = n in
  let only n = Theirs.filter (is n) (Theirs.ints 0) in
  check_bool "exists" true (Ours.exists (slow_is 5) (only 5));
  check_bool "for_all" false (Ours.for_all (fun x -> not (slow_is 5 x)) (only 5));
  check_bool "mem" true (Ours.mem 5 (only 5));
  check_equal "find" (Some 5) (Ours.find (slow_is 5) (only 5));
  check_equal "find_index" (Some 0) (Ours.find_index (slow_is 5) (only 5))

let bad_arguments () =
  let refuses what f = check_invalid ~mentions:[ "Muster.Parallel.Seq.histogram"; what ] "histogram" f in
  refuses "bins = -1" (fun () -> Ours.histogram ~bins:(-1) Fun.id Theirs.empty);
  refuses "bins = 3" (fun () -> Ours.histogram ~bins:3 Fun.id (Theirs.ints 0))

(* The bracketing is that of lists, however the sequence was read. *)
let same_bits () =
  let check n =
    let floats = List.init n (fun i -> 1. /. float (1 + (i * 7919 mod 1009))) in
    let expected = Muster.Parallel.List.fold ( +. ) 0. floats in
    let fast () = Ours.fold ( +. ) 0. (List.to_seq floats) in
    let slow () =
      Ours.fold
        (fun x y ->
          spin 200;
          x +. y)
        0. (List.to_seq floats)
    in
    let again domains =
      for _ = 1 to 5 do
        check_equal "fast" expected (run_on domains fast);
        check_equal "slow" expected (run_on domains slow)
      done
    in
    List.iter again [ 1; 2; 3; 8 ]
  in
  List.iter check [ 1; 2; 5; 17; 100; 5_001; 20_000 ]

let shared () =
  let s = Theirs.take 100 (Theirs.ints 0) in
  takes_two_domains "iter" (fun meet -> Ours.iter (fun _ -> meet ()) s);
  takes_two_domains "count" (fun meet ->
      ignore
        (Ours.count
           (fun _ ->
             meet ();
             true)
           s));
  takes_two_domains "fold" (fun meet ->
      ignore
        (Ours.fold
           (fun a b ->
             meet ();
             a + b)
           0 s))

let () =
  Alcotest.run "seq"
    [
      ("effects", properties "effects" (laws_of_effects seq @ laws_of_effects failing));
      ("reductions", properties "reductions" (laws_of_reductions seq @ laws_of_reductions failing));
      ("sorting and searches", properties ~count:15 "sorting" laws_of_sorting);
      ( "more",
        [
          case "each element is forced once, in order" forces_once_in_order;
          case "an endless sequence can be left" endless;
          case "deadlines are noticed in a pool of one" alone_in_time;
          case "functions that are lazy in the stdlib stay lazy" stays_lazy;
          case "bad arguments are refused" bad_arguments;
          case "sums of floats have the same bits" same_bits;
          case "two domains share a call" shared;
        ] );
    ]
