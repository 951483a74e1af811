(* Loops, reductions and regions. Bodies write plainly what the caller reads after the call, and
   read what it wrote before; so do the bodies of one call after another. *)

module Latch = Muster.Latch
module Pool = Muster.Pool
module Team = Muster.Team
open Rounds

let add cells i n = cells.(i) <- cells.(i) + n
let all_are n = Array.for_all (fun cell -> cell = n)

(* {2 Loops} *)

(* Every second one reads what other iterations wrote in the loop before. *)
let for_after_for domains =
  let a = Array.make 96 0 and b = Array.make 96 0 in
  in_task domains 400 (fun round ->
      let copy from into i =
        pauses 8;
        into.(i) <- from.(95 - i) + 1
      in
      Muster.parallel_for ~start:0 ~finish:95 (copy a b);
      Muster.parallel_for ~grain:4 ~start:0 ~finish:95 (copy b a);
      check "both loops" (all_are (2 * (round + 1)) a))

let nested =
  let cells = Array.make_matrix 6 16 0 in
  in_task 3 300 (fun round ->
      Muster.parallel_for ~start:0 ~finish:5 (fun i ->
          Muster.parallel_for ~grain:2 ~start:0 ~finish:15 (fun j ->
              pauses 8;
              add cells.(i) j 1));
      check "all cells" (Array.for_all (all_are (round + 1)) cells))

let reduce =
  let cells = Array.make 64 0 in
  in_task 3 400 (fun round ->
      let f i =
        pauses 16;
        add cells i i;
        ref cells.(i)
      in
      let combine a b = ref (!a + !b) in
      let total = Muster.parallel_reduce ~grain:2 ~start:0 ~finish:63 ~combine ~init:(ref 0) f in
      check "the sum" (!total = (round + 1) * 2016))

(* A part writes plainly, and a sum of numbers reads it by a loop of C. *)
let parts =
  let cells = Array.make 20_000 0. in
  in_task 3 100 (fun round ->
      let part ~start ~finish =
        pauses 16;
        for i = start to finish do
          cells.(i) <- cells.(i) +. 1.
        done;
        ref (finish - start + 1)
      in
      let finish = Array.length cells - 1 in
      let combine a b = ref (!a + !b) in
      let total =
        Muster.parallel_reduce_range ~start:0 ~finish ~combine ~init:(ref 0) part
      in
      check "all" (!total = 20_000);
      check "the sum" (Muster.Parallel.Array.sum cells = 20_000. *. float_of_int (round + 1)))

let find_and_scan =
  let cells = Array.make 64 0 in
  in_task 3 200 (fun round ->
      let wanted i =
        pauses 16;
        add cells i 1;
        if i >= 32 then Some (ref i) else None
      in
      (match Muster.parallel_find ~grain:1 ~start:0 ~finish:63 wanted with
      | Some found -> check "the first" (!found = 32)
      | None -> check "found" false);
      let scanned = Muster.parallel_scan ( + ) (Array.make 2_000 round) in
      check "scanned" (scanned.(1_999) = 2_000 * round))

(* Calls write their state plainly, one after another. *)
let states =
  let made = Atomic.make [] in
  let rec init () =
    let state = ref 0 and old = Atomic.get made in
    if Atomic.compare_and_set made old (state :: old) then state else init ()
  in
  in_task 3 400 (fun _ ->
      Atomic.set made [];
      Muster.parallel_for_init ~grain:1 ~start:0 ~finish:63 ~init (fun state _ ->
          pauses 16;
          incr state);
      let calls = List.fold_left (fun sum state -> sum + !state) 0 (Atomic.get made) in
      check "all calls" (calls = 64))

let pairs =
  let cells = Array.make_matrix 8 8 0 in
  in_task 3 400 (fun round ->
      Muster.parallel_for2 ~grain:1 ~start:(0, 0) ~finish:(7, 7) (fun i j ->
          pauses 16;
          add cells.(i) j 1);
      check "all cells" (Array.for_all (all_are (round + 1)) cells))

exception Wrong of int ref

let for_raises =
  in_task 3 400 (fun round ->
      let body i =
        pauses 16;
        if i >= 20 then raise (Wrong (ref (round + i)))
      in
      match Muster.parallel_for ~grain:1 ~start:0 ~finish:63 body with
      | () -> check "raises" false
      | exception Wrong content -> check "the leftmost" (!content = round + 20))

let loops_of_several_callers pool =
  let cells = Array.make_matrix 3 32 0 in
  let caller i round =
    Pool.run pool (fun () ->
        Muster.parallel_for ~grain:2 ~start:0 ~finish:31 (fun j ->
            pauses 8;
            add cells.(i) j 1);
        check "its cells" (all_are (round + 1) cells.(i)))
  in
  race 300 (List.init 3 caller)

