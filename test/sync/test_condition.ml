(* The condition: who waits is told, holds the mutex afterwards, and no signal is lost. *)

open Harness
open Sync_support
module Mutex = Muster.Mutex
module Condition = Muster.Condition
module Task = Muster.Task

(* A queue of at most 3, from even callers to odd ones. *)
let bounded_buffer ~run =
  let mutex = Mutex.create () and buffer = Queue.create () in
  let not_empty = Condition.create () and not_full = Condition.create () in
  let per_party = 200 and received = Array.make several 0 in
  let put x =
    Mutex.protect mutex (fun () ->
        while Queue.length buffer = 3 do
          Condition.wait not_full mutex
        done;
        Queue.add x buffer;
        Condition.signal not_empty)
  in
  let take () =
    Mutex.protect mutex (fun () ->
        while Queue.is_empty buffer do
          Condition.wait not_empty mutex
        done;
        check_bool "not too many" true (Queue.length buffer <= 3);
        Condition.signal not_full;
        Queue.take buffer)
  in
  run (fun i ->
      for n = 1 to per_party do
        if i mod 2 = 0 then put n else received.(i) <- received.(i) + take ()
      done);
  let sum = several / 2 * (per_party * (per_party + 1) / 2) in
  check_int "all came" sum (Array.fold_left ( + ) 0 received)

let told_by_broadcast ~run =
  let mutex = Mutex.create () and changed = Condition.create () and here = ref 0 in
  run (fun _ ->
      Mutex.protect mutex (fun () ->
          incr here;
          if !here = several then Condition.broadcast changed
          else
            while !here < several do
              Condition.wait changed mutex
            done));
  check_int "all" several !here

(* Tasks that wait, on one worker; each notes that it went on. *)
let waiting n =
  let mutex = Mutex.create () and condition = Condition.create () and told = ref [] in
  let waits i =
    Mutex.protect mutex (fun () ->
        Condition.wait condition mutex;
        told := i :: !told)
  in
  (condition, told, all_waiting n waits)

let count told = List.length !told

let one_for_each_signal () =
  run_on 1 @@ fun () ->
  let condition, told, tasks = waiting 10 in
  letting_others_run (fun () -> Condition.signal condition);
  check_int "one" 1 (count told);
  letting_others_run (fun () ->
      Condition.signal condition;
      Condition.signal condition);
  check_int "two more" 3 (count told);
  letting_others_run (fun () -> Condition.broadcast condition);
  check_int "all" 10 (count told);
  List.iter Task.await tasks;
  Condition.signal condition;
  Condition.broadcast condition

let longest_first () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and condition = Condition.create () in
  let came = ref [] and told = ref [] in
  let waits i =
    Mutex.protect mutex (fun () ->
        came := i :: !came;
        Condition.wait condition mutex;
        told := i :: !told)
  in
  let tasks = all_waiting 10 waits in
  List.iter (fun _ -> letting_others_run (fun () -> Condition.signal condition)) tasks;
  List.iter Task.await tasks;
  check_equal "in turn" !came !told

let later_waits_need_later_signals () =
  run_on 1 @@ fun () ->
  let condition = Condition.create () and mutex = Mutex.create () in
  Condition.signal condition;
  Condition.broadcast condition;
  let told = ref false in
  let waits () =
    Mutex.protect mutex (fun () ->
        Condition.wait condition mutex;
        told := true)
  in
  let task = waiting_task waits in
  letting_others_run ignore;
  check_bool "not told" false !told;
  Condition.signal condition;
  Task.await task

let without_the_mutex () =
  let condition = Condition.create () and mutex = Mutex.create () in
  let check what =
    check_invalid what ~mentions:[ "Muster.Condition.wait"; "not locked by this" ] (fun () ->
        Condition.wait condition mutex)
  in
  check "not locked";
  Mutex.lock mutex;
  in_domain (fun () -> check "another's");
  Mutex.unlock mutex

let cancelled_with_the_mutex () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and condition = Condition.create () and cleaned = ref false in
  let waits () =
    Mutex.lock mutex;
    match Condition.wait condition mutex with
    | () -> failf "not cancelled"
    | exception exn ->
      cleaned := true;
      Mutex.unlock mutex;
      raise exn
  in
  let task = waiting_task waits in
  (* It has to wait for the mutex, which it does though it is cancelled. *)
  Mutex.lock mutex;
  letting_others_run (fun () -> Task.cancel task);
  letting_others_run ignore;
  check_bool "not before it has the mutex" false !cleaned;
  Mutex.unlock mutex;
  check_cancelled "task" task;
  check_bool "cleaned" true !cleaned;
  check_bool "free" true (Mutex.try_lock mutex)

(* A signal is not lost on one that was cancelled. *)
let signal_goes_to_the_next () =
  run_on 1 @@ fun () ->
  let condition, told, tasks = waiting 3 in
  Task.cancel (List.nth tasks 0);
  Task.cancel (List.nth tasks 1);
  Task.cancel (List.nth tasks 2);
  Condition.signal condition;
  List.iter (fun t -> match Task.await t with () | (exception Task.Cancelled) -> ()) tasks;
  check_int "nobody" 0 (count told);
  let condition, told, tasks = waiting 3 in
  Task.cancel (List.nth tasks 0);
  Task.cancel (List.nth tasks 2);
  letting_others_run (fun () -> Condition.signal condition);
  check_equal "the second" [ 1 ] !told;
  List.iter (fun t -> match Task.await t with () | (exception Task.Cancelled) -> ()) tasks

(* Every item that was put is taken or left, though some are cancelled. *)
let cancelled_at_random () =
  let mutex = Mutex.create () and condition = Condition.create () in
  let items = ref 0 and taken = ref 0 and put = ref 0 in
  let take () =
    Mutex.protect mutex (fun () ->
        while !items = 0 do
          Condition.wait condition mutex
        done;
        decr items;
        incr taken)
  in
  let give () =
    Mutex.protect mutex (fun () ->
        incr items;
        incr put;
        Condition.signal condition)
  in
  for _ = 1 to 10 do
    let givers = Task.async (fun () -> in_a_task_each 40 (fun _ -> give ())) in
    ignore (random_cancels ~tasks:40 (fun _ -> take ()));
    Task.await givers;
    (* What was signalled for is there for those who come later. *)
    while Mutex.protect mutex (fun () -> !items > 0) do
      take ()
    done
  done;
  check_int "taken" !put !taken

let () =
  Alcotest.run "condition"
    [
      ("told", on_callers "a bounded buffer by two conditions"
        bounded_buffer @ on_callers "a broadcast wakes all" told_by_broadcast);
      ( "signals",
        [
          case "each signal wakes one waiter" one_for_each_signal;
          case "a signal wakes the longest waiter" longest_first;
          case "a signal is not kept for a later wait" later_waits_need_later_signals;
          case "a wait without the mutex is refused" without_the_mutex;
        ] );
      ( "cancellation",
        [
          case "a cancelled wait raises with the mutex locked" cancelled_with_the_mutex;
          case "the signal of a cancelled waiter goes to the next" signal_goes_to_the_next;
          case "waiters are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
