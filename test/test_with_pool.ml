(* Pool.with_: its function runs in the new pool, which is closed whatever happens. *)

open Harness
open Cancelling
module Pool = Muster.Pool
module Task = Muster.Task

let is_current pool = Pool.equal pool (Pool.current ())

let is_closed pool =
  match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true

(* The pool of a call of [with_] that ended as [check] says. *)
let closed_after check f =
  let kept = ref None in
  let keep pool =
    kept := Some pool;
    f pool
  in
  check (fun () -> Pool.with_ ~domains:2 ~oversubscribe:true keep);
  check_bool "closed" true (is_closed (Option.get !kept))

(* The domains on which a loop of some milliseconds ran. *)
let domains_of_a_loop () =
  let seen = counters 128 in
  Muster.parallel_for ~grain:1 ~start:1 ~finish:200 (fun _ ->
      burn 1e-4;
      Atomic.incr seen.((Domain.self () :> int) land 127));
  List.length (List.filter (fun count -> Atomic.get count > 0) (Array.to_list seen))

let runs_in_the_pool () =
  let before = Pool.current () in
  Pool.with_ ~domains:1 (fun pool ->
      check_bool "current" true (is_current pool);
      check_int "domains" 1 (domains_of_a_loop ());
      check_bool "in a task" true (Task.await (Task.async (fun () -> is_current pool)));
      check_int "the result" 610 (fib 15));
  check_bool "afterwards" true (is_current before)

let sizes_as_asked () =
  let size domains = Pool.with_ ~domains ~oversubscribe:true Pool.size in
  List.iter (fun n -> check_int "size" n (size n)) sizes

(* On one worker more than the machine may have; the inner one has one. *)
let nested () =
  Pool.with_ ~domains:2 ~oversubscribe:true (fun outer ->
      Pool.with_ ~domains:1 (fun inner ->
          check_bool "inner" true (is_current inner);
          check_int "domains" 1 (domains_of_a_loop ());
          check_bool "outer" true (Pool.run outer (fun () -> is_current outer));
          check_bool "inner again" true (is_current inner));
      check_bool "outer again" true (is_current outer))

(* Each task of a pool opens and closes others. *)
let in_tasks () =
  let within () = Pool.with_ ~domains:1 (fun pool -> (is_current pool, fib 10)) in
  let check (current, n) =
    check_bool "current" true current;
    check_int "fib 10" 55 n
  in
  List.iter check (Task.all (List.init 20 (fun _ -> within)))

let waits_for_what_is_left () =
  let ended = Atomic.make 0 in
  let leave () =
    Task.sleep 0.02;
    Atomic.incr ended
  in
  let leave_five _ = List.iter (fun _ -> ignore (Task.async leave)) (List.init 5 Fun.id) in
  Pool.with_ ~domains:1 leave_five;
  check_int "ended" 5 (Atomic.get ended)

let cancelled_within () =
  let began = Atomic.make false and woken = Atomic.make 0 in
  let leave () = Task.protect (fun () -> Atomic.incr woken) in
  let task =
    Task.async (fun () ->
        closed_after
          (check_cancelled "with_")
          (fun _ ->
            ignore (Task.async leave);
            endless began (fun () -> Task.sleep 0.001) ()))
  in
  look_until began;
  Task.cancel task;
  check_cancelled "the task" (fun () -> Task.await task);
  check_int "what was left" 1 (Atomic.get woken)

let late_within () =
  closed_after
    (check_raises "late" Task.Deadline_exceeded)
    (fun _ -> Task.with_deadline 0.01 (endless (Atomic.make false) Task.yield))

(* A caller of the pool's own, an outer one, and a failure. *)
let raises_within () =
  let line = __LINE__ + 1 in
  let fail () = raise (Failed 1) in
  closed_after (check_raises "raised" (Failed 1)) (fun _ -> fail ());
  closed_after
    (check_raises_with_origin ~file:"test_with_pool.ml" ~line "origin")
    (fun _ -> fail ());
  closed_after (check_raises "a task's" (Failed 2)) (fun _ ->
      Task.await (Task.async (fun () -> raise (Failed 2))))

let may_not_close () =
  closed_after
    (check_invalid ~mentions:[ "Pool.close"; "called from a task of pool" ] "close")
    Pool.close

(* Where the function waits, and where it computes. *)
let interrupted () =
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Thread.delay 0.05;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  let is_struck wait =
    let thread = Thread.create interrupt () in
    closed_after (check_raises "Ctrl-C" Sys.Break) (fun _ -> wait ());
    Thread.join thread
  in
  Sys.catch_break true;
  Fun.protect
    ~finally:(fun () -> Sys.set_signal Sys.sigint Signal_default)
    (fun () ->
      is_struck never;
      is_struck (fun () -> Task.scope (fun s -> ignore (Task.fork s never)));
      is_struck (fun () -> burn 10.);
      is_struck (fun () -> Pool.with_ ~domains:1 (fun _ -> never ())))

let () =
  Alcotest.run "Pool.with_"
    [
      ( "the pool is current",
        [
          case "in its function and its tasks" runs_in_the_pool;
          case "with the number of workers that was asked for" sizes_as_asked;
          case "within another one's function" nested;
          case "in tasks of another pool" (everywhere in_tasks);
        ] );
      ( "it is closed",
        [
          case "after the tasks that were left behind" waits_for_what_is_left;
          case "when its function raises" (everywhere raises_within);
          case "when its function is cancelled" (everywhere cancelled_within);
          case "when its function is late" (everywhere late_within);
          case "when Ctrl-C strikes its function" interrupted;
          case "not by its function" may_not_close;
        ] );
    ]
