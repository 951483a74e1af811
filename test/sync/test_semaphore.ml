(* The semaphore: as many inside as permits, in turn; errors; cancellation. *)

open Harness
open Sync_support
module Semaphore = Muster.Semaphore
module Task = Muster.Task

exception Boom

let rounds = 100

let at_most permits ~run =
  let semaphore = Semaphore.make permits and inside = Atomic.make 0 and most = Atomic.make 0 in
  let rec note n =
    let seen = Atomic.get most in
    if n > seen && not (Atomic.compare_and_set most seen n) then note n
  in
  run (fun _ ->
      for round = 1 to rounds do
        Semaphore.with_permit semaphore (fun () ->
            note (Atomic.fetch_and_add inside 1 + 1);
            if round mod 10 = 0 then suspend ();
            Atomic.decr inside)
      done);
  check_bool "at most" true (Atomic.get most <= permits);
  check_int "all back" permits (Semaphore.get_value semaphore)

(* Tasks that are suspended inside are inside at once: as many as there are permits. *)
let as_many_as_permits () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 3 and inside = ref 0 and gate = Muster.Latch.create 1 in
  let enter _ =
    Semaphore.with_permit semaphore (fun () ->
        incr inside;
        Muster.Latch.await gate)
  in
  let tasks = all_waiting 10 enter in
  check_int "inside" 3 !inside;
  Muster.Latch.count_down gate;
  List.iter Task.await tasks;
  check_int "all" 10 !inside

let values () =
  let semaphore = Semaphore.make 2 in
  check_int "made" 2 (Semaphore.get_value semaphore);
  Semaphore.acquire semaphore;
  check_bool "try" true (Semaphore.try_acquire semaphore);
  check_bool "none left" false (Semaphore.try_acquire semaphore);
  check_int "none" 0 (Semaphore.get_value semaphore);
  in_domain (fun () -> Semaphore.release semaphore);
  check_int "released by another task" 1 (Semaphore.get_value semaphore);
  Semaphore.release semaphore;
  Semaphore.release semaphore;
  check_int "more than made" 3 (Semaphore.get_value semaphore)

(* A permit that is free does not wait for one who is on the way to it. *)
let free_for_whoever_comes () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 0 and served = ref 0 in
  let comes _ =
    Semaphore.acquire semaphore;
    incr served
  in
  let tasks = all_waiting 20 comes in
  for _ = 1 to 20 do
    Semaphore.release semaphore
  done;
  check_int "free" 20 (Semaphore.get_value semaphore);
  check_bool "taken at once" true (Semaphore.try_acquire semaphore);
  check_int "nobody yet" 0 !served;
  Semaphore.release semaphore;
  List.iter Task.await tasks;
  check_int "all" 20 !served;
  check_int "none left" 0 (Semaphore.get_value semaphore)

(* One that has a permit nearly always, on one worker: each waiter gets one nevertheless, at the second
   time that it is given back. *)
let passed_over_once () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 1 and served = ref 0 and times = ref 0 in
  Semaphore.acquire semaphore;
  let comes _ = Semaphore.with_permit semaphore (fun () -> incr served) in
  let tasks = all_waiting 5 comes in
  while !served < 5 && !times < 100 do
    incr times;
    letting_others_run (fun () ->
        Semaphore.release semaphore;
        Semaphore.acquire semaphore)
  done;
  Semaphore.release semaphore;
  List.iter Task.await tasks;
  check_bool (Printf.sprintf "served after %d times" !times) true (!times <= 10)

(* One release at a time shows the order. *)
let oldest_first () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 0 and came = ref [] and served = ref [] in
  let comes i =
    came := i :: !came;
    Semaphore.acquire semaphore;
    served := i :: !served
  in
  let tasks = all_waiting 20 comes in
  List.iter (fun _ -> letting_others_run (fun () -> Semaphore.release semaphore)) tasks;
  List.iter Task.await tasks;
  check_equal "in turn" !came !served

