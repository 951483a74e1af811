(* The latch: nobody passes before it is open, everybody afterwards. *)

open Harness
open Sync_support
module Latch = Muster.Latch
module Task = Muster.Task

(* Each counts down and waits: what all did before is seen by all. *)
let all_wait_for_all ~run =
  let latch = Latch.create several and did = Array.make several false in
  run (fun i ->
      did.(i) <- true;
      Latch.count_down latch;
      Latch.await latch;
      check_int "open" 0 (Latch.count latch);
      check_bool "all before" true (Array.for_all Fun.id did))

let rows_of_latches () =
  let latches = Array.init 100 (fun _ -> Latch.create 4) in
  in_a_task_each 4 (fun _ ->
      Array.iter
        (fun latch ->
          Latch.count_down latch;
          Latch.await latch)
        latches);
  Array.iter (fun latch -> check_int "open" 0 (Latch.count latch)) latches

let not_before () =
  run_on 1 @@ fun () ->
  let latch = Latch.create 3 and passed = ref 0 in
  let tasks =
    all_waiting 5 (fun _ ->
        Latch.await latch;
        incr passed)
  in
  for left = 2 downto 1 do
    letting_others_run (fun () -> Latch.count_down latch);
    check_int "left" left (Latch.count latch);
    check_int "passed" 0 !passed
  done;
  Latch.count_down latch;
  List.iter Task.await tasks;
  check_int "passed" 5 !passed

let open_at_once () =
  let latch = Latch.create 0 in
  Latch.await latch;
  in_domain (fun () -> Latch.await latch);
  check_int "open" 0 (Latch.count latch)

let errors () =
  check_invalid "create" ~mentions:[ "Muster.Latch.create"; "-3" ] (fun () -> Latch.create (-3));
  let latch = Latch.create 1 in
  Latch.count_down latch;
  check_invalid "count_down" ~mentions:[ "Muster.Latch.count_down"; "0 already" ] (fun () ->
      Latch.count_down latch);
  Latch.await latch

let cancelled_in_await () =
  run_on 1 @@ fun () ->
  let latch = Latch.create 1 in
  let first = waiting_task (fun () -> Latch.await latch) in
  let second =
    waiting_task (fun () ->
        Latch.await latch;
        2)
  in
  check_cancelled "first" first;
  check_int "not counted" 1 (Latch.count latch);
  Latch.count_down latch;
  check_int "second" 2 (Task.await second)

(* Many waiters that are cancelled are not kept until it opens. *)
let cancelled_are_let_go () =
  run_on 1 @@ fun () ->
  let latch = Latch.create 1 in
  let words () = Obj.reachable_words (Obj.repr latch) in
  for _ = 1 to 1_000 do
    check_cancelled "task" (waiting_task (fun () -> Latch.await latch))
  done;
  check_bool (Printf.sprintf "%d words" (words ())) true (words () < 2_000);
  Latch.count_down latch

let cancelled_at_random () =
  for _ = 1 to 20 do
    let latch = Latch.create 10 in
    let counters = List.init 10 (fun _ -> Task.async (fun () -> Latch.count_down latch)) in
    ignore (random_cancels ~tasks:30 (fun _ -> Latch.await latch));
    List.iter Task.await counters;
    Latch.await latch
  done

let () =
  Alcotest.run "latch"
    [
      ( "opens",
        on_callers "all wait for all" all_wait_for_all
        @ [
            case "tasks go through a hundred latches" (on_pools rows_of_latches);
            case "no waiter passes before the last count" not_before;
            case "a latch of 0 is open" open_at_once;
            case "bad counts are refused" errors;
          ] );
      ( "cancellation",
        [
          case "a waiter is cancelled" cancelled_in_await;
          case "cancelled waiters are let go of" cancelled_are_let_go;
          case "waiters are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
