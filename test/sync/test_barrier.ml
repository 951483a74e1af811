(* The barrier: nobody goes on before all have come, meeting after meeting. *)

open Harness
open Sync_support
module Barrier = Muster.Barrier
module Task = Muster.Task

let meetings = 50

(* What each did before a meeting, each sees after it; nobody is a meeting ahead. *)
let nobody_is_ahead ~run =
  let barrier = Barrier.create several in
  let done_ = Array.init several (fun _ -> Atomic.make 0) in
  let plain = Array.make several 0 in
  run (fun i ->
      for meeting = 1 to meetings do
        plain.(i) <- meeting;
        Atomic.set done_.(i) meeting;
        Barrier.await barrier;
        Array.iter (fun n -> check_bool "came" true (Atomic.get n >= meeting)) done_;
        Array.iter (fun n -> check_bool "ahead" true (Atomic.get n <= meeting + 1)) done_;
        Array.iter (fun n -> check_bool "seen" true (n >= meeting)) plain;
        Barrier.await barrier
      done);
  check_int "empty" 0 (Barrier.waiting barrier)

let not_before () =
  run_on 1 @@ fun () ->
  let barrier = Barrier.create 4 and passed = ref 0 in
  let tasks =
    all_waiting 3 (fun _ ->
        Barrier.await barrier;
        incr passed)
  in
  check_int "waiting" 3 (Barrier.waiting barrier);
  letting_others_run ignore;
  check_int "passed" 0 !passed;
  Barrier.await barrier;
  List.iter Task.await tasks;
  check_int "passed" 3 !passed;
  check_int "empty" 0 (Barrier.waiting barrier)

let of_one () =
  let barrier = Barrier.create 1 in
  for _ = 1 to 3 do
    Barrier.await barrier
  done;
  check_int "parties" 1 (Barrier.parties barrier)

let errors () =
  check_invalid "create" ~mentions:[ "Muster.Barrier.create"; "0" ] (fun () -> Barrier.create 0)

let who_is_cancelled_leaves () =
  run_on 1 @@ fun () ->
  let barrier = Barrier.create 3 in
  let first = waiting_task (fun () -> Barrier.await barrier) in
  let second = waiting_task (fun () -> Barrier.await barrier) in
  check_cancelled "first" first;
  check_int "one is left" 1 (Barrier.waiting barrier);
  let third = waiting_task (fun () -> Barrier.await barrier) in
  check_int "two" 2 (Barrier.waiting barrier);
  Barrier.await barrier;
  Task.await second;
  Task.await third;
  check_int "empty" 0 (Barrier.waiting barrier)

(* Its fiber has not run yet. *)
let cancelled_before_the_last_comes () =
  run_on 1 @@ fun () ->
  let barrier = Barrier.create 2 in
  let first = waiting_task (fun () -> Barrier.await barrier) in
  Task.cancel first;
  check_int "nobody" 0 (Barrier.waiting barrier);
  let second =
    Task.async (fun () ->
        Barrier.await barrier;
        2)
  in
  let gave_up =
    match Task.with_deadline 0.02 (fun () -> Task.await second) with
    | _ -> false
    | exception Task.Deadline_exceeded -> true
  in
  check_bool "the other waits" true gave_up;
  check_cancelled "first" first;
  check_int "one" 1 (Barrier.waiting barrier);
  Barrier.await barrier;
  check_int "second" 2 (Task.await second);
  check_int "empty" 0 (Barrier.waiting barrier)

(* Two have come and left meanwhile, so the barrier has let go of it. *)
let cancelled_and_let_go_of () =
  run_on 1 @@ fun () ->
  let barrier = Barrier.create 3 and passed = ref false in
  let come () =
    Barrier.await barrier;
    passed := true
  in
  let first = waiting_task come in
  Task.cancel first;
  let gives_up () =
    match Task.with_deadline 0.005 (fun () -> Barrier.await barrier) with
    | () -> Alcotest.fail "nobody else is there"
    | exception Task.Deadline_exceeded -> ()
  in
  for _ = 1 to 2 do
    Thread.join (Thread.create gives_up ())
  done;
  let others = List.init 3 (fun _ -> Thread.create Barrier.await barrier) in
  List.iter Thread.join others;
  check_cancelled "first" first;
  check_bool "passed" false !passed;
  check_int "empty" 0 (Barrier.waiting barrier)

