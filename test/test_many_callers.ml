(* Many callers in one pool, who keep their places until the end: one more gets a place of its own, and does all that a
   single caller does. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

type gate = { lock : Mutex.t; opened : Condition.t; mutable is_open : bool }

let wait gate =
  Mutex.protect gate.lock (fun () ->
      while not gate.is_open do
        Condition.wait gate.opened gate.lock
      done)

let open_gate gate =
  Mutex.protect gate.lock (fun () ->
      gate.is_open <- true;
      Condition.broadcast gate.opened)

let callers = 20
let hundreds = 300

(* Calls [f] with a pool of that many domains, while so many callers are in it. They block, so they serve
   nobody. *)
let crowded ?(callers = callers) domains f =
  with_domains domains (fun pool ->
      let gate = { lock = Mutex.create (); opened = Condition.create (); is_open = false } in
      let inside = Atomic.make 0 in
      let stand () =
        Pool.run pool (fun () ->
            Atomic.incr inside;
            wait gate;
            Task.check ())
      in
      let failure = Atomic.make None in
      let stand () = try stand () with exn -> Atomic.set failure (Some exn) in
      let crowd = List.init callers (fun _ -> Thread.create stand ()) in
      wait_until (fun () -> Atomic.get inside = callers);
      Fun.protect
        (fun () -> f pool gate)
        ~finally:(fun () ->
          open_gate gate;
          List.iter Thread.join crowd);
      check_equal "what the crowd met" None (Atomic.get failure))

(* From a domain that is in no pool, and from one whose other threads are. *)
let from_both f pool =
  in_domain (fun () -> f pool);
  in_thread (fun () -> f pool)

let crowd_case name f = case name (fun () -> crowded 1 (fun pool _ -> from_both f pool))

let large_case name f =
  case name (fun () -> crowded ~callers:hundreds 1 (fun pool _ -> from_both f pool))

let in_it f pool = Pool.run pool (fun () -> f ())

(* {2 Calls} *)

let run pool =
  check_int "run" 3 (Pool.run pool (fun () -> 3));
  check_raises "raises" Exit (fun () -> Pool.run pool (fun () -> raise Exit));
  check_int "nested" 4 (Pool.run pool (fun () -> Pool.run pool (fun () -> 4)))

let forks () =
  check_int "fib" 55 (fib 10);
  check_raises "the first" Exit (fun () -> Muster.both (fun () -> raise Exit) ignore);
  check_raises "the second" Not_found (fun () -> Muster.both ignore (fun () -> raise Not_found))

let loops () =
  let seen = counters 1000 in
  Muster.parallel_for ~start:0 ~finish:999 (fun i ->
      burn 1e-6;
      Atomic.incr seen.(i));
  each_once "for" seen;
  let sum = Muster.parallel_reduce ~start:1 ~finish:1000 ~combine:( + ) ~init:0 in
  check_int "reduce" 500_500
    (sum (fun i ->
         burn 1e-6;
         i));
  check_equal "find" (Some 700)
    (Muster.parallel_find ~start:0 ~finish:999 (fun i ->
         burn 1e-6;
         if i >= 700 then Some i else None));
  let a = Array.init 3000 Fun.id in
  let scanned = Muster.parallel_scan ( + ) a in
  check_int "scan" (2999 * 1500) scanned.(2999);
  check_equal "map" (Array.map succ a)
    (Muster.Parallel.Array.map
       (fun x ->
         burn 1e-6;
         x + 1)
       a);
  check_raises "raises" Exit (fun () ->
      Muster.parallel_for ~start:0 ~finish:99 (fun i -> if i = 50 then raise Exit))

let tasks () =
  let task =
    Task.async (fun () ->
        burn 1e-4;
        5)
  in
  check_int "await" 5 (Task.await task);
  check_raises "raises" Exit (fun () -> Task.await (Task.async (fun () -> raise Exit)));
  check_equal "all" [ 0; 1; 2 ] (Task.all (List.init 3 (fun i () -> i)));
  check_int "first" 7 (Task.first [ (fun () -> 7) ]);
  check_int "blocking" 8 (Task.blocking (fun () -> 8))

let scopes () =
  let total = Atomic.make 0 in
  Task.scope (fun s ->
      for i = 1 to 10 do
        ignore (Task.fork s (fun () -> ignore (Atomic.fetch_and_add total i)))
      done);
  check_int "scope" 55 (Atomic.get total);
  check_raises "a failure" Exit (fun () ->
      Task.scope (fun s -> ignore (Task.fork s (fun () -> raise Exit))));
  check_int "deadline" 9 (Task.with_deadline 30. (fun () -> 9));
  check_raises "cancelled" Task.Cancelled (fun () -> Task.scope (fun s -> Task.cancel_scope s));
  (* None of that has left a mark on who works here. *)
  Task.check ();
  ignore (Task.all [ Task.check; Task.check ])

let teams pool =
  let count loop =
    let n = Atomic.make 0 in
    loop n;
    Atomic.get n
  in
  let one n ~worker:_ _ = Atomic.incr n in
  check_int "for_n" 100 (count (fun n -> Team.for_n pool 100 (one n)));
  check_int "for_n_dynamic" 100 (count (fun n -> Team.for_n_dynamic pool 100 (one n)));
  check_int "for_slices" 100
    (count (fun n ->
         Team.for_slices pool 100 (fun ~worker:_ ~start:_ ~count ->
             ignore (Atomic.fetch_and_add n count))))

(* {2 Everybody} *)

(* A broadcast is for every worker, so it waits for the one whose thread is blocked. *)
let broadcast () =
  crowded 1 (fun pool gate ->
      let calls = Atomic.make 0 in
      let caller = Thread.create (fun () -> Team.broadcast pool (fun _ -> Atomic.incr calls)) () in
      Thread.delay 0.02;
      check_int "before somebody leaves" 0 (Atomic.get calls);
      open_gate gate;
      Thread.join caller;
      check_int "after" 1 (Atomic.get calls))

(* Residents take what comes from outside. *)
let with_residents () =
  crowded 3 (fun pool _ ->
      from_both (in_it forks) pool;
      from_both (in_it loops) pool;
      from_both (in_it tasks) pool;
      from_both (in_it scopes) pool)

(* Callers that are within use the pool to the end, and closing waits for all. *)
let closing () =
  let pool = Pool.create ~name:"crowded" ~domains:2 ~oversubscribe:true () in
  let inside = Atomic.make 0 and go = Atomic.make false and ended = Atomic.make 0 in
  let where () = (Muster_core.Pool.current ()).name in
  let use () =
    check_invalid ~mentions:[ "crowded" ] "close" (fun () -> Pool.close pool);
    check_equal "pool" ("crowded", "crowded") (Muster.both where where);
    check_equal "pool of a task" "crowded" (Task.await (Task.async where));
    check_int "run" 55 (Pool.run pool (fun () -> fib 10));
    with_domains 1 (fun other ->
        Pool.run other (fun () ->
            check_invalid ~mentions:[ "crowded" ] "close" (fun () -> Pool.close pool);
            Team.for_n pool 3 (fun ~worker:_ _ -> ())));
    List.iter (fun n -> Team.for_n pool n (fun ~worker:_ _ -> ())) [ 0; 3 ];
    scopes ()
  in
  let stand () =
    Pool.run pool (fun () ->
        Atomic.incr inside;
        wait_until (fun () -> Atomic.get go);
        Fun.protect use ~finally:(fun () -> Atomic.incr ended))
  in
  let stand_in_turn i =
    if i < callers then stand ()
    else begin
      wait_until (fun () -> Atomic.get inside = callers);
      Pool.close pool;
      check_int "ended before close returned" callers (Atomic.get ended)
    end
  in
  let refused () =
    match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true
  in
  let let_go () =
    wait_until (fun () -> Atomic.get inside = callers && refused ());
    Atomic.set go true
  in
  let opener = Domain.spawn let_go in
  ignore (in_threads (callers + 1) stand_in_turn);
  Domain.join opener

(* The code of a scope is its caller: it may hold a lock. *)
let scopes_are_their_callers () =
  crowded 2 (fun pool _ ->
      let rounds = 1000 in
      let lock = Muster.Mutex.create () and rwlock = Muster.Rwlock.create () in
      let changed = Muster.Condition.create () in
      let again () =
        Muster.Mutex.unlock lock;
        Muster.Mutex.lock lock;
        Muster.Rwlock.unlock_write rwlock;
        Muster.Rwlock.lock_write rwlock
      in
      let wait () = Muster.Condition.wait changed lock in
      let work () =
        Muster.Mutex.protect lock (fun () ->
            Muster.Rwlock.protect_write rwlock (fun () ->
                for i = 1 to rounds do
                  Task.scope (fun _ -> again ());
                  if i mod 100 = 0 then
                    check_raises "deadline" Task.Deadline_exceeded (fun () ->
                        Task.with_deadline 0.001 wait)
                done))
      in
      from_both (in_it work) pool)

(* The calls of one more caller are cancelled as anywhere. *)
let cancelled () =
  let rec endless () =
    Task.check ();
    Thread.yield ();
    endless ()
  in
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  let late what f =
    check_raises what Task.Deadline_exceeded (fun () -> Task.with_deadline 0.002 f)
  in
  late "a loop" endless;
  late "a wait" never;
  late "a scope" (fun () -> Task.scope (fun _ -> never ()));
  late "an inner pool" (fun () -> Pool.run (Pool.default ()) never);
  late "what it awaits" (fun () -> Task.await (Task.async never));
  check_raises "a scope" Task.Cancelled (fun () ->
      Task.scope (fun s ->
          Task.cancel_scope s;
          Task.check ()));
  List.iter
    (fun f ->
      let begun = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set begun true;
            f ())
      in
      let canceller =
        Thread.create
          (fun () ->
            wait_until (fun () -> Atomic.get begun);
            Task.cancel t)
          ()
      in
      check_raises "a task" Task.Cancelled (fun () -> Task.await t);
      Thread.join canceller)
    [ endless; never ]

