(* Libraries that wait through domain-local-await suspend the task that waits: here Kcas, and a
   blocking queue of Saturn's lock-free ones. A pool of one worker would hang otherwise. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Dla = Domain_local_await
module Loc = Kcas.Loc

let wait_for loc wanted = Loc.get_as (fun x -> if x <> wanted then Kcas.Retry.later ()) loc

(* The smallest queue that a library could make: who finds nothing leaves a trigger. *)
module Blocking_queue = struct
  type 'a t = { items : 'a Saturn.Queue.t; waiting : Dla.t Saturn.Queue.t }

  let create () = { items = Saturn.Queue.create (); waiting = Saturn.Queue.create () }

  let rec release_all q =
    match Saturn.Queue.pop_opt q.waiting with
    | None -> ()
    | Some (trigger : Dla.t) ->
      trigger.release ();
      release_all q

  let push q x =
    Saturn.Queue.push q.items x;
    release_all q

  let rec pop q =
    match Saturn.Queue.pop_opt q.items with
    | Some x -> x
    | None -> (
      let trigger = Dla.prepare_for_await () in
      Saturn.Queue.push q.waiting trigger;
      match Saturn.Queue.pop_opt q.items with
      | Some x -> x
      | None ->
        trigger.await ();
        pop q)
end

(* {2 Kcas and Saturn} *)

let ping_pong pool =
  let rounds = 500 in
  let ball = Loc.make 0 in
  let player mine theirs () =
    for _ = 1 to rounds do
      wait_for ball mine;
      Loc.set ball theirs
    done
  in
  Pool.run pool (fun () ->
      let tasks = [ Task.async (player 0 1); Task.async (player 1 0) ] in
      List.iter Task.await tasks)

let many_wait_for_one pool =
  let gate = Loc.make 0 and through = Atomic.make 0 in
  Pool.run pool (fun () ->
      let pass () =
        wait_for gate 1;
        Atomic.incr through
      in
      let tasks = List.init 200 (fun _ -> Task.async pass) in
      let opener = Task.async (fun () -> Loc.set gate 1) in
      List.iter Task.await tasks;
      Task.await opener);
  check_int "through" 200 (Atomic.get through)

let blocking_queue pool =
  let n = 1000 in
  let there = Blocking_queue.create () and back = Blocking_queue.create () in
  let server () =
    for _ = 1 to n do
      Blocking_queue.(push back (2 * pop there))
    done
  in
  let client () =
    let sum = ref 0 in
    for i = 1 to n do
      Blocking_queue.push there i;
      sum := !sum + Blocking_queue.pop back
    done;
    !sum
  in
  Pool.run pool (fun () ->
      let sum = Task.async client and served = Task.async server in
      check_int "sum" (n * (n + 1)) (Task.await sum);
      Task.await served)

(* Some wait, others work: each item is taken once. *)
let many_producers_and_consumers pool =
  let q = Blocking_queue.create () in
  let seen = counters 1000 in
  let produce i () =
    for k = 0 to 99 do
      Blocking_queue.push q ((100 * i) + k)
    done
  in
  let consume () =
    for _ = 0 to 99 do
      Atomic.incr seen.(Blocking_queue.pop q)
    done
  in
  Pool.run pool (fun () ->
      let consumers = List.init 10 (fun _ -> Task.async consume) in
      let producers = List.init 10 (fun i -> Task.async (produce i)) in
      List.iter Task.await (consumers @ producers));
  each_once "item" seen

(* A worker that may not suspend runs the task for which it waits. *)
let below_c pool =
  Pool.run pool (fun () ->
      let loc = Loc.make 0 in
      let opener = Task.async (fun () -> Loc.set loc 1) in
      call_through_c (fun () -> wait_for loc 1);
      Task.await opener)

let in_a_loop pool =
  let loc = Loc.make 0 in
  let body i =
    if i = 0 then begin
      let opener = Task.async (fun () -> Loc.set loc 1) in
      wait_for loc 1;
      Task.await opener
    end
  in
  Pool.run pool (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:9 body);
  Loc.set loc 0;
  (* Outside a task, too, as soon as the caller works in a pool. *)
  Muster.Team.for_n pool 10 (fun ~worker:_ i -> body i)

let from_outside pool =
  let loc = Loc.make 0 in
  let task = Pool.run pool (fun () -> Task.async (fun () -> wait_for loc 1)) in
  Loc.set loc 1;
  Task.await task

(* {2 Triggers} *)

let released_before_and_again pool =
  Pool.run pool (fun () ->
      let trigger = Dla.prepare_for_await () in
      trigger.release ();
      trigger.release ();
      trigger.await ();
      trigger.release ())

let released_by release pool =
  Pool.run pool (fun () ->
      for _ = 1 to 20 do
        let trigger = Dla.prepare_for_await () in
        let other = release trigger in
        trigger.await ();
        other ()
      done)

let by_domain (trigger : Dla.t) =
  let domain = Domain.spawn trigger.release in
  fun () -> Domain.join domain

let by_thread (trigger : Dla.t) =
  let thread = Thread.create trigger.release () in
  fun () -> Thread.join thread

let by_several (trigger : Dla.t) =
  let domains = List.init 3 (fun _ -> Domain.spawn trigger.release) in
  fun () -> List.iter Domain.join domains

let waiting_burns_nothing pool =
  let (), burnt =
    cpu_seconds @@ fun () ->
    Pool.run pool (fun () ->
        let trigger = Dla.prepare_for_await () in
        let release () =
          Unix.sleepf 1.;
          trigger.release ()
        in
        let domain = Domain.spawn release in
        trigger.await ();
        Domain.join domain)
  in
  if burnt > 0.05 then failf "%.0f ms of CPU" (1e3 *. burnt)

