(* Await works everywhere: in a task, outside a pool, in a systhread, below C, under an effect
   handler; and from several places at once. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

exception Boom of int

let domain_counts = [ 1; 2; 3 ]

let slow ?(seconds = 0.03) value () =
  Unix.sleepf seconds;
  value

(* A task that surely runs on another domain by the time it is returned. *)
let running_task ?seconds value =
  let started = Atomic.make false in
  let body () =
    Atomic.set started true;
    slow ?seconds value ()
  in
  let task = Task.async body in
  wait_until (fun () -> Atomic.get started);
  task

(* The three states in which a wait may find its task; [await] is the way to wait. *)
let check_await_in_every_state ~domains await =
  let finished = Task.async (fun () -> 1) in
  check_int "await" 1 (Task.await finished);
  check_int "done" 1 (await finished);
  check_int "not started" 2 (await (Task.async (slow 2)));
  if domains > 1 then check_int "running" 3 (await (running_task 3));
  check_raises "failed" (Boom 4) (fun () -> ignore (await (Task.async (fun () -> raise (Boom 4)))))

let in_tasks await () =
  let check domains = run_on domains (fun () -> check_await_in_every_state ~domains await) in
  List.iter check domain_counts

(* Everywhere *)

let in_a_task_of_its_own task = Task.await (Task.async (fun () -> Task.await task))

let in_both task =
  let wait () = Task.await task in
  fst (Muster.both wait wait)

let in_a_systhread task = in_thread (fun () -> Task.await task)
let in_a_domain task = in_domain (fun () -> Task.await task)
let below_c task = call_through_c (fun () -> Task.await task)
let below_c_twice task = call_through_c (fun () -> below_c task)
let in_lazy task = Lazy.force (lazy (Task.await task))

type _ Effect.t += Ask : int Effect.t

let answering (n : int) (f : unit -> int) =
  let open Effect.Deep in
  let effc : type b. b Effect.t -> ((b, int) continuation -> int) option = function
    | Ask -> Some (fun k -> continue k n)
    | _ -> None
  in
  match_with f () { retc = Fun.id; exnc = raise; effc }

(* The user's effect is handled on both sides of the wait. *)
let under_a_handler task =
  answering 10 @@ fun () ->
  let before = Effect.perform Ask in
  let value = Task.await task in
  let after = Effect.perform Ask in
  value + before - after

let under_two_handlers task = answering 1 (fun () -> under_a_handler task)
let handler_below_c task = call_through_c (fun () -> under_a_handler task)
let c_below_handler task = answering 1 (fun () -> below_c task)

let under_a_shallow_handler task =
  let open Effect.Shallow in
  let rec handle : type c. (c, int) continuation -> c -> int =
   fun k value ->
    let effc : type b. b Effect.t -> ((b, int) continuation -> int) option = function
      | Ask -> Some (fun k -> handle k 10)
      | _ -> None
    in
    continue_with k value { retc = Fun.id; exnc = raise; effc }
  in
  handle (fiber (fun () -> Task.await task + Effect.perform Ask - 10)) ()

(* A generator in the user's own effects: its continuation is resumed by the asking party. *)
let in_a_generator task =
  let open Effect.Deep in
  let pending = ref None in
  let effc : type b. b Effect.t -> ((b, int) continuation -> int) option = function
    | Ask ->
      Some
        (fun k ->
          pending := Some (fun () -> continue k 0);
          0)
    | _ -> None
  in
  let body () =
    let zero = Effect.perform Ask in
    zero + Task.await task
  in
  ignore (match_with body () { retc = Fun.id; exnc = raise; effc });
  (Option.get !pending) ()

let outside await () =
  let domains = Pool.size (Pool.default ()) in
  check_await_in_every_state ~domains await

(* The task belongs to a pool, the wait to nobody. *)
let from_outside_its_pool () =
  let check domains =
    with_domains domains @@ fun pool ->
    let spawn body = Pool.run pool (fun () -> Task.async body) in
    check_int "main" 1 (Task.await (spawn (slow 1)));
    let task = spawn (slow 2) in
    check_int "domain" 2 (in_domain (fun () -> Task.await task));
    let task = spawn (slow 3) in
    check_int "systhread" 3 (in_thread (fun () -> Task.await task));
    let task = spawn (slow 4) in
    check_int "below C" 4 (below_c task)
  in
  List.iter check domain_counts

let in_a_finaliser () =
  let task = Task.async (fun () -> 6) in
  let seen = Atomic.make 0 in
  Gc.finalise (fun _ -> Atomic.set seen (Task.await task)) (ref 0);
  Gc.full_major ();
  Gc.full_major ();
  check_int "awaited" 6 (Atomic.get seen)

let at_exit_of_the_program () =
  let child = Child.run "child/child.exe" [ "work-at-exit" ] in
  Child.check_success child;
  check_equal "awaited" "42\n" child.output

let whole_library_below_c () =
  let sum = Atomic.make 0 in
  let everything () =
    ignore (Muster.both (fun () -> Atomic.incr sum) (fun () -> Atomic.incr sum));
    Muster.parallel_for ~start:1 ~finish:100 (fun _ -> Atomic.incr sum);
    ignore (Task.all (List.init 8 (fun _ () -> Atomic.incr sum)))
  in
  let check domains =
    Atomic.set sum 0;
    run_on domains (fun () -> call_through_c everything);
    check_int "sum" 110 (Atomic.get sum)
  in
  List.iter check domain_counts

(* Many waits below C at once may use up no worker for good. *)
let many_waits_below_c () =
  let check domains =
    run_on domains @@ fun () ->
    let rec chain n = if n = 0 then 0 else 1 + below_c (Task.async (fun () -> chain (n - 1))) in
    let chains = List.init 8 (fun _ -> Task.async (fun () -> chain 20)) in
    List.iter (fun task -> check_int "chain" 20 (Task.await task)) chains
  in
  List.iter check domain_counts

(* Two waits for one task *)

let from_two_tasks () =
  let check domains =
    run_on domains @@ fun () ->
    let task = Task.async (slow 7) in
    let wait () = Task.await task in
    let waits = List.init 10 (fun _ -> Task.async wait) in
    check_int "here" 7 (Task.await task);
    List.iter (fun wait -> check_int "there" 7 (Task.await wait)) waits
  in
  List.iter check domain_counts

let from_tasks_threads_and_domains () =
  with_domains 3 @@ fun pool ->
  let task = Pool.run pool (fun () -> Task.async (slow ~seconds:0.1 7)) in
  let wait _ = Task.await task in
  let domains = List.init 2 (fun _ -> Domain.spawn wait) in
  let tasks = Pool.run pool (fun () -> List.init 4 (fun _ -> Task.async wait)) in
  check_bool "threads" true (List.for_all (( = ) 7) (in_threads 3 wait));
  check_bool "tasks" true (List.for_all (fun t -> Task.await t = 7) tasks);
  check_bool "domains" true (List.for_all (fun d -> Domain.join d = 7) domains)

let failure_reaches_both () =
  run_on 3 @@ fun () ->
  let fail_slowly () =
    Unix.sleepf 0.03;
    raise (Boom 8)
  in
  let task = Task.async fail_slowly in
  let wait () = match Task.await task with () -> false | exception Boom 8 -> true in
  let waits = List.init 6 (fun _ -> Task.async wait) in
  List.iter (fun wait -> check_bool "raised" true (Task.await wait)) waits

(* A task that its awaiter runs itself may end without a compare-and-set (Promise, _In place_), unless somebody else waits for
   it: here others come at about its end. *)
let while_its_awaiter_runs_it ~others ~rounds domains () =
  run_on domains @@ fun () ->
  let shown = Atomic.make (Task.async (fun () -> 42)) and over = Atomic.make false in
  let waiting = Atomic.make 0 in
  let rec await_each seen wrong =
    let task = Atomic.get shown in
    if task != seen then begin
      let wrong = if Task.await task = 42 then wrong else wrong + 1 in
      Atomic.decr waiting;
      await_each task wrong
    end
    else if Atomic.get over then wrong
    else begin
      Domain.cpu_relax ();
      await_each seen wrong
    end
  in
  let first = Atomic.get shown in
  let await_each () = await_each first 0 in
  let domains = List.init others (fun _ -> Domain.spawn await_each) in
  let body pauses () =
    for _ = 1 to pauses do
      Domain.cpu_relax ()
    done;
    42
  in
  for round = 1 to rounds do
    let task = Task.async (body (round land 127)) in
    Atomic.set waiting others;
    Atomic.set shown task;
    check_int "await" 42 (Task.await task);
    while Atomic.get waiting > 0 do
      Domain.cpu_relax ()
    done
  done;
  Atomic.set over true;
  List.iter (fun domain -> check_int "wrong" 0 (Domain.join domain)) domains

type _ Effect.t += Park : unit Effect.t

(* A handler of the user's around the await holds the task that it runs, and goes on with both in a domain that is in no
   pool: what the pool's worker does meanwhile is not touched. *)
let goes_on_in_no_pool () =
  let parked : (unit, unit) Effect.Deep.continuation option ref = ref None
  and result = Atomic.make 0 in
  let park_and_await () =
    let park () =
      Effect.perform Park;
      5
    in
    Atomic.set result (Task.await (Task.async park))
  in
  let effc (type a) : a Effect.t -> ((a, unit) Effect.Deep.continuation -> unit) option = function
    | Park -> Some (fun (k : (a, unit) Effect.Deep.continuation) -> parked := Some k)
    | _ -> None
  in
  let round pool =
    Pool.run pool @@ fun () ->
    Task.await (Task.async ignore);
    Effect.Deep.match_with park_and_await () { retc = Fun.id; exnc = raise; effc };
    let k = Option.get !parked in
    check_raises "cancelled" Task.Cancelled (fun () ->
        Task.scope (fun scope ->
            in_domain (fun () -> Effect.Deep.continue k ());
            Task.cancel_scope scope;
            Task.check ();
            failf "not told"));
    check_int "result" 5 (Atomic.get result)
  in
  with_domains 1 (fun pool ->
      for _ = 1 to 20 do
        round pool
      done)

let everywhere name await =
  [ case (name ^ ", in a task") (in_tasks await); case (name ^ ", outside") (outside await) ]

let () =
  Alcotest.run "await"
    [
      ( "everywhere",
        List.concat
          [
            everywhere "in the task itself" Task.await;
            everywhere "in another task" in_a_task_of_its_own;
            everywhere "in a branch of both" in_both;
            everywhere "in a systhread" in_a_systhread;
            everywhere "in a domain" in_a_domain;
            everywhere "below a C callback" below_c;
            everywhere "below two C callbacks" below_c_twice;
            everywhere "in a lazy value" in_lazy;
            everywhere "under an effect handler" under_a_handler;
            everywhere "under two effect handlers" under_two_handlers;
            everywhere "under a handler below a C callback" handler_below_c;
            everywhere "below a C callback under a handler" c_below_handler;
            everywhere "under a shallow effect handler" under_a_shallow_handler;
            everywhere "in a generator" in_a_generator;
          ] );
      ( "elsewhere",
        [
          case "a thread outside the pool awaits a task" from_outside_its_pool;
          case "a finaliser awaits a task" in_a_finaliser;
          case "a function of at_exit awaits a task" at_exit_of_the_program;
          case "the whole library works below a C callback" whole_library_below_c;
          case "many waits end below a C callback" many_waits_below_c;
          case "a suspended function goes on in a domain of no pool" goes_on_in_no_pool;
        ] );
      ( "two waits",
        [
          case "two tasks await one task" from_two_tasks;
          case "tasks, threads and domains await one task" from_tasks_threads_and_domains;
          case "a failure reaches both awaiters" failure_reaches_both;
          case ~seconds:60 "a second awaiter comes while the first runs the task, 1 worker"
            (while_its_awaiter_runs_it ~others:1 ~rounds:1_000 1);
          case ~seconds:60 "a second awaiter comes while the first runs the task, 2 workers"
            (while_its_awaiter_runs_it ~others:1 ~rounds:1_000 2);
          case ~seconds:60 "two more awaiters come while the first runs the task"
            (while_its_awaiter_runs_it ~others:2 ~rounds:500 1);
        ] );
    ]
