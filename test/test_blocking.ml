(* Task.blocking: the call is made elsewhere, the task waits, its worker goes on. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

exception Boom of int

(* A byte through a pipe: who reads it blocks its thread. *)
let with_pipe f =
  let from, into = Unix.pipe ~cloexec:true () in
  Fun.protect
    (fun () -> f from into)
    ~finally:(fun () ->
      Unix.close from;
      Unix.close into)

let read from = ignore (Unix.read from (Bytes.create 1) 0 1)
let write into = ignore (Unix.write into (Bytes.make 1 '!') 0 1)

(* {2 The worker goes on} *)

(* On one worker: the call ends only if that worker runs the other task meanwhile. *)
let keeps_the_worker_busy pool =
  with_pipe @@ fun from into ->
  Pool.run pool (fun () ->
      let reader =
        Task.async (fun () ->
            Task.blocking (fun () -> read from);
            42)
      in
      let writer = Task.async (fun () -> write into) in
      check_int "read" 42 (Task.await reader);
      Task.await writer)

let sleeps_beside_work pool =
  let others = Atomic.make 0 in
  Pool.run pool (fun () ->
      let sleep () =
        Task.blocking (fun () -> Unix.sleepf 0.3);
        Atomic.get others
      in
      let sleeper = Task.async sleep in
      let work () = Atomic.incr others in
      let tasks = List.init 100 (fun _ -> Task.async work) in
      check_int "had run when it woke" 100 (Task.await sleeper);
      List.iter Task.await tasks)

let hundred_at_once pool =
  let sleep () = Task.blocking (fun () -> Unix.sleepf 0.3) in
  let sleep_all () = Pool.run pool (fun () -> ignore (Task.all (List.init 100 (fun _ -> sleep)))) in
  let (), seconds = wall_seconds sleep_all in
  (* One after the other they would take 30 s. *)
  if seconds > 15. then failf "100 sleeps of 0.3 s took %.1f s" seconds

(* Each call ends only after the next one has begun. *)
let calls_that_wait_for_each_other pool =
  let n = 100 in
  let pipes = Array.init n (fun _ -> Unix.pipe ~cloexec:true ()) in
  let call i () =
    Task.blocking (fun () ->
        if i < n - 1 then read (fst pipes.(i));
        if i > 0 then write (snd pipes.(i - 1)))
  in
  Pool.run pool (fun () -> ignore (Task.all (List.init n call)));
  Array.iter
    (fun (from, into) ->
      Unix.close from;
      Unix.close into)
    pipes

let stdlib_locks pool =
  let mutex = Mutex.create () and condition = Condition.create () in
  let is_set = ref false in
  let wait () =
    Mutex.protect mutex (fun () ->
        while not !is_set do
          Condition.wait condition mutex
        done)
  in
  let set () =
    Mutex.protect mutex (fun () -> is_set := true);
    Condition.broadcast condition
  in
  Pool.run pool (fun () ->
      let waiters = List.init 20 (fun _ -> Task.async (fun () -> Task.blocking wait)) in
      let setter = Task.async set in
      List.iter Task.await (setter :: waiters))

(* {2 The only worker is blocked, by a call that the pool does not see}

   The pool's one domain reads from a pipe, into which a task writes that lies elsewhere. *)

let beside_a_blocked_domain pool f =
  with_pipe @@ fun from into ->
  let begins = Atomic.make false and ends = Atomic.make false in
  let block () =
    Atomic.set begins true;
    read from;
    Atomic.set ends true
  in
  Pool.run pool (fun () ->
      ignore (Task.async block);
      wait_until (fun () -> Atomic.get begins));
  f (fun () -> write into);
  wait_until (fun () -> Atomic.get ends)

(* The caller does not stay for its task. *)
let left_by_a_caller pool =
  beside_a_blocked_domain pool (fun unblock ->
      Pool.run pool (fun () -> ignore (Task.async unblock)))

(* A task goes on through the inbox, starts others there, and waits for them. *)
let started_by_a_task_that_waits pool =
  let woken = Muster.Latch.create 1 and parts = Muster.Latch.create 3 in
  let part () = Muster.Latch.count_down parts in
  let start_and_wait unblock () =
    Muster.Latch.await woken;
    List.iter ignore (List.init 3 (fun _ -> Task.async part));
    Muster.Latch.await parts;
    unblock ()
  in
  beside_a_blocked_domain pool (fun unblock ->
      let start () =
        let task = Task.async (start_and_wait unblock) in
        match Task.with_deadline 0.05 (fun () -> Task.await task) with
        | () -> failf "has not waited"
        | exception Task.Deadline_exceeded -> ()
      in
      Pool.run pool start;
      Muster.Latch.count_down woken)

(* {2 Results} *)

let gives_its_result pool =
  Pool.run pool (fun () ->
      for i = 1 to 500 do
        check_int "result" i (Task.blocking (fun () -> i))
      done)

let raises pool =
  Pool.run pool (fun () ->
      check_raises "its exception" (Boom 3) (fun () -> Task.blocking (fun () -> raise (Boom 3)));
      let task = Task.async (fun () -> Task.blocking (fun () -> raise (Boom 4))) in
      check_raises "through await" (Boom 4) (fun () -> Task.await task);
      check_int "after it" 5 (Task.blocking (fun () -> 5)))

let boom_here () = raise (Boom (Sys.opaque_identity 1))
let boom_line = __LINE__ - 1

let raises_with_origin pool =
  Printexc.record_backtrace true;
  check_raises_with_origin ~file:"test_blocking.ml" ~line:boom_line "origin" (fun () ->
      Pool.run pool (fun () -> Task.blocking (fun () -> 1 + boom_here ())))

let sees_what_came_before pool =
  let before = ref 0 and during = ref 0 in
  Pool.run pool (fun () ->
      for i = 1 to 200 do
        before := i;
        Task.blocking (fun () ->
            check_int "before" i !before;
            during := i);
        check_int "during" i !during
      done)

(* {2 Where} *)

let thread () = Thread.id (Thread.self ())

let in_a_thread_of_its_own pool =
  Pool.run pool (fun () ->
      let call () = Task.blocking (fun () -> (Domain.self (), thread ())) in
      let domain, a = call () in
      check_bool "another domain" true (domain <> Domain.self ());
      check_bool "another thread" true (a <> thread ()))

let outside_a_task_in_place () =
  let here = (Domain.self (), thread ()) in
  let call () = Task.blocking (fun () -> (Domain.self (), thread ())) in
  check_equal "here" here (call ());
  check_raises "its exception" (Boom 1) (fun () -> Task.blocking (fun () -> raise (Boom 1)));
  in_domain (fun () ->
      let domain = Domain.self () in
      check_equal "there" domain (Task.blocking Domain.self));
  in_thread (fun () ->
      let id = thread () in
      check_int "in a thread" id (Task.blocking thread))

let nested pool =
  let call () = Task.blocking (fun () -> Task.blocking (fun () -> 1) + 1) in
  let tasks () =
    Task.blocking (fun () ->
        let task = Task.async (fun () -> Task.blocking (fun () -> 20)) in
        fst (Muster.both (fun () -> Task.await task) ignore))
  in
  let inner () = Task.blocking (fun () -> 300) in
  let own_pool () = Task.blocking (fun () -> Pool.run pool inner) in
  Pool.run pool (fun () ->
      let sum = List.fold_left ( + ) 0 (Task.all [ call; tasks; own_pool ]) in
      check_int "sum" 322 sum)

(* Where a task cannot suspend, its worker helps. *)
let where_no_task_can_suspend pool =
  with_pipe @@ fun from into ->
  let below_c () =
    let writer = Task.async (fun () -> write into) in
    call_through_c (fun () -> Task.blocking (fun () -> read from));
    Task.await writer
  in
  Pool.run pool below_c;
  Muster.Team.broadcast pool (fun worker ->
      check_int "in a region" worker (Task.blocking (fun () -> worker)));
  let sum = Atomic.make 0 in
  let add i = ignore (Atomic.fetch_and_add sum (Task.blocking (fun () -> i))) in
  Pool.run pool (fun () -> Muster.parallel_for ~grain:1 ~start:1 ~finish:50 add);
  check_int "in a loop" 1275 (Atomic.get sum)

let from_many_pools () =
  let use _ = run_on 2 (fun () -> check_int "sum" 3 (Task.blocking (fun () -> 3))) in
  ignore (in_threads 4 use)

(* {2 What it costs, and what is left} *)

let blocked_calls_burn_nothing pool =
  let sleep () = Task.blocking (fun () -> Unix.sleepf 1.) in
  let sleep_all () = Pool.run pool (fun () -> ignore (Task.all (List.init 10 (fun _ -> sleep)))) in
  let (), burnt = cpu_seconds sleep_all in
  (* One that spins burns a second. Ten threads that begin and end took 34 ms on one machine. *)
  let limit = if flipped then 0.2 else 0.1 in
  if burnt > limit then failf "%.0f ms of CPU in 1 s" (1e3 *. burnt)

(* Calls come while the last threads go. *)
let comes_and_goes pool =
  List.iter
    (fun pause ->
      let call () = Task.blocking (fun () -> Unix.sleepf 0.001) in
      Pool.run pool (fun () -> ignore (Task.all [ call; call; call ]));
      Unix.sleepf pause)
    [ 0.148; 0.15; 0.151; 0.152; 0.155; 0.16; 0.17; 0.19; 0.2; 0.21 ]

(* The domain could not end before what a call leaves behind, and would serve no further call. *)
let call_leaves_a_thread pool =
  let over = Atomic.make false in
  let rec wait () =
    if not (Atomic.get over) then (
      Unix.sleepf 0.01;
      wait ())
  in
  let start () = (Domain.self (), Thread.create wait ()) in
  let call () =
    let started =
      Pool.run pool (fun () -> Task.await (Task.async (fun () -> Task.blocking start)))
    in
    Unix.sleepf 0.5;
    started
  in
  let domains, threads =
    Fun.protect
      ~finally:(fun () -> Atomic.set over true)
      (fun () -> List.split (List.init 3 (fun _ -> call ())))
  in
  List.iter Thread.join threads;
  check_int "domains" 1 (List.length (List.sort_uniq compare domains))

(* A domain that had threads ends without making collections wait for its tick thread, which would
   be 50 ms. Where runtime and system are known (crew_stubs.c). *)
let ends_without_a_pause () =
  let worst_collection () =
    run_on 1 (fun () -> Task.blocking ignore);
    let worst = ref 0. and until = Unix.gettimeofday () +. 0.25 in
    while Unix.gettimeofday () < until do
      let (), seconds = wall_seconds Gc.minor in
      worst := max !worst seconds;
      Unix.sleepf 0.0005
    done;
    !worst
  in
  let median = List.nth (List.sort compare (List.init 5 (fun _ -> worst_collection ()))) 2 in
  let known = Sys.file_exists "/proc/self/task" && Sys.ocaml_release.minor < 5 in
  if known && median > 0.025 then failf "a minor collection of %.0f ms" (1e3 *. median)

let close_waits () =
  let ended = Atomic.make false in
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  let call () =
    Task.blocking (fun () -> Unix.sleepf 0.2);
    Atomic.set ended true
  in
  let task = Pool.run pool (fun () -> Task.async call) in
  Pool.close pool;
  check_bool "ended" true (Atomic.get ended);
  Task.await task

(* {2 Cancellation} *)

let is_cancelled pool =
  with_pipe @@ fun from into ->
  let ended = Atomic.make false and begun = Atomic.make false in
  let call () =
    Task.blocking (fun () ->
        Atomic.set begun true;
        read from;
        Atomic.set ended true)
  in
  let task = Pool.run pool (fun () -> Task.async call) in
  wait_until (fun () -> Atomic.get begun);
  Task.cancel task;
  check_raises "awaited" Task.Cancelled (fun () -> Task.await task);
  check_bool "the call goes on" false (Atomic.get ended);
  is_usable pool;
  write into;
  wait_until (fun () -> Atomic.get ended)

(* Not closed: the call may come to read it at any time. *)
let has_a_deadline pool =
  let from, into = Unix.pipe ~cloexec:true () in
  let call () = Task.blocking (fun () -> read from) in
  check_raises "in time" Task.Deadline_exceeded (fun () ->
      Pool.run pool (fun () -> Task.with_deadline 0.05 call));
  write into

(* Cancelled before: the call is not made. *)
let is_not_made pool =
  let made = Atomic.make false in
  let cancelled_before s =
    Task.cancel_scope s;
    Task.blocking (fun () -> Atomic.set made true)
  in
  check_raises "cancelled" Task.Cancelled (fun () ->
      Pool.run pool (fun () -> Task.scope cancelled_before));
  check_bool "made" false (Atomic.get made)

let close_does_not_wait_for_the_cancelled () =
  let from, into = Unix.pipe ~cloexec:true () in
  with_domains 2 (fun pool ->
      check_raises "in time" Task.Deadline_exceeded (fun () ->
          Pool.run pool (fun () ->
              Task.with_deadline 0.05 (fun () -> Task.blocking (fun () -> read from)))));
  write into

let child ?interrupt name = Child.run ?interrupt ~limit:20. "child/child.exe" [ name ]
(* What a child would wait for takes 30 s. *)
let at_once = 10.
let nothing_is_left () = Child.check_success (child "blocking-leaves-nothing")

let ends_at_once () =
  let child = child "end-beside-blocking" in
  Child.check_success child;
  if child.seconds > at_once then failf "ended after %.1f s" child.seconds

let is_interrupted () =
  let child = child ~interrupt:Sys.sigint "blocking-catching-break" in
  Child.check_success child;
  check_bool "said so" true (contains child.output ~sub:"break");
  if child.after_signal > at_once then failf "ended %.1f s later" child.after_signal

let without_a_domain () = Child.check_success (child "block-when-all-taken")

(* It strikes the thread that has nothing to do until the next call. *)
let beside_a_raising_finaliser () =
  Task.set_uncaught_handler (fun _ _ -> ());
  with_domains 2 @@ fun pool ->
  let leave_one () = Gc.finalise (fun _ -> raise Exit) (ref 0) in
  for i = 1 to 5 do
    check_int "result" i
      (Pool.run pool (fun () ->
           Task.blocking (fun () ->
               leave_one ();
               i)));
    Unix.sleepf 0.02;
    try Gc.full_major () with Exit -> ()
  done

let () =
  let each name f = case name (on_each_count f) in
  Alcotest.run "blocking"
    [
      ( "the worker goes on",
        [
          each "it runs the task that the call waits for" keeps_the_worker_busy;
          each "it runs other tasks" sleeps_beside_work;
          each "a hundred calls wait at once" hundred_at_once;
          each "calls that wait for each other" calls_that_wait_for_each_other;
          each "calls wait by the stdlib's mutex and condition" stdlib_locks;
        ] );
      ( "the only domain is blocked",
        [
          case "a task that its caller left behind is run" (on_pools [ 2 ] left_by_a_caller);
          case "tasks of a task that waits are run" (on_pools [ 2 ] started_by_a_task_that_waits);
        ] );
      ( "results",
        [
          each "the call returns its value" gives_its_result;
          each "the call raises its exception" raises;
          each "the exception keeps its backtrace" raises_with_origin;
          each "the call sees all that was written before it" sees_what_came_before;
        ] );
      ( "where",
        [
          each "the call runs in a thread of its own" in_a_thread_of_its_own;
          case "outside a task the call runs in the calling thread" outside_a_task_in_place;
          each "a blocking call makes another" nested;
          each "calls below C callbacks, in team calls and in loops" where_no_task_can_suspend;
          case "calls from many pools" from_many_pools;
          case "calls where no domain can be started" without_a_domain;
        ] );
      ( "cost",
        [
          case "blocked calls burn no CPU" (on_pools [ 2 ] blocked_calls_burn_nothing);
          case "threads end after their calls" nothing_is_left;
          case "calls share one domain though they leave threads behind"
            (on_pools [ 2 ] call_leaves_a_thread);
          case "the end of the blocking domain holds up no collection" ends_without_a_pause;
          case "calls come just as the blocking domain ends" (on_pools [ 2 ] comes_and_goes);
        ] );
      ( "cancellation",
        [
          each "a cancelled task stops waiting for its call" is_cancelled;
          each "a deadline ends the wait for a call" has_a_deadline;
          each "a task that is cancelled already makes no call" is_not_made;
          case "Pool.close does not wait for a cancelled call"
            close_does_not_wait_for_the_cancelled;
        ] );
      ( "ends",
        [
          case "Pool.close waits for calls" close_waits;
          case "the program ends without waiting for calls" ends_at_once;
          case "a finaliser raises during a call" beside_a_raising_finaliser;
          case "Ctrl-C ends the wait for a call" is_interrupted;
        ] );
    ]
