(* An exception of a signal's handler strikes between any two steps of the library's, as Ctrl-C does. Every
   task ends all the same, and who was in a pool gets out of it. One strikes at a time: a second within the
   few instructions in which the first is dealt with would be let through. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

exception Struck

let strikes = Atomic.make 0
let seconds = if flipped then 1. else 2.5
let stop = Atomic.make 0.
let under_fire () = Unix.gettimeofday () < Atomic.get stop

(* By the thread's own time: it may stand still for long in the midst of these few instructions, or start a
   domain. *)
let struck_at = Domain.DLS.new_key (fun () -> ref 0)

let is_first () =
  let before = Domain.DLS.get struck_at and now = Muster_core.Machine.thread_cpu () in
  now - !before > 1_000_000
  &&
  (before := now;
   true)

(* The last signal may have been taken, and this not run, as the timer stops: it raises nothing then. *)
let strike _ =
  if under_fire () && is_first () then begin
    ignore (Atomic.fetch_and_add strikes 1);
    raise Struck
  end

let every seconds =
  ignore (Unix.setitimer ITIMER_REAL { it_interval = seconds; it_value = seconds })

(* [f ()], until no exception cuts it short: one that comes as [firmly] begins again passes it by. *)
let rec firmly f = try f () with Struck -> firmly f

(* [f] again and again, while threads are struck that do not block the signal. *)
let repeat_under_fire f =
  let before = Atomic.get strikes in
  Sys.set_signal Sys.sigalrm (Signal_handle strike);
  Atomic.set stop (Unix.gettimeofday () +. seconds);
  firmly (fun () ->
      firmly (fun () ->
          every 0.002;
          while under_fire () do
            f ()
          done));
  every 0.;
  check_bool "there were some" true (Atomic.get strikes > before)

let compute n =
  for i = 1 to n do
    ignore (Sys.opaque_identity i)
  done

let whatever f = try f () with Struck -> ()

(* Each waits for the two before it, of which one may be running. *)
let chain n ended =
  let tasks = Array.make n None in
  let await i = if i >= 0 then whatever (fun () -> Option.iter Task.await tasks.(i)) in
  let body i () =
    await (i - 1);
    whatever (fun () -> compute 300);
    await (i - 2)
  in
  let close_by i () =
    Fun.protect (body i) ~finally:(fun () -> ignore (Atomic.fetch_and_add ended 1))
  in
  for i = 0 to n - 1 do
    tasks.(i) <- Some (Task.async (close_by i))
  done

(* The caller takes no signals and is in no pool: residents do it all, and are struck. A task that is
   struck before its first step, or after its last, ends too, but does not count. *)
let residents () =
  ignore (Thread.sigmask SIG_BLOCK [ Sys.sigalrm ]);
  let n = 12 in
  let round () =
    let ended = Atomic.make 0 and struck = Atomic.get strikes in
    chain n ended;
    wait_until (fun () -> Atomic.get ended + (Atomic.get strikes - struck) >= n)
  in
  repeat_under_fire round;
  ignore (Thread.sigmask SIG_UNBLOCK [ Sys.sigalrm ])

let case_of_loops () =
  Muster.parallel_for ~grain:1 ~start:0 ~finish:9 (fun _ ->
      whatever (fun () -> ignore (Muster.both (fun () -> compute 300) (fun () -> compute 300))))

(* Five at once, as tasks of a scope. *)
let in_tasks f =
  Task.scope (fun s ->
      let tasks = List.init 5 (fun _ -> Task.fork s (fun () -> whatever f)) in
      List.iter Task.await tasks)

let case_of_locks () =
  let lock = Muster.Mutex.create () and permits = Muster.Semaphore.make 2 in
  let value = Muster.Lazy.from_fun (fun () -> compute 300) and rwlock = Muster.Rwlock.create () in
  in_tasks (fun () -> Muster.Mutex.protect lock (fun () -> compute 100));
  in_tasks (fun () -> Muster.Semaphore.with_permit permits (fun () -> compute 100));
  in_tasks (fun () -> Muster.Lazy.force value);
  in_tasks (fun () ->
      Muster.Rwlock.protect_read rwlock (fun () -> compute 100);
      Muster.Rwlock.protect_write rwlock (fun () -> compute 100))

(* A struck party closes the channel, for which the others would wait. *)
let case_of_traffic () =
  let chan = Muster.Chan.bounded 0 in
  let party f () =
    whatever (fun () -> try f () with Muster.Chan.Closed -> ());
    firmly (fun () -> Muster.Chan.close chan)
  in
  let send () =
    for i = 1 to 5 do
      Muster.Chan.send chan i
    done
  in
  let receive () = Muster.Chan.iter ignore chan in
  Task.scope (fun s ->
      List.iter (fun f -> ignore (Task.fork s (party f))) [ send; receive; send; receive ]);
  in_tasks (fun () -> Task.blocking (fun () -> compute 100))

let case_of_scopes () = Task.with_deadline 1000. (fun () -> in_tasks (fun () -> compute 300))

(* In the pool, from outside, and by way of another pool. *)
let callers () =
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  let other = Pool.create ~domains:2 ~oversubscribe:true () in
  let attempt f = try f () with Struck | Task.Cancelled -> () in
  let round () =
    attempt (fun () -> Pool.run pool case_of_loops);
    attempt (fun () -> Pool.run pool case_of_scopes);
    attempt (fun () -> Pool.run pool case_of_locks);
    attempt (fun () -> Pool.run pool case_of_traffic);
    attempt (fun () ->
        let task = Pool.run pool (fun () -> Task.async (fun () -> compute 3000)) in
        Pool.run other (fun () -> Task.await task));
    attempt (fun () -> Pool.run other (fun () -> Pool.run pool case_of_loops))
  in
  repeat_under_fire round;
  (* Refused to who is still in it; and it waits until nobody is. *)
  Pool.close pool;
  Pool.close other

(* Each serves the other's shares while it waits. *)
let broadcasts () =
  with_domains 3 @@ fun pool ->
  let broadcast () = whatever (fun () -> Muster.Team.broadcast pool ignore) in
  let beside () =
    firmly (fun () ->
        while under_fire () do
          broadcast ()
        done)
  in
  Atomic.set stop infinity;
  let other = Domain.spawn beside in
  repeat_under_fire broadcast;
  Domain.join other

(* {2 One that is there when a function raises}

   So it strikes at the first look for signals of the code that cleans up, which must not be before its handler. *)

(* A domain that started while its caller was struck is one of the pool's: it counts, and closing joins it. *)
let starts () =
  let miscounted = ref 0 in
  let hire pool () = Pool.run pool (fun () -> ignore (Task.async ignore)) in
  repeat_under_fire (fun () ->
      let pool = Pool.create ~domains:1 () in
      whatever (hire pool);
      firmly (fun () -> Pool.close pool);
      let s = Pool.stats pool in
      if s.domains_started <> s.domains_ended then incr miscounted);
  check_int "pools whose domains were miscounted" 0 !miscounted

let raises_struck () =
  receive ();
  raise_notrace Exit

let cleans_up name clean f =
  match f () with
  | () -> Alcotest.failf "%s: raised nothing" name
  | exception (Struck | Exit) -> check_bool (name ^ " cleans up") true (clean ())

let as_a_failure_is_caught () =
  let strike _ = raise Struck in
  let before = Sys.signal Sys.sigusr1 (Signal_handle strike) in
  with_domains 2 @@ fun pool ->
  let last = ref false and mutex = Muster.Mutex.create () in
  let called () = !last in
  let is_outside () = Muster_core.Place.owned_place () = None in
  let end_in_time = ref false in
  let slow () =
    Unix.sleepf 0.01;
    end_in_time := true
  in
  let scope () =
    Task.scope (fun s ->
        ignore (Task.fork s slow);
        end_in_time := false;
        raises_struck ())
  in
  cleans_up "finally" called (fun () ->
      Muster_core.Outcome.finally (fun () -> last := true) () raises_struck ());
  last := false;
  cleans_up "on_failure" called (fun () ->
      Muster_core.Outcome.on_failure raises_struck (fun _ -> last := true));
  for _ = 1 to 3 do
    cleans_up "Pool.run" is_outside (fun () -> Pool.run pool raises_struck);
    cleans_up "Mutex.protect"
      (fun () -> Muster.Mutex.try_lock mutex)
      (fun () -> Muster.Mutex.protect mutex raises_struck);
    Muster.Mutex.unlock mutex;
    Pool.run pool (fun () ->
        cleans_up "Mutex.protect in a pool"
          (fun () -> Muster.Mutex.try_lock mutex)
          (fun () -> Muster.Mutex.protect mutex raises_struck));
    Muster.Mutex.unlock mutex;
    (* Its task was skipped, or has ended. *)
    cleans_up "scope" (fun () -> is_outside ()) (fun () -> Pool.run pool scope)
  done;
  Sys.set_signal Sys.sigusr1 before

(* {2 At each look in turn}

   Where nothing else runs, the strikes need no luck. *)

let looks = ref 0

let strike_at_last act _ =
  if !looks > 0 then begin
    decr looks;
    if !looks > 0 then receive () else act ()
  end

(* [f strike] for each of the first looks after it calls [strike], in a pool of one worker. *)
let at_each_look ?(act = fun () -> raise Struck) f =
  let before = Sys.signal Sys.sigusr1 (Signal_handle (strike_at_last act)) in
  for n = 1 to 12 do
    let strike () =
      looks := n;
      receive ()
    in
    f strike;
    looks := 0
  done;
  Sys.set_signal Sys.sigusr1 before

let is_not_lost () =
  let left = !looks in
  looks := 0;
  check_bool "is struck later" true (left > 0)

let is_struck name f = check_raises name Struck (fun () -> ignore (f ()))

(* It would wait for ever, but for its scope, and is told by how it ended. *)
let waits began () =
  Muster.Latch.count_down began;
  Muster.Latch.await (Muster.Latch.create 1)

let as_a_scope_stops () =
  at_each_look @@ fun strike ->
  run_on 1 @@ fun () ->
  let fails () =
    strike ();
    raise_notrace Exit
  in
  is_struck "its code fails" (fun () ->
      Task.scope (fun s ->
          let began = Muster.Latch.create 1 in
          ignore (Task.fork s (waits began));
          Muster.Latch.await began;
          fails ()));
  is_struck "a task fails" (fun () ->
      Task.scope (fun s ->
          let began = Muster.Latch.create 1 in
          ignore (Task.fork s (waits began));
          Muster.Latch.await began;
          ignore (Task.fork s fails)))

(* The task's function has ended, and its result is not there yet. *)
let as_a_task_ends () =
  at_each_look @@ fun strike ->
  run_on 1 @@ fun () ->
  match Task.scope (fun s -> ignore (Task.fork s strike)) with
  | () -> is_not_lost ()
  | exception Struck -> ()

(* A hang would be the end of this program (tools/test). *)
let as_one_of_all_begins () =
  with_domains 1 @@ fun pool ->
  let rec at n =
    let barrier = Muster.Barrier.create 2 in
    let meet () = Muster.Barrier.await barrier in
    let call () =
      try Pool.run pool (fun () -> ignore (Task.all [ meet; meet ])) with Sys.Break -> ()
    in
    if Unit_support.at_allocation n (fun () -> raise_notrace Sys.Break) call then at (n + 1)
  in
  at 1

(* Wherever Ctrl-C strikes a job or its runner, the next job is done. One that strikes a runner
   between two jobs is raised later, and ends the next call. *)
let as_a_runner_works () =
  let is_struck n =
    with_domains 1 @@ fun pool ->
    let workers = Muster.Workers.create ~workers:1 ~pool ignore in
    let submit () = Pool.run pool (fun () -> Muster.Workers.submit workers ignore) in
    let call () = try submit () with Sys.Break -> () in
    let is_struck = Unit_support.at_allocation n (fun () -> raise_notrace Sys.Break) call in
    call ();
    submit ();
    is_struck
  in
  let rec from n = if is_struck n then from (n + 1) else n in
  let steps = from 1 in
  check_bool (Printf.sprintf "%d steps" steps) true (steps > 100 || Sys.ocaml_release.minor < 3)

(* The task's entry in the inbox comes out of turn, with older tasks still there. A task that is lost
   as one strikes there keeps the pool from closing for ever. *)
let as_a_task_gives_way () =
  let polls () =
    let others = List.init 40 (fun _ -> Task.async ignore) in
    for _ = 1 to 3 do
      Task.yield ()
    done;
    List.iter (fun task -> whatever (fun () -> Task.await task)) others
  in
  let is_struck n =
    with_domains 1 @@ fun pool ->
    let go () = Pool.run pool (fun () -> Task.await (Task.async polls)) in
    let is_struck = Unit_support.at_allocation n (fun () -> raise_notrace Struck) (fun () -> whatever go) in
    for _ = 1 to 2 do
      whatever (fun () -> Pool.run pool ignore)
    done;
    is_struck
  in
  let rec from n = if is_struck n then from (n + 1) else n in
  let steps = from 1 in
  check_bool (Printf.sprintf "%d steps" steps) true (steps > 500 || Sys.ocaml_release.minor < 3)

(* Each way out of a lock, whether the lock is free, and a use of it that waits meanwhile. *)
let ways_out () =
  let open Muster in
  let m = Mutex.create () and l = Rwlock.create () and s = Semaphore.make 1 in
  let in_protect protect x strike = protect x (fun () -> ignore (Sys.opaque_identity (ref 0)); strike ()) in
  let free try_it back = try_it () && (back (); true) in
  let mutex () = free (fun () -> Mutex.try_lock m) (fun () -> Mutex.unlock m)
  and use_mutex () = Mutex.protect m ignore in
  let lock () = free (fun () -> Rwlock.try_lock_write l) (fun () -> Rwlock.unlock_write l)
  and use_lock () = Rwlock.protect_write l ignore in
  let semaphore () = free (fun () -> Semaphore.try_acquire s) (fun () -> Semaphore.release s)
  and use_semaphore () = Semaphore.with_permit s ignore in
  let out_by acquire release x strike =
    acquire x;
    strike ();
    release x
  in
  [
    ("Mutex.unlock", mutex, use_mutex, out_by Mutex.lock Mutex.unlock m);
    ("Mutex.protect", mutex, use_mutex, in_protect Mutex.protect m);
    ("Rwlock.unlock_read", lock, use_lock, out_by Rwlock.lock_read Rwlock.unlock_read l);
    ("Rwlock.unlock_write", lock, use_lock, out_by Rwlock.lock_write Rwlock.unlock_write l);
    ("Rwlock.protect_read", lock, use_lock, in_protect Rwlock.protect_read l);
    ("Rwlock.protect_write", lock, use_lock, in_protect Rwlock.protect_write l);
    ("Semaphore.release", semaphore, use_semaphore, out_by Semaphore.acquire Semaphore.release s);
    ("Semaphore.with_permit", semaphore, use_semaphore, in_protect Semaphore.with_permit s);
  ]

(* From [strike] on, at the n-th allocation: the exception arrives, and the lock is free. *)
let given_back_wherever_it_strikes () =
  let check ~waits (name, is_free, use, way) =
    let rec from n =
      let counts = ref false and arrived = ref false and other = ref None in
      let strike () =
        if waits then other := Some (Task.async use);
        Task.yield ();
        counts := true
      in
      let call () =
        (try way strike with Sys.Break -> arrived := true);
        counts := false
      in
      let is_struck = Unit_support.at_allocation ~counts n (fun () -> raise_notrace Sys.Break) call in
      Option.iter Task.await !other;
      check_bool (Printf.sprintf "%s, step %d: raised" name n) is_struck !arrived;
      check_bool (Printf.sprintf "%s, step %d: free" name n) true (is_free ());
      if is_struck then from (n + 1)
    in
    from 1
  in
  run_on 1 (fun () ->
      List.iter (check ~waits:false) (ways_out ());
      List.iter (check ~waits:true) (ways_out ()))

(* Ways to hold a lock, to wait for it, and to wait behind that; and whether it is free. *)
let lines () =
  let open Muster in
  let m = Mutex.create () and s = Semaphore.make 1 and l = Rwlock.create () in
  let told = Condition.create () in
  let free try_it back () = try_it () && (back (); true) in
  let mutex = free (fun () -> Mutex.try_lock m) (fun () -> Mutex.unlock m)
  and semaphore = free (fun () -> Semaphore.try_acquire s) (fun () -> Semaphore.release s)
  and lock = free (fun () -> Rwlock.try_lock_write l) (fun () -> Rwlock.unlock_write l) in
  let in_mutex f = Mutex.protect m f and in_semaphore f = Semaphore.with_permit s f in
  let reads f = Rwlock.protect_read l f and writes f = Rwlock.protect_write l f in
  let is_over = ref false in
  let is_told f =
    in_mutex (fun () ->
        while not !is_over do
          Condition.wait told m
        done;
        f ())
  in
  let tell () = in_mutex (fun () -> is_over := true; Condition.broadcast told) in
  let tells f = Fun.protect f ~finally:(fun () -> try tell () with Sys.Break -> tell ()) in
  [
    ("Mutex", in_mutex, in_mutex, in_mutex, mutex);
    ("Semaphore", in_semaphore, in_semaphore, in_semaphore, semaphore);
    ("Rwlock, writers", writes, writes, writes, lock);
    ("Rwlock, readers", writes, reads, reads, lock);
    ("Rwlock, a writer among readers", reads, writes, reads, lock);
    ("Condition", tells, is_told, is_told, mutex);
  ]

(* One that waits, and perhaps is cancelled, is struck at the n-th allocation after that. Those behind
   it have their turn all the same: beside the holder, where they can. *)
let everybody_has_a_turn () =
  let survive f = try f () with Sys.Break | Task.Cancelled -> () in
  let check ~cancels i _ =
    let is_struck n =
      let name, holds, waits, behind, is_free = List.nth (lines ()) i in
      let beside = cancels && name = "Rwlock, a writer among readers" in
      with_domains 1 @@ fun pool ->
      let run f = survive (fun () -> Pool.run pool f) in
      let counts = ref false and tasks = ref [] in
      let start f =
        let task = Task.async (fun () -> survive f) in
        tasks := task :: !tasks;
        Task.yield ();
        counts := false;
        task
      in
      let hold () =
        let first = start (fun () -> counts := not cancels; waits ignore) in
        let others = List.init 2 (fun _ -> start (fun () -> behind ignore)) in
        counts := true;
        if cancels then Task.cancel first;
        if beside then List.iter Task.await others
      in
      let call () =
        run (fun () -> holds hold; List.iter Task.await !tasks);
        counts := false
      in
      let is_struck = Unit_support.at_allocation ~counts n (fun () -> raise_notrace Sys.Break) call in
      let name = Printf.sprintf "%s, step %d" name n in
      (* One that strikes a wait which has ended is raised in a later call. *)
      run ignore;
      run (fun () ->
          try Task.with_deadline 10. (fun () -> List.iter Task.await !tasks)
          with Task.Deadline_exceeded -> failf "%s: one waits for ever" name);
      check_bool (name ^ ": free") true (Pool.run pool is_free);
      is_struck
    in
    let rec from n = if is_struck n then from (n + 1) else n in
    let steps = from 1 in
    check_bool (Printf.sprintf "%d steps" steps) true (steps > 100 || Sys.ocaml_release.minor < 3)
  in
  List.iteri (check ~cancels:false) (lines ());
  List.iteri (check ~cancels:true) (lines ())

let released_wherever_it_strikes () =
  let rec from n =
    let held = ref 0 in
    let acquire () = incr held and release () = decr held in
    let call () = try Task.bracket ~acquire ~release ignore with Sys.Break -> () in
    let is_struck = Unit_support.at_allocation n (fun () -> raise_notrace Sys.Break) call in
    check_int (Printf.sprintf "held at step %d" n) 0 !held;
    if is_struck then from (n + 1)
  in
  run_on 1 (fun () -> from 1)

(* A handler that forks is told of the cancellation of a task that fails itself: the call fails by the leftmost. *)
let forks_as_a_cancelled_task_fails call () =
  let fork () = ignore (Muster.both ignore ignore) in
  at_each_look ~act:fork @@ fun strike ->
  let began = Muster.Latch.create 1 and go = Muster.Latch.create 1 in
  let left () =
    Muster.Latch.await began;
    Muster.Latch.count_down go;
    raise Exit
  and right () =
    Muster.Latch.count_down began;
    Task.protect (fun () -> Muster.Latch.await go);
    strike ();
    raise_notrace Not_found
  in
  check_raises "the left one's" Exit (fun () -> run_on 1 (fun () -> call left right));
  looks := 0

(* Who is struck before it has won has failed, and the other goes on. *)
let as_the_first_stops_the_others () =
  let went_on = ref 0 in
  at_each_look (fun strike ->
      run_on 1 @@ fun () ->
      let began = Muster.Latch.create 1 in
      let wins () =
        Muster.Latch.await began;
        strike ()
      in
      let loses () =
        match Task.with_deadline 0.1 (waits began) with
        | () -> ()
        | exception Task.Deadline_exceeded ->
          incr went_on;
          raise Task.Deadline_exceeded
      in
      is_struck "first" (fun () -> Task.first [ wins; loses ]));
  check_bool "the others are stopped" true (!went_on <= 1)

(* Who is told while it waits has the mutex, whatever strikes on the way there. *)
let as_a_condition_is_told () =
  let without = ref 0 in
  at_each_look (fun strike ->
      whatever @@ fun () ->
      run_on 1 @@ fun () ->
      let mutex = Muster.Mutex.create () and told = Muster.Condition.create () in
      let waits () =
        Muster.Mutex.lock mutex;
        whatever (fun () -> Muster.Condition.wait told mutex);
        try Muster.Mutex.unlock mutex with Invalid_argument _ -> incr without
      in
      let tells () =
        Muster.Mutex.lock mutex;
        Muster.Condition.signal told;
        Muster.Mutex.unlock mutex;
        strike ()
      in
      let waiter = Task.async waits in
      ignore (Task.async tells);
      whatever (fun () -> Task.await waiter));
  check_int "without the mutex" 0 !without

(* The event has come, so it is not told; but the exception is not lost. *)
let as_who_has_counted_is_told () =
  at_each_look @@ fun strike ->
  let register _ =
    strike ();
    raise_notrace Task.Cancelled
  in
  match Muster_core.(Waiter.wait_or_leave (Event.make "a test")) register ~leave:(fun () -> true) with
  | () -> is_not_lost ()
  | exception Struck -> ()

(* What strikes a wait that has just ended is raised at the next wait of that thread: not in another, which blocks the
   signal. *)
let strays_are_the_threads_own () =
  let me = Unix.getpid () and jobs = Muster.Chan.unbounded () in
  let serve () =
    try
      while true do
        let answer = Muster.Chan.recv jobs in
        ignore (Muster.Chan.try_send answer 1);
        Unix.kill me Sys.sigalrm
      done
    with Muster.Chan.Closed -> ()
  in
  let before = Thread.sigmask SIG_BLOCK [ Sys.sigalrm ] in
  let server = Domain.spawn serve in
  Sys.set_signal Sys.sigalrm (Signal_handle (fun _ -> raise Struck));
  ignore (Thread.sigmask SIG_SETMASK before);
  let round () =
    let answer = Muster.Chan.bounded 1 in
    Muster.Chan.send jobs answer;
    ignore (Muster.Chan.recv answer);
    Unix.sleepf 0.0003
  in
  firmly (fun () ->
      for _ = 1 to 500 do
        whatever round
      done);
  Sys.set_signal Sys.sigalrm Signal_ignore;
  firmly (fun () -> Muster.Chan.close jobs);
  Domain.join server;
  (* The last one may still be there. *)
  whatever (fun () -> Task.await (Task.async (fun () -> Unix.sleepf 0.01)))

let () =
  Task.set_uncaught_handler (fun _ _ -> ());
  (* Residents take the signals that the thread of the first pool takes. What a test sends to its own thread is for
     none of them. *)
  let make_default () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigusr1 ]);
    ignore (Pool.default ())
  in
  Thread.join (Thread.create make_default ());
  Alcotest.run "asynchronous exceptions"
    [
      ( "an exception at any step",
        [
          case "a pool's domains survive one" residents;
          case "a caller that gets one leaves its pool" callers;
          case "a broadcast ends though one is raised" broadcasts;
          case "a domain that starts survives one" starts;
          case "an exception stays with the thread that it was raised in"
            strays_are_the_threads_own;
        ] );
      ( "two exceptions close to each other",
        [
          case "one while a failure is caught" as_a_failure_is_caught;
        ] );
      ( "an exception at each step of a short call",
        [
          case "one while a scope is being cancelled" as_a_scope_stops;
          case "one as a task ends" as_a_task_ends;
          case "Ctrl-C as a task of all begins that another waits for" as_one_of_all_begins;
          case "Ctrl-C as a runner of jobs works" as_a_runner_works;
          case "one as a task gives way" as_a_task_gives_way;
          case "Ctrl-C in a bracket" released_wherever_it_strikes;
          case "Ctrl-C on the way out of a lock" given_back_wherever_it_strikes;
          case "Ctrl-C in a line before a lock" everybody_has_a_turn;
          case "a fork as a cancelled task of all fails"
            (forks_as_a_cancelled_task_fails (fun f g -> ignore (Task.all [ f; g ])));
          case "a fork as a cancelled task of map fails"
            (forks_as_a_cancelled_task_fails (fun f g -> Task.iter ~max:2 (fun f -> f ()) [ f; g ]));
          case "one while first cancels the losers" as_the_first_stops_the_others;
          case "one while a condition is signalled" as_a_condition_is_told;
          case "one while the barrier's parties are woken" as_who_has_counted_is_told;
        ] );
    ]
