(* Waits of Muster's in fibers of Eio: each suspends its fiber, and the loop goes on; a cancelled fiber leaves its wait at
   once and loses nothing. With default pools of 1, 2 and 3 workers. *)

open Harness
open Muster
open In_eio
module Fiber = Eio.Fiber
module Loc = Kcas.Loc
module List = Stdlib.List

let awaited wait = Task.await (Task.async wait)
let in_pool wait = Pool.run (Pool.default ()) wait

let in_loop wait = parallel_for ~start:1 ~finish:3 (fun i -> if i = 2 then wait ())

let in_reduction wait =
  parallel_reduce ~start:1 ~finish:3 ~combine:(fun () () -> ()) ~init:() (fun i -> if i = 2 then wait ())

let in_team wait = Team.for_n (Pool.default ()) 2 (fun ~worker:_ i -> if i = 1 then wait ())

(* The only worker has the job that waits, and the event's is behind it. *)
let queued_job () =
  let t = Workers.create ~workers:1 ignore and wait, end_it = Waits.latch () in
  ignore (Workers.post t wait);
  ((fun () -> Workers.submit t ignore), end_it)

let events =
  let through = Waits.through in
  Waits.all
  @ [
      ("a task", through awaited);
      ("the tasks of a scope", through (fun f -> Task.(scope (fun s -> ignore (fork s f)))));
      ("all tasks", through (fun wait -> ignore (Task.all [ wait; ignore ])));
      ("the first task", through (fun wait -> Task.first [ wait; wait ]));
      ("bounded tasks", through (fun wait -> Task.iter ~max:2 (fun f -> f ()) [ ignore; wait; wait ]));
      ("a deadline", through (fun wait -> Task.with_deadline 60. wait));
      ("a branch", through (fun wait -> ignore (both ignore wait)));
      ("a loop", through in_loop);
      ("a reduction", through in_reduction);
      ("a collection", through (fun wait -> Parallel.Array.iter (fun f -> f ()) [| ignore; wait |]));
      ("a team", through in_team);
      ("a pool", through in_pool);
      ("a job", through (Workers.submit (Workers.create ignore)));
      ("a job in the queue", queued_job);
    ]

(* {2 The loop goes on} *)

let ended_by_the_loop () =
  let one (name, event) =
    let make () =
      let wait, end_it = event () in
      let later () =
        pause 0.1;
        end_it ()
      in
      fun () -> Fiber.both wait later
    in
    beside_ticks name make
  in
  List.iter one events

let ended_by_a_task () =
  let one (name, event) =
    let make () =
      let wait, end_it = event () in
      let later () =
        Task.sleep 0.1;
        end_it ()
      in
      fun () ->
        let task = Task.async later in
        wait ();
        Task.await task
    in
    beside_ticks name make
  in
  List.iter one events

let sleeps () =
  let after () = Chan.(select [ recv_case (unbounded ()) ignore; after 0.2 ignore ]) in
  let deadline () =
    check_raises "its end" Task.Deadline_exceeded (fun () ->
        Task.with_deadline 0.2 (fst (Waits.latch ())))
  in
  beside_ticks "sleep" (fun () () -> Task.sleep 0.2);
  beside_ticks "after" (fun () -> after);
  beside_ticks "with_deadline" (fun () -> deadline)

(* More tasks than workers block, so the watchdog sends a caller of its own. *)
let workers_are_blocked () =
  let blocked = Atomic.make true and waits () = Chan.(select [ after 1. ignore ]) in
  let block () = while Atomic.get blocked do Unix.sleepf 0.005 done in
  let tasks = List.init 8 (fun _ -> Task.async block) in
  let others_wait () () =
    for _ = 1 to 40 do Fiber.first waits (fun () -> pause 0.02) done
  in
  beside_ticks "blocked" others_wait;
  Atomic.set blocked false;
  List.iter Task.await tasks

(* Code of which nobody knows that it is short. *)
let short_ones work =
  let add x y = work (); x + y and same x = work (); x in
  let first n name got = check_int name n (Array.length got) in
  first 5 "map" (Parallel.Array.map same [| 1; 2; 3; 4; 5 |]);
  first 5 "init" (Parallel.Array.init 5 same);
  first 3 "scan" (parallel_scan add [| 1; 2; 3 |]);
  parallel_for_range ~start:1 ~finish:1 (fun ~start:_ ~finish:_ -> work ());
  let sum = parallel_reduce_range ~start:1 ~finish:1 ~combine:( + ) ~init:0 in
  check_int "range" 7 (sum (fun ~start:_ ~finish:_ -> work (); 7))

(* A long result of short calls is made in the pool. *)
let long_results () =
  let n = 200_000 in
  let half = Parallel.Array.filter (fun i -> i land 1 = 0) (Array.init n Fun.id) in
  check_int "filter" (n / 2) (Array.length half);
  check_int "append" (2 * n) (Array.length (Parallel.Array.append (Array.make n 0) (Array.make n 1)))

(* Where code runs that computes for long. *)
let work_is_not_on_the_loop () =
  let loop = Domain.self () in
  let work () =
    if Domain.self () = loop then failf "on the loop's domain";
    burn 0.001
  in
  in_pool work;
  ignore (both work work);
  parallel_for ~start:1 ~finish:1 (fun _ -> work ());
  parallel_for ~start:1 ~finish:100 (fun _ -> work ());
  parallel_reduce ~start:1 ~finish:100 ~combine:(fun () () -> ()) ~init:() (fun _ -> work ());
  ignore (Parallel.List.map work (List.init 10 ignore));
  Parallel.Array.iter work (Array.make 10 ());
  short_ones work;
  Task.scope (fun _ -> work ());
  Task.await (Task.async work);
  long_results ()

(* {2 Cancellation} *)

exception Stop

(* Runs [wait] in a fiber of its own, that is cancelled when it waits. *)
let cancelled wait =
  let outcome = ref "did not end" and since = ref 0. in
  (try
     Eio.Switch.run (fun sw ->
         Fiber.fork ~sw (fun () ->
             match wait () with
             | () -> outcome := "returned"
             | exception Eio.Cancel.Cancelled _ ->
               if Unix.gettimeofday () -. !since < 0.05 then outcome := "cancelled"
               else outcome := "was late"
             | exception exn -> outcome := Printexc.to_string exn);
         pause 0.01;
         since := Unix.gettimeofday ();
         Eio.Switch.fail sw Stop)
   with Stop -> ());
  !outcome

(* What the cancelled fiber waited for is another's. *)
let leaves_at_once () =
  let one (name, event) =
    let wait, end_it = event () in
    check_equal name "cancelled" (cancelled wait);
    Fiber.both wait (fun () ->
        pause 0.001;
        end_it ())
  in
  List.iter one events

(* Cancelled after so many turns of its loop, before and after the event: what a cancelled fiber did
   not get is another's. *)
let turns = 6

let rec take_turns n =
  if n > 0 then begin
    Fiber.yield ();
    take_turns (n - 1)
  end

let at_every_turn () =
  let outcome_after n wait =
    let outcome = ref "did not end" in
    let go () =
      match wait () with
      | () -> outcome := "returned"
      | exception Eio.Cancel.Cancelled _ -> outcome := "cancelled"
    in
    (try
       Eio.Switch.run (fun sw ->
           Fiber.fork ~sw go;
           take_turns n;
           Eio.Switch.fail sw Stop)
     with Stop -> ());
    !outcome
  in
  let one n (name, event) =
    let wait, end_it = event () in
    let party () =
      match outcome_after n wait with
      | "returned" -> ()
      | "cancelled" -> wait ()
      | other -> failf "%s: %s" name other
    in
    Fiber.both party (fun () ->
        take_turns (turns / 2);
        end_it ())
  in
  for n = 0 to turns do
    List.iter (one n) events
  done

(* Its tasks are cancelled with it. *)
let tasks_are_cancelled () =
  let one name call =
    let told = Atomic.make false and wait, _ = Waits.latch () in
    (* A loop that is known to be short runs in the fiber, and is told by Eio. *)
    let body () =
      try wait ()
      with (Task.Cancelled | Eio.Cancel.Cancelled _) as exn ->
        Atomic.set told true;
        raise exn
    in
    check_equal name "cancelled" (cancelled (fun () -> call body));
    until (fun () -> Atomic.get told)
  in
  one "Pool.run" in_pool;
  one "scope" (fun f -> Task.(scope (fun s -> ignore (fork s f))));
  one "parallel_for" in_loop;
  one "both" (fun f -> ignore (both ignore f))

(* A cancellation and an event at the same time: the event goes to one of the two fibers that wait. *)
let rounds = 300

let no_message_is_lost () =
  let c = Chan.unbounded () in
  let received = ref [] in
  for i = 1 to rounds do
    let take () = received := Chan.recv c :: !received in
    let sender = Task.async (fun () -> Chan.send c i) in
    (try
       Eio.Switch.run (fun sw ->
           Fiber.fork ~sw take;
           if i land 1 = 0 then Fiber.yield ();
           if i land 3 = 3 then Task.await sender;
           Eio.Switch.fail sw Stop)
     with Stop -> ());
    Task.await sender
  done;
  while List.length !received < rounds do
    received := Chan.recv c :: !received
  done;
  check_equal "received" (List.init rounds succ) (List.sort compare !received)

let no_permit_is_lost () =
  let s = Semaphore.make 0 in
  for i = 1 to rounds do
    let giver = Task.async (fun () -> Semaphore.release s) in
    let got = ref false in
    (try
       Eio.Switch.run (fun sw ->
           Fiber.fork ~sw (fun () ->
               Semaphore.acquire s;
               got := true);
           if i land 1 = 0 then Fiber.yield ();
           if i land 3 = 3 then Task.await giver;
           Eio.Switch.fail sw Stop)
     with Stop -> ());
    Task.await giver;
    if not !got then Semaphore.acquire s
  done;
  check_int "permits" 0 (Semaphore.get_value s)

let no_lock_is_lost () =
  let m = Mutex.create () in
  for i = 1 to rounds do
    let holder = Task.async (fun () -> Mutex.protect m ignore) in
    (try
       Eio.Switch.run (fun sw ->
           for _ = 1 to 3 do
             Fiber.fork ~sw (fun () -> Mutex.protect m Fiber.yield)
           done;
           if i land 1 = 0 then Fiber.yield ();
           Eio.Switch.fail sw Stop)
     with Stop -> ());
    Task.await holder;
    check_bool "is free" true (Mutex.try_lock m);
    Mutex.unlock m
  done

(* It waits for the mutex though it is cancelled, and the loop goes on. [holder] holds that for a while. *)
let cancelled_with_its_mutex holder =
  let m = Mutex.create () and c = Condition.create () in
  let others = Atomic.make 0 and outcome = ref "" in
  let hold () = Mutex.protect m (fun () -> Atomic.incr others; holder (); Atomic.decr others) in
  let wait () =
    try Condition.wait c m
    with Eio.Cancel.Cancelled _ ->
      check_int "others that hold it" 0 (Atomic.get others);
      check_invalid "held" ~mentions:[ "already locked" ] (fun () -> Mutex.lock m);
      outcome := "cancelled"
  in
  let tasks = ref [] in
  (try
     Eio.Switch.run (fun sw ->
         Fiber.fork ~sw (fun () -> Mutex.protect m wait);
         for _ = 1 to 3 do
           Fiber.fork ~sw (fun () -> Eio.Cancel.protect hold);
           tasks := Task.async hold :: !tasks
         done;
         pause 0.01;
         Eio.Switch.fail sw Stop)
   with Stop -> ());
  List.iter Task.await !tasks;
  check_equal "outcome" "cancelled" !outcome;
  check_bool "is free" true (Mutex.try_lock m);
  Mutex.unlock m;
  check_invalid "twice" ~mentions:[ "not locked" ] (fun () -> Mutex.unlock m)

let cancelled_with_its_mutex () =
  List.iter cancelled_with_its_mutex [ (fun () -> Task.sleep 0.01); (fun () -> burn 0.005) ];
  beside_ticks "a wait that is cancelled" (fun () () ->
      for _ = 1 to 5 do
        cancelled_with_its_mutex (fun () -> Task.sleep 0.01)
      done)

(* The task of its call, which it has left, counts as another: what that holds the fiber waits for. *)
let leaves_a_holder_behind () =
  let one name call =
    let m = Mutex.create () and rw = Rwlock.create () and t = Table.create () in
    let began = Atomic.make false and go = Atomic.make false and context = ref None in
    let compute () =
      Atomic.set began true;
      while not (Atomic.get go) do Domain.cpu_relax () done;
      42
    in
    let l = Lazy.from_fun compute in
    let add () = Table.find_or_add t 1 (fun _ -> Lazy.force l) in
    let hold () = Mutex.protect m (fun () -> Rwlock.protect_write rw add) in
    let party () =
      (match Eio.Cancel.sub (fun c -> context := Some c; Task.with_deadline 60. hold) with
      | _ -> failf "it was not cancelled"
      | exception Eio.Cancel.Cancelled _ -> ());
      check_int name 42 (call m rw l add)
    and others () =
      until (fun () -> Atomic.get began);
      Eio.Cancel.cancel (Option.get !context) Stop;
      pause 0.005;
      Atomic.set go true
    in
    Fiber.both party others
  in
  one "mutex" (fun m _ _ _ -> Mutex.protect m (fun () -> 42));
  one "reader" (fun _ rw _ _ -> Rwlock.protect_read rw (fun () -> 42));
  one "writer" (fun _ rw _ _ -> Rwlock.protect_write rw (fun () -> 42));
  one "lazy" (fun _ _ l _ -> Lazy.force l);
  one "table" (fun _ _ _ add -> add ())

(* The function of the cancelled fiber counts as not begun. *)
let cancelled_computation () =
  let wait, end_it = Waits.latch () in
  let l = Lazy.from_fun (fun () -> wait (); 42) in
  check_equal "outcome" "cancelled" (cancelled (fun () -> ignore (Lazy.force l)));
  end_it ();
  check_int "later" 42 (Lazy.force l)

(* What its submitter gives up leaves the queue, or is cancelled where it runs; the worker stays. *)
let submitters_that_give_up () =
  let t = Workers.create ~workers:1 ~queue:1 ignore in
  let wait, end_it = Waits.latch () in
  let held = Workers.post t wait in
  let never () = failf "a job of a submitter that has gone" in
  check_equal "queued" "cancelled" (cancelled (fun () -> Workers.submit t never));
  check_raises "late in the queue" (Workers.Rejected Expired) (fun () ->
      Workers.submit ~deadline:0.01 t never);
  end_it ();
  Task.await held;
  let wait, _ = Waits.latch () in
  check_equal "running" "cancelled" (cancelled (fun () -> Workers.submit t wait));
  check_raises "late" Task.Deadline_exceeded (fun () -> Workers.submit ~deadline:0.01 t wait);
  check_int "the next" 42 (Workers.submit t (fun () -> 42));
  Workers.drain t;
  let { Workers.returned; failed; cancelled; expired; busy; queued; _ } = Workers.stats t in
  check_equal "counts" [ 2; 0; 3; 1; 0; 0 ] [ returned; failed; cancelled; expired; busy; queued ]

(* {2 Several callers} *)

let channel_of_one_loop () =
  let n = 2000 in
  let over c =
    let sum = ref 0 in
    Fiber.both
      (fun () ->
        for _ = 1 to n do
          sum := !sum + Chan.recv c
        done)
      (fun () ->
        for i = 1 to n do
          Chan.send c i
        done);
    check_int "sum" (n * (n + 1) / 2) !sum
  in
  List.iter over [ Chan.bounded 0; Chan.bounded 1; Chan.bounded 8; Chan.unbounded () ]

let each_holds_its_lock () =
  let m = Mutex.create () in
  Mutex.protect m (fun () ->
      check_invalid "again" ~mentions:[ "already locked" ] (fun () -> Mutex.lock m);
      (* Its function in a pool counts as the fiber. *)
      in_pool (fun () ->
          check_invalid "again, in a pool" ~mentions:[ "already locked" ] (fun () -> Mutex.lock m));
      (* [both] runs its second function in the calling fiber. *)
      let other () =
        check_bool "another" false (Mutex.try_lock m);
        check_invalid "another's" ~mentions:[ "another" ] (fun () -> Mutex.unlock m)
      in
      Fiber.both other ignore);
  let inside = ref 0 in
  let enter () =
    Mutex.protect m (fun () ->
        incr inside;
        check_int "inside" 1 !inside;
        Fiber.yield ();
        decr inside)
  in
  Fiber.all (List.init 20 (fun _ -> enter))

let each_has_its_values () =
  let name = Task.local "nobody" in
  let one mine () =
    Task.with_local name mine (fun () ->
        Fiber.yield ();
        check_equal "its own" mine (Task.get_local name);
        check_equal "its task's" mine (Task.await (Task.async (fun () -> Task.get_local name)));
        check_equal "in a pool" mine (in_pool (fun () -> Task.get_local name)))
  in
  Fiber.both (one "Ada") (one "Bob");
  check_equal "outside" "nobody" (Task.get_local name)

(* Two loops, each with fibers, and tasks: all on one channel, mutex and condition. *)
let loops_and_tasks (env : Eio_posix.stdenv) =
  let c = Chan.bounded 4 and m = Mutex.create () and changed = Condition.create () in
  let per_party = 100 and taken = ref 0 and seen = counters 600 in
  let produce party () =
    for i = 0 to per_party - 1 do
      Chan.send c ((party * per_party) + i)
    done
  and consume () =
    for _ = 1 to per_party do
      Atomic.incr seen.(Chan.recv c);
      Mutex.protect m (fun () ->
          incr taken;
          Condition.broadcast changed)
    done
  and wait_for_all () =
    Mutex.protect m (fun () ->
        while !taken < 6 * per_party do
          Condition.wait changed m
        done)
  in
  let fibers first () =
    Fiber.all [ produce first; consume; produce (first + 1); consume; wait_for_all; wait_for_all ]
  in
  let tasks = List.map Task.async [ produce 4; consume; produce 5; consume; wait_for_all ] in
  let manager = Eio.Stdenv.domain_mgr env in
  Fiber.both (fun () -> Eio.Domain_manager.run manager (fibers 0)) (fibers 2);
  List.iter Task.await tasks;
  each_once "message" seen

let beside_kcas () =
  let ball = Loc.make 0 and c = Chan.bounded 0 in
  let wait_for wanted = Loc.get_as (fun x -> if x <> wanted then Kcas.Retry.later ()) ball in
  let player mine theirs () =
    for _ = 1 to 200 do
      wait_for mine;
      Loc.set ball theirs
    done
  in
  let task = Task.async (player 1 2) in
  Fiber.all
    [
      player 0 1;
      player 2 0;
      (fun () -> for _ = 1 to 200 do Chan.send c () done);
      (fun () -> for _ = 1 to 200 do Chan.recv c done);
      (fun () -> in_pool (fun () -> for _ = 1 to 100 do Task.yield () done));
    ];
  Task.await task

(* Threads of the loop's domain, which Eio cannot suspend: they block, and the loop goes on. *)
let threads_beside_the_loop () =
  let make () =
    let wait, end_it = Waits.latch () and c = Chan.unbounded () in
    let in_a_thread () =
      Eio_unix.run_in_systhread (fun () ->
          wait ();
          in_pool wait;
          awaited wait;
          Chan.send c ())
    and end_later () =
      awaited (fun () -> Unix.sleepf 0.2);
      end_it ()
    in
    fun () -> Fiber.all [ in_a_thread; (fun () -> Chan.recv c); end_later ]
  in
  beside_ticks "thread" make

(* {2 Answers} *)

let exceptions_and_closed_pools () =
  check_raises "Pool.run" Exit (fun () -> in_pool (fun () -> raise Exit));
  check_raises "parallel_for" Exit (fun () -> parallel_for ~start:1 ~finish:1 (fun _ -> raise Exit));
  check_raises "await" Not_found (fun () -> awaited (fun () -> raise Not_found));
  let pool = Pool.create ~domains:1 () in
  check_int "another pool" 42 (Pool.run pool (fun () -> 42));
  Pool.close pool;
  check_invalid "closed" ~mentions:[ "Pool.run"; "closed" ] (fun () -> Pool.run pool ignore)

(* {2 Calls that are no waits for others, and take their time} *)

(* A fiber that polls lets the others of its loop run. *)
let yields () =
  let is_set = ref false in
  Fiber.both
    (fun () ->
      while not !is_set do
        Task.yield ()
      done)
    (fun () ->
      for _ = 1 to 10 do
        Fiber.yield ()
      done;
      is_set := true);
  let outcome = cancelled (fun () -> while true do Task.yield () done) in
  check_equal "yield" "cancelled" outcome

let closes () =
  let make () =
    let pool = Pool.create ~domains:2 () in
    let slow = Pool.run pool (fun () -> Task.async (fun () -> burn 0.2; 42)) in
    fun () ->
      Pool.close pool;
      check_bool "its tasks have ended" true (Task.is_done slow);
      Pool.close pool
  in
  beside_ticks "close" make;
  (* A task that fibers of the loop end. *)
  let wait, end_it = Waits.latch () in
  let pool = Pool.create ~domains:1 () in
  ignore (Pool.run pool (fun () -> Task.async wait));
  Fiber.both (fun () -> Pool.close pool) (fun () -> pause 0.01; end_it ());
  (* One that is cancelled leaves at once, and the pool closes. *)
  let wait, end_it = Waits.latch () in
  let pool = Pool.create ~name:"left" ~domains:1 () in
  let task = Pool.run pool (fun () -> Task.async wait) in
  check_equal "close" "cancelled" (cancelled (fun () -> Pool.close pool));
  end_it ();
  Task.await task;
  check_bool "closed" true (Pool.find "left" = None);
  Pool.close pool

(* Each value is closed, in the pool, though the fiber that drains is cancelled. *)
let drains () =
  let closed = Atomic.make 0 and loop = Domain.self () in
  let close _ =
    if Domain.self () <> loop then Task.sleep 0.02;
    Atomic.incr closed
  in
  let t = Workers.create ~workers:3 ~close ignore in
  Fiber.all (List.init 3 (fun _ () -> Workers.submit t (fun () -> Task.sleep 0.02)));
  Fiber.first (fun () -> Workers.drain t) (fun () -> pause 0.01);
  check_bool "still closing" true (Atomic.get closed < 3);
  Workers.drain t;
  check_int "closed" 3 (Atomic.get closed)

let below_c () =
  let wait, end_it = Waits.latch () in
  ignore (Task.async (fun () -> Task.sleep 0.01; end_it ()));
  call_through_c wait

let () =
  Alcotest.run "fibers"
    [
      ( "the loop goes on",
        [
          case "beside a wait that another fiber ends" (here ended_by_the_loop);
          case "beside a wait that a task ends" (here ended_by_a_task);
          case "beside waits for a time" (here sleeps);
          case "beside threads of its domain that wait" (here threads_beside_the_loop);
          case "beside workers that are blocked" (here workers_are_blocked);
          case "while calls compute, elsewhere" (here work_is_not_on_the_loop);
        ] );
      ( "cancellation",
        [
          case "a cancelled fiber leaves its wait at once" (here leaves_at_once);
          case "a fiber cancelled at each turn of its loop" (here at_every_turn);
          case "its tasks are cancelled" (here tasks_are_cancelled);
          case "no message is lost" (here no_message_is_lost);
          case "no permit is lost" (here no_permit_is_lost);
          case "no lock is lost" (here no_lock_is_lost);
          case "a cancelled wait for a condition has its mutex" (here cancelled_with_its_mutex);
          case "a task that it leaves holds its own locks" (here leaves_a_holder_behind);
          case "a computation that others need" (here cancelled_computation);
          case "submitters of jobs that give up" (here submitters_that_give_up);
        ] );
      ( "callers",
        [
          case "a channel between fibers of one loop" (here channel_of_one_loop);
          case "a fiber holds its lock" (here each_holds_its_lock);
          case "a fiber has its values" (here each_has_its_values);
          case "fibers of two loops, and tasks" (in_eio loops_and_tasks);
          case "beside Kcas" (here beside_kcas);
          case "a fiber that polls" (here yields);
          case "a fiber closes a pool" (here closes);
          case "a fiber drains workers" (here drains);
          case "exceptions, and a closed pool" (here exceptions_and_closed_pools);
          case "a wait below a C callback blocks the thread" (here below_c);
        ] );
    ]