let cancellation_ends_the_wait pool =
  let loc = Loc.make 0 in
  let wait () = wait_for loc 1 in
  check_raises "kcas" Task.Deadline_exceeded (fun () ->
      Pool.run pool (fun () -> Task.with_deadline 0.05 wait));
  (* Releasing it does no harm. *)
  Loc.set loc 1;
  is_usable pool

(* {2 Others' schedulers} *)

(* A scheduler that notes by which thread it was asked last. It has nothing else to do: so a thread
   that waits sleeps. *)
let under_scheduler f =
  let asked = Atomic.make (-1) in
  let prepare_for_await () =
    Atomic.set asked (Thread.id (Thread.self ()));
    let released = Atomic.make false in
    let await () = wait_until (fun () -> Atomic.get released) in
    Dla.{ release = (fun () -> Atomic.set released true); await }
  in
  Dla.using ~prepare_for_await ~while_running:(fun () -> f asked)

let asks asked =
  Atomic.set asked (-1);
  ignore (Dla.prepare_for_await ());
  Atomic.get asked = Thread.id (Thread.self ())

let others_come_back pool =
  under_scheduler @@ fun asked ->
  check_bool "theirs" true (asks asked);
  let inside () =
    check_bool "ours inside" false (asks asked);
    (* In place: it is their task that waits. *)
    under_scheduler (fun inner ->
        Pool.run pool (fun () -> check_bool "theirs in a task" true (asks inner)));
    check_bool "ours again" false (asks asked)
  in
  Pool.run pool inside;
  check_bool "theirs after" true (asks asked);
  Muster.Team.broadcast pool (fun _ -> check_bool "ours in a region" false (asks asked));
  check_bool "theirs after a region" true (asks asked);
  check_raises "an exception" Exit (fun () -> Pool.run pool (fun () -> raise Exit));
  check_bool "theirs after an exception" true (asks asked);
  Task.await (Pool.run pool (fun () -> Task.async ignore));
  check_bool "theirs after await" true (asks asked)

(* A pool entered from a scheduler that runs in a task of the same pool. *)
let nested_in_others pool =
  Pool.run pool (fun () ->
      outside ~domains:1 (fun inner ->
          under_scheduler (fun asked ->
              Pool.run inner (fun () ->
                  check_bool "ours in another pool" false (asks asked);
                  Pool.run pool (fun () -> check_bool "ours" false (asks asked)));
              check_bool "theirs" true (asks asked))))

let threads_of_a_domain pool =
  let loc = Loc.make 0 in
  let last = 7 in
  let turn i =
    if i = last then Unix.sleepf 0.05;
    Pool.run pool (fun () -> if i = last then Loc.set loc 1 else wait_for loc 1)
  in
  ignore (in_threads (last + 1) turn);
  under_scheduler (fun asked -> check_bool "not ours" true (asks asked))

(* {2 Blocking calls}

   Their threads share a domain, of which the program knows nothing. *)

let blocking_calls_have_their_own pool =
  let is_there = Muster.Latch.create 1 and is_over = Muster.Latch.create 1 in
  let its = Atomic.make (Atomic.make 0) in
  let one () =
    under_scheduler (fun asked ->
        Atomic.set its asked;
        Muster.Latch.count_down is_there;
        Muster.Latch.await is_over;
        check_bool "its own" true (asks asked))
  and other () =
    Muster.Latch.await is_there;
    Fun.protect
      (fun () -> check_bool "not the other's" false (asks (Atomic.get its)))
      ~finally:(fun () -> Muster.Latch.count_down is_over)
  in
  let blocking f () = Task.blocking f in
  Pool.run pool (fun () -> ignore (Task.all [ blocking one; blocking other ]))

(* Each in a pool of one worker, for whose task it waits, while others are in theirs. *)
let blocking_calls_enter_pools pool =
  let enter () =
    Pool.with_ ~domains:1 @@ fun _ ->
    let loc = Loc.make 0 in
    let opener = Task.async (fun () -> Loc.set loc 1) in
    Unix.sleepf 0.002;
    wait_for loc 1;
    Task.await opener
  in
  let rounds () =
    for _ = 1 to 10 do
      Task.blocking enter
    done
  in
  Pool.run pool (fun () -> ignore (Task.all (List.init 4 (fun _ -> rounds))))

let () =
  let each name f = case name (on_pools [ 1; 2; 3 ] f) in
  Alcotest.run "domain-local-await"
    [
      ( "libraries",
        [
          each "two tasks wait for each other" ping_pong;
          each "many wait for one" many_wait_for_one;
          each "a blocking queue" blocking_queue;
          each "many producers and consumers" many_producers_and_consumers;
          each "a task waits below a C callback" below_c;
          each "iterations wait" in_a_loop;
          each "a task is released from outside" from_outside;
        ] );
      ( "triggers",
        [
          each "a trigger that is released before the wait, and again" released_before_and_again;
          each "a domain releases the wait" (released_by by_domain);
          each "a thread releases the wait" (released_by by_thread);
          each "several release the wait at once" (released_by by_several);
          case "waiting burns no CPU" (on_pools [ 2 ] waiting_burns_nothing);
          each "cancellation ends the wait" cancellation_ends_the_wait;
        ] );
      ( "schedulers",
        [
          each "another scheduler's function comes back" others_come_back;
          each "a pool within another scheduler within a task" nested_in_others;
          each "threads of one domain wait each in their own way" threads_of_a_domain;
        ] );
      ( "blocking calls",
        [
          each "blocking calls wait each in their own way" blocking_calls_have_their_own;
          each "blocking calls enter pools of their own" blocking_calls_enter_pools;
        ] );
    ]