(* The innermost counts, though the thread works in another one, too, which storage does not show. *)
let innermost () =
  crowded 1 (fun pool _ ->
      outside ~name:"home" ~domains:1 (fun home ->
          let entered = Atomic.make false and leave = Atomic.make false in
          let shown () =
            Pool.run home (fun () ->
                Atomic.set entered true;
                wait_until (fun () -> Atomic.get leave))
          in
          let beside shown =
            Pool.run home (fun () ->
                Atomic.set leave true;
                Thread.join shown;
                let current () = (Muster_core.Pool.current ()).name in
                check_equal "the other" false (Pool.run pool current = "home");
                check_equal "its own" "home" (current ()))
          in
          in_domain (fun () ->
              let shown = Thread.create shown () in
              wait_until (fun () -> Atomic.get entered);
              beside shown)))

(* A caller that comes back to a pool through another one is part of the same. *)
let back pool =
  with_domains 1 (fun home ->
      let rec endless n =
        Task.check ();
        Thread.yield ();
        if n > 0 then endless (n - 1)
      in
      Pool.run home (fun () ->
          in_it
            (fun () ->
              check_raises "back" Task.Cancelled (fun () ->
                  Task.scope (fun s ->
                      Task.cancel_scope s;
                      Pool.run home (fun () -> endless 10);
                      failwith "not told")))
            pool))