let errors () =
  check_invalid "make" ~mentions:[ "Muster.Semaphore.make"; "-1" ] (fun () -> Semaphore.make (-1));
  let full = Semaphore.make max_int in
  check_invalid "release" ~mentions:[ "Muster.Semaphore.release"; "max_int" ] (fun () ->
      Semaphore.release full);
  check_int "as before" max_int (Semaphore.get_value full)

let with_permit () =
  let semaphore = Semaphore.make 1 in
  check_int "value" 3
    (Semaphore.with_permit semaphore (fun () -> 3 + Semaphore.get_value semaphore));
  check_raises "exception" Boom (fun () -> Semaphore.with_permit semaphore (fun () -> raise Boom));
  check_int "back" 1 (Semaphore.get_value semaphore)

let origin () = Semaphore.with_permit (Semaphore.make 1) (fun () -> raise Boom)
let origin_line = __LINE__ - 1

let backtrace () =
  Printexc.record_backtrace true;
  check_raises_with_origin ~file:"test_semaphore.ml" ~line:origin_line "origin" origin

let cancelled_in_acquire () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 0 in
  let first = waiting_task (fun () -> Semaphore.acquire semaphore) in
  let second =
    waiting_task (fun () ->
        Semaphore.acquire semaphore;
        2)
  in
  let third = waiting_task (fun () -> Semaphore.acquire semaphore) in
  check_cancelled "first" first;
  check_cancelled "third" third;
  Semaphore.release semaphore;
  check_int "second" 2 (Task.await second);
  Semaphore.release semaphore;
  check_int "not lost on the third" 1 (Semaphore.get_value semaphore)

(* Woken, but passed over: the turn of one that is cancelled then goes to the next. *)
let cancelled_at_the_second_wait () =
  run_on 1 @@ fun () ->
  let semaphore = Semaphore.make 0 in
  let first = waiting_task (fun () -> Semaphore.acquire semaphore) in
  let second = waiting_task (fun () -> Semaphore.with_permit semaphore (fun () -> 2)) in
  letting_others_run (fun () ->
      Semaphore.release semaphore;
      Semaphore.acquire semaphore);
  check_cancelled "first" first;
  Semaphore.release semaphore;
  check_int "second" 2 (Task.await second);
  check_int "back" 1 (Semaphore.get_value semaphore)

(* Who was granted the permit first has it, and gives it back. *)
let cancelled_at_random () =
  let semaphore = Semaphore.make 2 in
  let body _ =
    for _ = 1 to 10 do
      Semaphore.with_permit semaphore (fun () -> if Random.bool () then suspend_in_task ())
    done
  in
  let cancelled = ref 0 in
  for _ = 1 to 10 do
    cancelled := !cancelled + random_cancels ~tasks:40 body
  done;
  check_bool "some were cancelled" true (!cancelled > 0);
  check_int "all back" 2 (Semaphore.get_value semaphore)

let () =
  Alcotest.run "semaphore"
    [
      ("one permit", on_callers "no more are inside than permits" (at_most 1));
      ("three permits", on_callers "no more are inside than permits" (at_most 3));
      ( "turn",
        [
          case "as many are inside as permits" as_many_as_permits;
          case "a free permit goes to any comer" free_for_whoever_comes;
          case "a waiter is passed over once at most" passed_over_once;
          case "a release goes to the oldest waiter" oldest_first;
        ] );
      ( "values",
        [
          case "get_value counts the free permits" values;
          case "misuse is refused" errors;
          case "with_permit gives the permit back, whatever happens" with_permit;
          case "with_permit keeps the backtrace" backtrace;
        ] );
      ( "cancellation",
        [
          case "a waiter is cancelled" cancelled_in_acquire;
          case "a waiter is cancelled at its second wait" cancelled_at_the_second_wait;
          case "waiters are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