(* As many go on as meet, though some are cancelled meanwhile. *)
let all_who_count_go_on () =
  let parties = 3 in
  for _ = 1 to 200 do
    let barrier = Barrier.create parties and passed = Atomic.make 0 in
    let come () =
      Barrier.await barrier;
      Atomic.incr passed
    in
    let tasks = List.init (3 * parties) (fun _ -> Task.async come) in
    List.iter (fun task -> if Random.bool () then Task.cancel task) tasks;
    let await task =
      match Task.with_deadline 0.001 (fun () -> Task.await task) with
      | () | (exception (Task.Cancelled | Task.Deadline_exceeded)) -> Task.cancel task
    in
    List.iter await tasks;
    List.iter (fun task -> match Task.await task with () | (exception Task.Cancelled) -> ()) tasks;
    check_int "empty" 0 (Barrier.waiting barrier);
    check_int "passed" 0 (Atomic.get passed mod parties)
  done

(* Once all have come, the others go on. *)
let cancelled_after_all_have_come () =
  run_on 1 @@ fun () ->
  let barrier = Barrier.create 3 in
  let first = waiting_task (fun () -> Barrier.await barrier) in
  let second =
    waiting_task (fun () ->
        Barrier.await barrier;
        2)
  in
  Barrier.await barrier;
  Task.cancel first;
  check_int "second" 2 (Task.await second);
  check_int "empty" 0 (Barrier.waiting barrier);
  match Task.await first with () | (exception Task.Cancelled) -> ()

(* It costs each as much, however many there are. *)
let many_leave () =
  run_on 1 @@ fun () ->
  let many = 30_000 in
  let barrier = Barrier.create (many + 2) in
  let stays = waiting_task (fun () -> Barrier.await barrier) in
  let tasks = all_waiting many (fun _ -> Barrier.await barrier) in
  let (), seconds =
    cpu_seconds (fun () ->
        List.iter Task.cancel tasks;
        List.iter
          (fun task -> match Task.await task with () | (exception Task.Cancelled) -> ())
          tasks)
  in
  check_int "one is left" 1 (Barrier.waiting barrier);
  check_cancelled "the last" stays;
  check_int "empty" 0 (Barrier.waiting barrier);
  let words = Obj.reachable_words (Obj.repr barrier) in
  if words > 100 then failf "%d words when all have left" words;
  if seconds > 2. then failf "%.1f s for %d that leave" seconds many

(* Those that are cancelled leave; the others meet, with one more if it takes that. *)
let cancelled_at_random () =
  for _ = 1 to 10 do
    let barrier = Barrier.create 2 and ended = Atomic.make 0 in
    let tasks = Array.init 30 (fun _ -> Task.async (fun () -> Barrier.await barrier)) in
    for _ = 1 to 10 do
      Task.cancel tasks.(Random.int 30)
    done;
    let await task =
      (match Task.await task with () | (exception Task.Cancelled) -> ());
      Atomic.incr ended
    in
    let ends = Array.map (fun task -> Task.async (fun () -> await task)) tasks in
    while Atomic.get ended < 30 do
      match Task.with_deadline 0.002 (fun () -> Barrier.await barrier) with
      | () | (exception Task.Deadline_exceeded) -> ()
    done;
    Array.iter Task.await ends;
    check_int "empty" 0 (Barrier.waiting barrier)
  done

let () =
  Alcotest.run "barrier"
    [
      ( "meets",
        on_callers "no party is a meeting ahead" nobody_is_ahead
        @ [
            case "no party goes on before the last one comes" not_before;
            case "a barrier of one party holds up nobody" of_one;
            case "a barrier of no parties is refused" errors;
          ] );
      ( "cancellation",
        [
          case "a cancelled party no longer counts" who_is_cancelled_leaves;
          case "a party that is cancelled before the last one comes does not count"
            cancelled_before_the_last_comes;
          case "a cancelled party raises though others meet before it runs" cancelled_and_let_go_of;
          case "as many parties go on as have met" (on_pools all_who_count_go_on);
          case "30,000 parties leave in time" many_leave;
          case "the others go on if one is cancelled after all have come"
            cancelled_after_all_have_come;
          case "parties are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