(* A fiber is told once, and the one beneath a hook is not told. *)
let told_once () =
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  let cleans_up f () = Fun.protect ~finally:Task.check f in
  let late what f =
    check_raises what Task.Deadline_exceeded (fun () -> Task.with_deadline 0.002 f)
  in
  late "an inner scope" (cleans_up (fun () -> Task.scope (fun _ -> never ())));
  late "an inner pool" (fun () -> cleans_up (fun () -> Pool.run (Pool.default ()) never) ())

let hooks () =
  let hooked = ref false in
  let hook () =
    Task.check ();
    hooked := true
  in
  check_raises "the fiber is told" Task.Cancelled (fun () ->
      Task.scope (fun s ->
          Task.on_cancel hook;
          Task.cancel_scope s;
          Task.check ()));
  check_equal "the hook is not" true !hooked

(* Forks and loops there look as others do. *)
let checkpoints pool =
  let is_one what f =
    check_raises what Task.Cancelled (fun () ->
        Task.scope (fun s ->
            Task.cancel_scope s;
            f ();
            failwith what))
  in
  is_one "both" (fun () -> ignore (Muster.both ignore ignore));
  is_one "for" (fun () -> Muster.parallel_for ~start:0 ~finish:9 ignore);
  is_one "for_n" (fun () -> Team.for_n pool 10 (fun ~worker:_ _ -> ()));
  is_one "for_n_dynamic" (fun () -> Team.for_n_dynamic pool 10 (fun ~worker:_ _ -> ()));
  is_one "for_slices" (fun () -> Team.for_slices pool 10 (fun ~worker:_ ~start:_ ~count:_ -> ()))

let long_loops pool =
  let late what f =
    check_raises what Task.Deadline_exceeded (fun () ->
        Task.with_deadline 0.01 (fun () ->
            f ();
            failwith what))
  in
  let body _ = burn 1e-5 in
  late "for" (fun () -> Muster.parallel_for ~start:0 ~finish:100_000 body);
  late "for_n_dynamic" (fun () -> Team.for_n_dynamic pool 100_000 (fun ~worker:_ i -> body i));
  late "for_n" (fun () -> Team.for_n pool 100_000 (fun ~worker:_ i -> body i))

