(* Muster_eio: what its interface says, with default pools of 1, 2 and 3 workers. The cases of
   Executor_pool are those of Eio's own tests for its pool, written anew. *)

open Harness
open Muster
open In_eio
module Fiber = Eio.Fiber
module Switch = Eio.Switch
module List = Stdlib.List
module Jobs = Muster_eio.Executor_pool

(* Both have it: a program moves by one word. *)
module type Executor_pool = sig
  [@@@warning "-32"]

  type t

  val create : sw:Switch.t -> domain_count:int -> _ Eio.Domain_manager.t -> t
  val submit : t -> weight:float -> (unit -> 'a) -> ('a, exn) result
  val submit_exn : t -> weight:float -> (unit -> 'a) -> 'a
  val submit_fork : sw:Switch.t -> t -> weight:float -> (unit -> 'a) -> 'a Eio.Promise.or_exn
end

module _ : Executor_pool = Eio.Executor_pool
module _ : Executor_pool = Jobs

exception Stop

let set flag = Atomic.set flag true
let flag () = Atomic.make false
let is_cancelled = function Error (Eio.Cancel.Cancelled _) -> true | _ -> false

(* Cancels a fiber that is in [f], once [ready ()]; its outcome. *)
let cancelled ~ready f =
  let result = ref (Error Exit) in
  (try
     Switch.run (fun sw ->
         Fiber.fork ~sw (fun () -> result := outcome f);
         until ready;
         Switch.fail sw Stop)
   with Stop -> ());
  !result

(* {2 run} *)

let elsewhere () =
  let loop = Domain.self () in
  let compute () =
    if Domain.self () = loop then failf "on the loop's domain";
    Task.sleep 0.2;
    parallel_reduce ~start:1 ~finish:1000 ~combine:( + ) ~init:0 Fun.id
  in
  beside_ticks "run" (fun () () -> check_int "sum" 500_500 (Muster_eio.run compute));
  check_raises "its exception" Exit (fun () -> Muster_eio.run (fun () -> raise Exit));
  check_int "in a task" 42 (Muster_eio.run (fun () -> Muster_eio.run (fun () -> 42)));
  check_int "in a thread" 42 (Eio_unix.run_in_systhread (fun () -> Muster_eio.run (fun () -> 42)))

let cancelled_with_its_fiber () =
  let began = flag () and ended = flag () in
  let f () =
    set began;
    Fun.protect
      ~finally:(fun () -> Task.sleep 0.01; set ended)
      (fun () -> Task.sleep 60.)
  in
  let result = cancelled ~ready:(fun () -> Atomic.get began) (fun () -> Muster_eio.run f) in
  check_bool "cancelled" true (is_cancelled result);
  check_bool "the task has ended" true (Atomic.get ended);
  (* One that no worker has begun never begins. *)
  let busy = flag () and ran = flag () in
  let hold () = while not (Atomic.get busy) do Domain.cpu_relax () done in
  let holders = List.init (Pool.size (Pool.default ()) + 1) (fun _ -> Task.async hold) in
  let result = cancelled ~ready:(fun () -> true) (fun () -> Muster_eio.run (fun () -> set ran)) in
  set busy;
  List.iter Task.await holders;
  check_bool "cancelled early" true (is_cancelled result || Atomic.get ran)

(* The exception of code that cleans up is kept, a value is as Task.cancel has it. *)
let what_comes_late () =
  let late f =
    let began = flag () in
    let f () =
      set began;
      (try Task.sleep 60. with Task.Cancelled -> ());
      f ()
    in
    cancelled ~ready:(fun () -> Atomic.get began) (fun () -> Muster_eio.run f)
  in
  check_bool "exception" true (late (fun () -> raise Not_found) = Error Not_found);
  check_bool "value" true (is_cancelled (late (fun () -> 42)))

let task_cancels_it () =
  let began = flag () and ended = flag () in
  let body () =
    Muster_eio.run (fun () ->
        set began;
        Fun.protect ~finally:(fun () -> set ended) (fun () -> Task.sleep 60.))
  in
  let task = Task.async body in
  until (fun () -> Atomic.get began);
  Task.cancel task;
  check_raises "task" Task.Cancelled (fun () -> Task.await task);
  check_bool "inner task" true (Atomic.get ended)

(* {2 on_loop} *)

let with_loop f = Switch.run (fun sw -> f (Muster_eio.loop ~sw))

let on_its_domain () =
  let mine = Domain.self () in
  with_loop (fun loop ->
      let on_loop f = Muster_eio.on_loop loop f in
      let check_here () =
        pause 0.001;
        check_bool "domain" true (Domain.self () = mine)
      in
      Muster_eio.run (fun () ->
          on_loop check_here;
          check_int "value" 42 (on_loop (fun () -> 42));
          check_raises "exception" Exit (fun () -> on_loop (fun () -> raise Exit));
          parallel_for ~start:1 ~finish:20 (fun _ -> on_loop check_here);
          (* Each is a fiber, so one may wait for another. *)
          let promise, resolver = Eio.Promise.create () in
          let waits () = on_loop (fun () -> Eio.Promise.await promise)
          and ends () = on_loop (fun () -> Eio.Promise.resolve resolver 7; 8) in
          check_equal "beside each other" [ 7; 8 ] (Task.all [ waits; ends ]);
          check_int "in a thread" 42 (Task.blocking (fun () -> on_loop (fun () -> 42))));
      check_int "in a fiber" 42 (on_loop (fun () -> 42)))

(* It sees the task's values, and is a part of its job: that may submit to its only worker. *)
let part_of_its_caller () =
  let l = Task.local 0 in
  let value () = Task.get_local l in
  let check_value name expected = check_int name expected (value ()) in
  with_loop (fun loop ->
      let seen () = Muster_eio.on_loop loop (fun () -> pause 0.001; value ()) in
      let within n f = Task.with_local l n f in
      check_int "a task's" 1 (within 1 (fun () -> Muster_eio.run seen));
      check_int "a fiber's" 2 (within 2 seen);
      check_int "none" 0 (Muster_eio.run seen);
      let t = Workers.create ~workers:1 ignore in
      let submit () = Muster_eio.on_loop loop (fun () -> Workers.submit t (fun () -> 42)) in
      check_int "job" 42 (Workers.submit t submit);
      Workers.drain t);
  check_value "nothing is left" 0

(* The task is suspended: one worker runs another meanwhile. *)
let suspends () =
  with_loop (fun loop ->
      let promise, resolver = Eio.Promise.create () in
      let waits = Task.async (fun () -> Muster_eio.on_loop loop (fun () -> Eio.Promise.await promise)) in
      let others = List.init 10 (fun i -> Task.async (fun () -> i)) in
      check_int "others" 45 (List.fold_left (fun sum t -> sum + Task.await t) 0 others);
      Eio.Promise.resolve resolver ();
      Task.await waits)

let cancelled_with_its_task () =
  with_loop (fun loop ->
      let began = flag () and ended = flag () in
      let f () =
        set began;
        try pause 60.
        with Eio.Cancel.Cancelled _ as exn ->
          Eio.Cancel.protect (fun () -> pause 0.01);
          set ended;
          raise exn
      in
      let task = Task.async (fun () -> Muster_eio.on_loop loop f) in
      until (fun () -> Atomic.get began);
      Task.cancel task;
      check_raises "task" Task.Cancelled (fun () -> Task.await task);
      check_bool "the fiber has ended" true (Atomic.get ended);
      (* Both ways at once, and a fiber of the loop that is cancelled. *)
      let began = flag () and ended = flag () in
      let f () =
        set began;
        Fun.protect ~finally:(fun () -> set ended) (fun () -> pause 60.)
      in
      let through () = Muster_eio.run (fun () -> Muster_eio.on_loop loop f) in
      let result = cancelled ~ready:(fun () -> Atomic.get began) through in
      check_bool "fiber, task, fiber" true (is_cancelled result && Atomic.get ended);
      let result =
        cancelled ~ready:(fun () -> true) (fun () ->
            Muster_eio.on_loop loop (fun () -> pause 60.))
      in
      check_bool "fiber, fiber" true (is_cancelled result))

let after_the_end () =
  let loop = Switch.run (fun sw -> Muster_eio.loop ~sw) in
  let call () = Muster_eio.on_loop loop ignore in
  check_raises "in a task" Muster_eio.Ended (fun () -> Muster_eio.run call);
  check_raises "in a fiber" Muster_eio.Ended call;
  let finished = Switch.run Fun.id in
  (match Muster_eio.loop ~sw:finished with
  | exception Invalid_argument _ -> ()
  | _ -> Alcotest.fail "a loop of a switch that has finished");
  (* What runs when the switch fails is cancelled with it, and what the switch has not begun is
     refused. *)
  let outcomes = ref [] in
  (try
     Switch.run (fun sw ->
         let loop = Muster_eio.loop ~sw in
         let one () = outcome (fun () -> Muster_eio.on_loop loop (fun () -> pause 60.)) in
         outcomes := List.init 20 (fun _ -> Task.async one);
         pause 0.01;
         Switch.fail sw Stop)
   with Stop -> ());
  let is_end = function
    | Error (Eio.Cancel.Cancelled Stop | Muster_eio.Ended) -> true
    | _ -> false
  in
  check_bool "each is told" true (List.for_all (fun t -> is_end (Task.await t)) !outcomes);
  let failed = ref None in
  (try
     Switch.run (fun sw ->
         Switch.fail sw Stop;
         failed := Some (Muster_eio.loop ~sw))
   with Stop -> ());
  check_raises "of a switch that has failed" Muster_eio.Ended (fun () ->
      Muster_eio.on_loop (Option.get !failed) ignore)

(* The loop does not keep its switch open, what it runs does. *)
let keeps_its_switch () =
  let ended = flag () and began = flag () in
  let task = ref None in
  with_loop (fun loop ->
      let f () =
        set began;
        pause 0.05;
        set ended
      in
      task := Some (Task.async (fun () -> Muster_eio.on_loop loop f));
      until (fun () -> Atomic.get began));
  check_bool "ended" true (Atomic.get ended);
  Task.await (Option.get !task)

(* Cancels at every moment: each call is answered, and its fiber has ended then. *)
let cancels_at_random () =
  let running = Atomic.make 0 in
  with_loop (fun loop ->
      for i = 1 to 200 do
        let f () =
          Atomic.incr running;
          Fun.protect ~finally:(fun () -> Atomic.decr running) (fun () ->
              for _ = 1 to i mod 7 do Fiber.yield () done;
              i)
        in
        let task = Task.async (fun () -> Muster_eio.on_loop loop f) in
        for _ = 1 to i mod 5 do Fiber.yield () done;
        if i mod 3 = 0 then pause 0.0001;
        Task.cancel task;
        match Task.await task with
        | v -> check_int "value" i v
        | exception Task.Cancelled -> check_int "running" 0 (Atomic.get running)
      done)

(* {2 Executor_pool} *)

let with_jobs ?(domains = 2) env f =
  Switch.run (fun sw -> f sw (Jobs.create ~sw ~domain_count:domains (Eio.Stdenv.domain_mgr env)))

(* Runs jobs of these weights at once; the most that ran at a time. *)
let peak ?domains env ~sleep weights =
  let running = Atomic.make 0 and peak = Atomic.make 0 and sum = Atomic.make 0 in
  let rec raise_peak n =
    let seen = Atomic.get peak in
    if n > seen && not (Atomic.compare_and_set peak seen n) then raise_peak n
  in
  with_jobs ?domains env (fun _ pool ->
      let submit i weight =
        Jobs.submit_exn pool ~weight (fun () ->
            raise_peak (1 + Atomic.fetch_and_add running 1);
            sleep 0.03;
            ignore (Atomic.fetch_and_add running (-1));
            ignore (Atomic.fetch_and_add sum (i + 1)))
      in
      Fiber.all (List.mapi (fun i weight () -> submit i weight) weights));
  let n = List.length weights in
  check_int "sum" (n * (n + 1) / 2) (Atomic.get sum);
  Atomic.get peak

let at_most_its_weights env =
  let fives weight = List.init 5 (fun _ -> weight) in
  let one sleep =
    check_int "2 domains" 2 (peak env ~sleep (fives 1.));
    check_int "1 domain, halves" 2 (peak env ~domains:1 ~sleep (fives 0.5));
    check_int "2 domains, halves" 4 (peak env ~sleep (fives 0.5));
    check_int "weightless" 5 (peak env ~domains:1 ~sleep (fives 0.));
    let mixed = List.init 10 (fun _ -> 0.25) @ [ 1. ] @ List.init 7 (fun _ -> 0.25) in
    check_int "more than 1" 8 (peak env ~sleep mixed)
  in
  List.iter one [ pause; Task.sleep ]

let refuses_weights env =
  with_jobs env (fun _ pool ->
      let refused weight =
        check_invalid "weight" ~mentions:[ "Executor_pool.submit_exn"; Printf.sprintf "%g" weight ]
          (fun () -> Jobs.submit_exn pool ~weight ignore)
      in
      List.iter refused [ -5.; 1.1; Float.nan ];
      Jobs.submit_exn pool ~weight:1. ignore);
  check_invalid "domains" ~mentions:[ "Executor_pool.create"; "domain_count = 0" ] (fun () ->
      with_jobs ~domains:0 env (fun _ _ -> ()))

let results env =
  with_jobs ~domains:1 env (fun sw pool ->
      let job i () =
        pause 0.005;
        if i mod 2 = 0 then failwith (string_of_int i) else i
      in
      let submit i = Jobs.submit pool ~weight:0.25 (job i) in
      check_equal "submit" [ Ok 1; Error (Failure "2"); Ok 3; Error (Failure "4") ]
        (Fiber.List.map submit [ 1; 2; 3; 4 ]);
      check_raises "submit_exn" (Failure "2") (fun () ->
          Jobs.submit_exn pool ~weight:1. (job 2));
      let promises = List.map (fun i -> Jobs.submit_fork ~sw pool ~weight:1. (job i)) [ 1; 2; 3 ] in
      check_equal "submit_fork" [ Ok 1; Error (Failure "2"); Ok 3 ]
        (List.map Eio.Promise.await promises))

(* The job before the failing one ends, the ones behind it run too. *)
let in_order env =
  with_jobs ~domains:1 env (fun _ pool ->
      let begun = ref [] in
      let job i () =
        begun := i :: !begun;
        if i = 3 then failwith "3"
      in
      ignore (Fiber.List.map (fun i -> Jobs.submit pool ~weight:1. (job i)) [ 1; 2; 3; 4; 5 ]);
      check_equal "order" [ 5; 4; 3; 2; 1 ] !begun)

let waits_for_room env =
  with_jobs ~domains:1 env (fun sw pool ->
      let order = ref [] in
      let note what = order := what :: !order in
      let long () =
        pause 0.02;
        note "long"
      in
      let first = Jobs.submit_fork ~sw pool ~weight:1. long in
      let second = Jobs.submit_fork ~sw pool ~weight:1. (fun () -> note "short") in
      note "not blocked";
      Eio.Promise.await_exn first;
      Eio.Promise.await_exn second;
      Jobs.submit_exn pool ~weight:1. (fun () -> note "last");
      check_equal "order" [ "last"; "short"; "long"; "not blocked" ] !order)

(* Ctrl-C strikes a job whose submitter was cancelled: it comes to a fiber's next wait. *)
let struck_when_cancelled env =
  with_jobs ~domains:1 env (fun _ pool ->
      let began = flag () and left = Latch.create 1 in
      let job () =
        set began;
        Latch.await left;
        raise Sys.Break
      in
      let submit () = Jobs.submit_exn pool ~weight:1. job in
      check_bool "cancelled" true (is_cancelled (cancelled ~ready:(fun () -> Atomic.get began) submit));
      Latch.count_down left;
      let rec wait () = Task.sleep 0.001; wait () in
      check_raises "a wait" Sys.Break wait)

let stopped_with_its_switch env =
  let told = Atomic.make 0 and began = Atomic.make 0 and leak = ref None in
  let job sleep () =
    Atomic.incr began;
    Fun.protect ~finally:(fun () -> Atomic.incr told) (fun () -> sleep 60.)
  in
  let answers = ref [] in
  (try
     with_jobs env (fun sw pool ->
         leak := Some pool;
         let submit sleep =
           Fiber.fork ~sw (fun () ->
               Eio.Cancel.protect (fun () ->
                   let answer = Jobs.submit pool ~weight:1. (job sleep) in
                   answers := answer :: !answers))
         in
         List.iter submit [ pause; Task.sleep; pause; Task.sleep ];
         until (fun () -> Atomic.get began = 2);
         Switch.fail sw Stop)
   with Stop -> ());
  check_int "jobs that began have ended" (Atomic.get began) (Atomic.get told);
  check_int "answers" 4 (List.length !answers);
  check_bool "cancelled" true (List.for_all is_cancelled !answers);
  check_invalid "later" ~mentions:[ "Executor_pool.submit"; "switch has ended" ] (fun () ->
      Jobs.submit (Option.get !leak) ~weight:1. ignore);
  (* A pool does not keep its switch open. *)
  with_jobs env (fun _ _ -> ())

(* What a job has it keeps as it moves to a loop. *)
(* Their waits begin with a mutex of the stdlib locked. *)
let waits_for_others env =
  with_jobs ~domains:2 env (fun sw pool ->
      let submit f = Jobs.submit_fork ~sw pool ~weight:0.1 f in
      let value p = Eio.Promise.await_exn p in
      let numbers = List.init 50 Fun.id in
      let s = Eio.Stream.create 1 and m = Eio.Mutex.create () in
      let taken = submit (fun () -> List.map (fun _ -> Eio.Stream.take s) numbers) in
      pause 0.01;
      List.iter (Eio.Stream.add s) numbers;
      check_equal "taken" numbers (value taken);
      let adds = submit (fun () -> List.iter (Eio.Stream.add s) numbers) in
      pause 0.01;
      check_equal "added" numbers (List.map (fun _ -> Eio.Stream.take s) numbers);
      value adds;
      Eio.Mutex.lock m;
      let holds = submit (fun () -> Eio.Mutex.use_ro m (fun () -> pause 0.001; 42)) in
      let p, r = Eio.Promise.create () in
      let awaits = submit (fun () -> Eio.Promise.await p + fib 10) in
      pause 0.01;
      Eio.Mutex.unlock m;
      Eio.Promise.resolve r 1;
      check_int "locked" 42 (value holds);
      check_int "promise" 56 (value awaits));
  (* A stop ends such a wait. *)
  let stuck, _ = Eio.Promise.create () and outcome = ref (Ok ()) in
  Switch.run (fun outer ->
      with_jobs env (fun _ pool ->
          Fiber.fork ~sw:outer (fun () ->
              outcome := Jobs.submit pool ~weight:1. (fun () -> Eio.Promise.await stuck));
          pause 0.01));
  check_bool "stopped" true (is_cancelled !outcome)

let moves_with_all env =
  let l = Task.local 0 and value = ref 0 in
  let check_value name expected = check_int name expected (Task.get_local l) in
  with_jobs ~domains:1 env (fun _ pool ->
      let submit f = Jobs.submit_exn pool ~weight:1. f in
      let moves () =
        Task.with_local l 2 (fun () ->
            pause 0.001;
            check_value "within" 2);
        check_value "the submitter's" 1;
        value := Muster_eio.run (fun () -> Task.get_local l)
      in
      Task.with_local l 1 (fun () -> submit moves);
      check_int "its task's" 1 !value;
      let fails () =
        pause 0.001;
        raise Stop
      in
      check_raises_with_origin ~file:__FILE__ ~line:(__LINE__ - 2) "backtrace" (fun () -> submit fails);
      submit (fun () -> check_value "of another" 0);
      let m = Mutex.create () and rw = Rwlock.create () in
      let holds () =
        Mutex.protect m (fun () ->
            pause 0.001;
            check_invalid "twice" ~mentions:[ "already locked" ] (fun () -> Mutex.lock m);
            Rwlock.protect_write rw Fiber.yield)
      in
      submit holds;
      check_bool "free" true (Mutex.try_lock m);
      Mutex.unlock m;
      Rwlock.protect_write rw ignore)

(* The branch of a fork that is traced ends in the loop, at nobody's place: what is started outside of
   all pools is no part of it. *)
let traced_to_the_loop env =
  let open Muster_trace in
  Trace.set true;
  Fun.protect ~finally:(fun () -> Trace.set false) @@ fun () ->
  with_jobs ~domains:1 env (fun _ pool ->
      let calls_eio () = try Switch.run ignore with Effect.Unhandled _ -> () in
      for _ = 1 to 20 do
        Jobs.submit_exn pool ~weight:1. (fun () -> ignore (both ignore calls_eio))
      done;
      check_int "traced outside" 0 Muster_core.Place.nobody.own.fiber.traced)

(* Its own: a job computes on Muster's pool, and calls Eio where it will. *)
let jobs_of_both_kinds env =
  let loop = Domain.self () in
  with_jobs ~domains:1 env (fun _ pool ->
      let submit f = Jobs.submit_exn pool ~weight:1. f in
      let computes () =
        if Domain.self () = loop then failf "on the loop's domain";
        check_bool "pool" true (Pool.equal (Pool.current ()) (Pool.default ()));
        fib 15
      in
      check_int "fork-join" 610 (submit computes);
      let calls_eio () =
        let before = fib 10 in
        let a, b =
          Switch.run (fun sw ->
              let p = Fiber.fork_promise ~sw (fun () -> Fiber.yield (); 1) in
              (Eio.Promise.await_exn p, Muster_eio.run (fun () -> fib 10)))
        in
        pause 0.001;
        let sum = parallel_reduce ~start:1 ~finish:100 ~combine:( + ) ~init:0 Fun.id in
        before + a + b + sum
      in
      check_int "both" (55 + 1 + 55 + 5050) (submit calls_eio);
      let in_a_fork () = fst (both (fun () -> pause 0.001; 1) (fun () -> 2)) in
      check_int "in a fork" 1 (submit in_a_fork);
      check_int "a job's job" 42 (Jobs.submit_exn pool ~weight:0.5 (fun () ->
          Jobs.submit_exn pool ~weight:0.5 (fun () -> 42)));
      let in_a_scope () = Task.scope (fun _ -> pause 0.001) in
      match Jobs.submit pool ~weight:1. in_a_scope with
      | Error (Effect.Unhandled _) -> ()
      | Error exn -> raise exn
      | Ok () -> failf "moved out of its scope");
  (* From tasks and other loops. *)
  with_jobs env (fun _ pool ->
      let sum = Atomic.make 0 in
      let submit i = ignore (Atomic.fetch_and_add sum (Jobs.submit_exn pool ~weight:0.1 (fun () -> Fiber.yield (); i))) in
      Fiber.both
        (fun () -> Muster_eio.run (fun () -> Task.iter ~max:10 submit (List.init 100 succ)))
        (fun () ->
          Eio.Domain_manager.run (Eio.Stdenv.domain_mgr env) (fun () ->
              Fiber.List.iter submit (List.init 100 succ)));
      check_int "sum" 10_100 (Atomic.get sum))

let () =
  Alcotest.run "muster-eio"
    [
      ( "run",
        [
          case "computes in the pool" (here elsewhere);
          case "is cancelled with its fiber" (here cancelled_with_its_fiber);
          case "keeps what comes late" (here what_comes_late);
          case "is cancelled with its task" (here task_cancels_it);
        ] );
      ( "on_loop",
        [
          case "runs in the loop" (here on_its_domain);
          case "is a part of its caller" (here part_of_its_caller);
          case "suspends the task" (here suspends);
          case "is cancelled with its task" (here cancelled_with_its_task);
          case "the loop has ended" (here after_the_end);
          case "the switch stays open" (here keeps_its_switch);
          case "cancels at random" (here cancels_at_random);
        ] );
      ( "Executor_pool",
        [
          case "weights bound what runs" (in_eio at_most_its_weights);
          case "bad weights" (in_eio refuses_weights);
          case "results and exceptions" (in_eio results);
          case "jobs begin in order" (in_eio in_order);
          case "a full pool" (in_eio waits_for_room);
          case "Ctrl-C in a job that nobody awaits" (in_eio struck_when_cancelled);
          case "stops with its switch" (in_eio stopped_with_its_switch);
          case "jobs that compute and call Eio" (in_eio jobs_of_both_kinds);
          case "jobs that wait for other fibers" (in_eio waits_for_others);
          case "jobs that move" (in_eio moves_with_all);
          case "jobs that move while a branch is traced" (in_eio traced_to_the_loop);
        ] );
    ]