(* {2 Regions} *)

(* Each worker reads what all the others wrote in the region before. *)
let broadcasts pool =
  let size = Pool.size pool in
  let before = Array.make size 0 and after = Array.make size 0 in
  let step from into worker = into.(worker) <- 1 + Array.fold_left max 0 from in
  repeat 2_000 (fun round ->
      Team.broadcast pool (step before after);
      Team.broadcast pool (step after before);
      check "all took part" (all_are (2 * (round + 1)) before))

let slices pool =
  let cells = Array.make 40 0 and sums = Array.make (Pool.size pool) 0 in
  repeat 1_000 (fun round ->
      Team.for_n pool 40 (fun ~worker i ->
          add cells i 1;
          add sums worker 1);
      Team.for_slices pool 40 (fun ~worker ~start ~count ->
          for i = start to start + count - 1 do
            add cells (39 - i) 1
          done;
          add sums worker count);
      check "all cells" (all_are (2 * (round + 1)) cells);
      check "worker's own" (Array.fold_left ( + ) 0 sums = 80 * (round + 1)))

(* Long bodies, so that the slices are really taken from each other. *)
let dynamic pool =
  let cells = Array.make 64 0 and sums = Array.make (Pool.size pool) 0 in
  repeat 500 (fun round ->
      Team.for_n_dynamic pool 64 (fun ~worker i ->
          pauses (4 * (i land 15));
          add cells i 1;
          add sums worker 1);
      check "all cells" (all_are (round + 1) cells);
      check "worker's own" (Array.fold_left ( + ) 0 sums = 64 * (round + 1)))

let regions_of_several_callers pool =
  let counts = Array.init 3 (fun _ -> Array.make (Pool.size pool) 0) in
  let caller i round =
    if (round + i) land 1 = 0 then Team.broadcast pool (fun worker -> add counts.(i) worker 1)
    else Team.for_n pool (Pool.size pool) (fun ~worker:_ j -> add counts.(i) j 1);
    check "one each" (all_are (round + 1) counts.(i))
  in
  race 300 (List.init 3 caller)

let region_raises pool =
  repeat 1_000 (fun round ->
      let share worker = raise (Wrong (ref (round + worker))) in
      match Team.broadcast pool share with
      | () -> check "raises" false
      | exception Wrong content -> check "worker 0's" (!content = round))

(* Shares that wait for each other: their mailboxes are free before they end, so they end late. *)
let shares_that_wait pool =
  let size = Pool.size pool in
  let cells = Array.make size 0 in
  repeat 500 (fun round ->
      let latch = Latch.create size in
      let share worker =
        add cells worker 1;
        Latch.count_down latch;
        Latch.await latch;
        check "all came" (all_are (round + 1) cells)
      in
      Team.broadcast pool share)

(* A worker that runs a task has a region posted, and both go on. *)
let region_beside_tasks pool =
  let cells = Array.make 32 0 and shares = Array.make (Pool.size pool) 0 in
  let loops round =
    Pool.run pool (fun () ->
        Muster.parallel_for ~grain:1 ~start:0 ~finish:31 (fun i ->
            pauses 8;
            add cells i 1));
    check "all cells" (all_are (round + 1) cells)
  in
  let regions round =
    Team.broadcast pool (fun worker -> add shares worker 1);
    check "one each" (all_are (round + 1) shares)
  in
  race 400 [ loops; regions ]

let () =
  main
    [
      case "loop: for after for, 2 domains" (for_after_for 2);
      case "loop: for after for, 4 domains" (for_after_for 4);
      case "loop: for in for" nested;
      case "loop: reduce" reduce;
      case "loop: parts, and their sum" parts;
      case "loop: states" states;
      case "loop: pairs" pairs;
      case "loop: find and scan" find_and_scan;
      case "loop: raises" for_raises;
      case "loop: three callers" (with_pool 2 loops_of_several_callers);
      case "region: broadcast after broadcast, 2 workers" (with_pool 2 broadcasts);
      case "region: broadcast after broadcast, 4 workers" (with_pool 4 broadcasts);
      case "region: for_n and for_slices" (with_pool 3 slices);
      case "region: for_n_dynamic" (with_pool 3 dynamic);
      case "region: three callers" (with_pool 3 regions_of_several_callers);
      case "region: raises" (with_pool 3 region_raises);
      case "late: shares that wait for each other" (with_pool 3 shares_that_wait);
      case "region: beside tasks" (with_pool 2 region_beside_tasks);
    ]