(* Another thread of the domain, whose place storage shows, may leave its pool at any point of our way in. *)
let storage_is_given_back () =
  crowded 1 (fun pool _ ->
      outside ~domains:1 (fun home ->
          let leaves_at k =
            let entered = Atomic.make false and leave = Atomic.make false in
            let other =
              Thread.create
                (fun () ->
                  Pool.run home (fun () ->
                      Atomic.set entered true;
                      wait_until (fun () -> Atomic.get leave)))
                ()
            in
            wait_until (fun () -> Atomic.get entered);
            let count = ref 0 in
            let tick _ =
              incr count;
              if !count = k then begin
                Atomic.set leave true;
                Thread.join other
              end;
              None
            in
            let tracker = { Gc.Memprof.null_tracker with alloc_minor = tick } in
            ignore (Gc.Memprof.start ~sampling_rate:1. tracker);
            Pool.run pool ignore;
            Gc.Memprof.stop ();
            Atomic.set leave true;
            Thread.join other;
            check_equal "nobody's" true (Muster_core.Place.current () == Muster_core.Place.nobody)
          in
          in_domain (fun () ->
              for k = 1 to 100 do
                leaves_at k
              done)))

(* An exception of a signal's handler may come at any point of the way in and out. *)
let struck () =
  crowded 1 (fun pool _ ->
      let inner = Pool.run pool Muster_core.Pool.current in
      let has_caller (w : Muster_core.Place.t) = (not w.resident) && Muster_core.Place.is_taken w in
      let taken () = Muster_core.Place.count_places inner has_caller in
      let unshown () = Atomic.get Muster_core.Place.unshown in
      let before = taken () and unshown_before = unshown () in
      let struck_at what k f =
        let count = ref 0 and me = Muster_core.Machine.thread_id () in
        let tick _ =
          (* A domain that is hired meanwhile has the same tracker. *)
          if Muster_core.Machine.thread_id () = me then begin
            incr count;
            if !count = k then raise Exit
          end;
          None
        in
        let tracker = { Gc.Memprof.null_tracker with alloc_minor = tick } in
        ignore (Gc.Memprof.start ~sampling_rate:1. tracker);
        (try f () with Exit -> ());
        Gc.Memprof.stop ();
        let name = Printf.sprintf "%s, struck at %d" what k in
        check_int name before (taken ());
        check_int name 0 (Atomic.get inner.suspended);
        check_equal name true Muster_core.Place.(current () == nobody);
        check_int name unshown_before (unshown ())
      in
      in_domain (fun () ->
          for k = 1 to 300 do
            struck_at "run" k (fun () -> Pool.run pool ignore);
            struck_at "scope" k (fun () -> Pool.run pool (fun () -> Task.scope ignore));
            struck_at "await" k (fun () -> Pool.run pool (fun () -> Task.await (Task.async ignore)));
            struck_at "deadline" k (fun () ->
                Pool.run pool (fun () ->
                    Task.with_deadline 10. (fun () -> Muster.both ignore ignore))
                |> ignore)
          done);
      check_equal "timers" false (Muster_core.Timer.are_set ()))

(* Tasks that nobody has begun are done when the crowd has gone. *)
let left_over () =
  let ran = Atomic.make 0 in
  crowded 1 (fun pool _ ->
      Pool.run pool (fun () ->
          for _ = 1 to 10 do
            ignore (Task.async (fun () -> Atomic.incr ran))
          done));
  check_int "ran" 10 (Atomic.get ran)

let () =
  Alcotest.run "many callers"
    [
      ( "one more caller",
        [
          crowd_case "Pool.run" run;
          crowd_case "forks" (in_it forks);
          crowd_case "loops" (in_it loops);
          crowd_case "tasks" (in_it tasks);
          crowd_case "scopes" (in_it scopes);
          crowd_case "team calls" teams;
          case "the pool's domains help a caller" with_residents;
          case "a scope's code counts as its caller" scopes_are_their_callers;
          crowd_case "a caller's code is cancelled" (in_it cancelled);
          case "the innermost pool is the current one" innermost;
          crowd_case "a caller that comes back through another pool" back;
          crowd_case "a cancelled caller raises once" (in_it told_once);
          crowd_case "on_cancel in a caller" (in_it hooks);
          crowd_case "checkpoints in a caller"
            (fun pool -> in_it (fun () -> checkpoints pool) pool);
          crowd_case "long loops in a caller" (fun pool -> in_it (fun () -> long_loops pool) pool);
          case "a caller's storage is given back" storage_is_given_back;
          case "an asynchronous exception in a caller" struck;
          case "tasks that callers leave behind are run" left_over;
          case "Pool.close waits for all callers" closing;
          case "a broadcast waits for a busy caller" broadcast;
        ] );
      ( "beside hundreds of callers",
        [
          large_case "Pool.run" run;
          large_case "forks" (in_it forks);
          large_case "loops" (in_it loops);
          large_case "tasks" (in_it tasks);
          large_case "scopes" (in_it scopes);
          large_case "a caller's code is cancelled" (in_it cancelled);
          large_case "team calls" teams;
        ] );
    ]
