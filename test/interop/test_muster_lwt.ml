(* Muster_lwt: what its interface says, with default pools of 1, 2 and 3 workers. *)

open Harness
open Muster
module List = Stdlib.List
open Lwt.Infix

let in_lwt f () =
  List.iter (fun workers -> with_default workers (fun () -> Lwt_main.run (f ()))) [ 1; 2; 3 ]

(* A case that starts and stops the loop itself. *)
let outside_lwt f () = List.iter (fun workers -> with_default workers f) [ 1; 2; 3 ]

let set flag = Atomic.set flag true
let flag () = Atomic.make false

let rec until what = if what () then Lwt.return_unit else Lwt_unix.sleep 0.001 >>= fun () -> until what

(* The task has ended when its promise is there. *)
let outcome_of promise = Lwt.catch (fun () -> promise >|= Result.ok) (fun exn -> Lwt.return_error exn)

let check_outcome name expected promise =
  outcome_of promise >|= fun result -> check_bool name true (result = expected)

(* {2 From the loop} *)

let elsewhere () =
  let loop = Domain.self () in
  let ticks = Atomic.make 0 in
  let rec tick promise =
    if Lwt.is_sleeping promise then begin
      Atomic.incr ticks;
      Lwt_unix.sleep 0.002 >>= fun () -> tick promise
    end
    else Lwt.return_unit
  in
  let sum =
    Muster_lwt.run (fun () ->
        if Domain.self () = loop then failf "on the loop's domain";
        (* The loop goes on. *)
        while Atomic.get ticks < 4 do Task.sleep 0.002 done;
        parallel_reduce ~start:1 ~finish:1000 ~combine:( + ) ~init:0 Fun.id)
  in
  tick sum >>= fun () ->
  check_outcome "sum" (Ok 500_500) sum >>= fun () ->
  check_outcome "exception" (Error Exit) (Muster_lwt.run (fun () -> raise Exit)) >>= fun () ->
  Lwt.all (List.init 100 (fun i -> Muster_lwt.run (fun () -> i))) >|= fun all ->
  check_equal "many" (List.init 100 Fun.id) all

let awaits () =
  let task = Task.async (fun () -> Task.sleep 0.01; 42) in
  Lwt.both (Muster_lwt.await task) (Muster_lwt.await task) >>= fun two ->
  check_equal "twice" (42, 42) two;
  check_outcome "ended" (Ok 42) (Muster_lwt.await task) >>= fun () ->
  let failing = Task.async (fun () -> raise Not_found) in
  check_outcome "exception" (Error Not_found) (Muster_lwt.await failing) >>= fun () ->
  let promise, resolver = Promise.create () in
  let awaited = Muster_lwt.await promise in
  Promise.resolve resolver 7;
  check_outcome "promise" (Ok 7) awaited

let each_side_cancels () =
  let began = flag () and told = flag () in
  let sleeps () =
    set began;
    try Task.sleep 60. with Task.Cancelled as exn -> set told; raise exn
  in
  let cancelled name promise =
    until (fun () -> Atomic.get began) >>= fun () ->
    Lwt.cancel promise;
    check_bool name true (Lwt.state promise = Lwt.Fail Lwt.Canceled);
    until (fun () -> Atomic.get told) >|= fun () ->
    Atomic.set began false;
    Atomic.set told false
  in
  cancelled "run" (Muster_lwt.run sleeps) >>= fun () ->
  cancelled "await" (Muster_lwt.await (Task.async sleeps)) >>= fun () ->
  let task = Task.async sleeps in
  let promise = Muster_lwt.await task in
  until (fun () -> Atomic.get began) >>= fun () ->
  Task.cancel task;
  check_outcome "the task" (Error Lwt.Canceled) promise >>= fun () ->
  (* It lost a race of Lwt's. *)
  Atomic.set began false;
  Atomic.set told false;
  let quick = Lwt_unix.sleep 0.01 >|= fun () -> 1 in
  let slow = Muster_lwt.run (fun () -> sleeps (); 2) in
  Lwt.pick [ quick; slow ] >>= fun first ->
  check_int "first" 1 first;
  (* Unless it had not begun: then it never does. *)
  until (fun () -> Atomic.get told || not (Atomic.get began))

(* {2 To the loop} *)

let on_its_thread () =
  let mine = Thread.id (Thread.self ()) and domain = Domain.self () in
  let here v () =
    check_int "thread" mine (Thread.id (Thread.self ()));
    check_bool "domain" true (Domain.self () = domain);
    Lwt_unix.sleep 0.001 >|= fun () -> v
  in
  let promise, resolver = Lwt.wait () in
  Muster_lwt.run (fun () ->
      let on_loop = Muster_lwt.on_loop in
      check_int "value" 42 (on_loop (here 42));
      check_int "at once" 42 (on_loop (fun () -> Lwt.return 42));
      check_raises "raised" Exit (fun () -> on_loop (fun () -> raise Exit));
      check_raises "rejected" Exit (fun () -> on_loop (fun () -> Lwt.fail Exit));
      check_raises "cancelled" Lwt.Canceled (fun () ->
          on_loop (fun () ->
              let p, _ = Lwt.task () in
              Lwt.cancel p;
              p));
      parallel_for ~start:1 ~finish:20 (fun i -> check_int "loop" i (on_loop (here i)));
      let waits () = on_loop (fun () -> promise)
      and ends () =
        on_loop (fun () ->
            Lwt.wakeup_later resolver 7;
            Lwt.return 8)
      in
      check_equal "beside each other" [ 7; 8 ] (Task.all [ waits; ends ]);
      check_int "in a thread" 42 (Task.blocking (fun () -> on_loop (here 42))))

(* Its first part sees the task's values, and is a part of its job. *)
let part_of_its_caller () =
  let l = Task.local 0 in
  let seen () = Muster_lwt.on_loop (fun () -> Lwt.return (Task.get_local l)) in
  Task.with_local l 1 (fun () -> Muster_lwt.run seen) >>= fun value ->
  check_int "value" 1 value;
  let t = Workers.create ~workers:1 ignore in
  let submits () = Muster_lwt.run (fun () -> Workers.submit t (fun () -> 42)) in
  Muster_lwt.await (Workers.post t (fun () -> Muster_lwt.on_loop submits)) >>= fun value ->
  check_int "job" 42 value;
  check_int "nothing is left" 0 (Task.get_local l);
  Muster_lwt.run (fun () -> Workers.drain t)

let cancelled_with_its_task () =
  let began = flag () and told = flag () in
  let sleeps () =
    set began;
    Lwt.catch
      (fun () -> Lwt_unix.sleep 60.)
      (function Lwt.Canceled -> set told; Lwt.return_unit | exn -> Lwt.fail exn)
  in
  let task = Task.async (fun () -> Muster_lwt.on_loop sleeps) in
  until (fun () -> Atomic.get began) >>= fun () ->
  Task.cancel task;
  check_outcome "task" (Error Lwt.Canceled) (Muster_lwt.await task) >>= fun () ->
  until (fun () -> Atomic.get told) >>= fun () ->
  (* Through both. *)
  Atomic.set told false;
  Atomic.set began false;
  let promise = Muster_lwt.run (fun () -> Muster_lwt.on_loop sleeps) in
  until (fun () -> Atomic.get began) >>= fun () ->
  Lwt.cancel promise;
  until (fun () -> Atomic.get told)

(* Each call is answered. *)
let cancels_at_random () =
  let rec one i =
    if i > 200 then Lwt.return_unit
    else begin
      let rec pauses n = if n = 0 then Lwt.return i else Lwt.pause () >>= fun () -> pauses (n - 1) in
      let task = Task.async (fun () -> Muster_lwt.on_loop (fun () -> pauses (i mod 7))) in
      pauses (i mod 5) >>= fun _ ->
      Task.cancel task;
      outcome_of (Muster_lwt.await task) >>= fun result ->
      check_bool "answer" true (result = Ok i || result = Error Lwt.Canceled);
      one (i + 1)
    end
  in
  one 1

(* {2 Ctrl-C} *)

(* It strikes work that was cancelled, on either side. *)
let struck_when_cancelled () =
  let check name cancelled = check_raises name Sys.Break (fun () -> Lwt_main.run (cancelled ())) in
  let never () = fst (Lwt.wait ()) in
  let told_late work () =
    let began = flag () in
    let promise = Muster_lwt.run (fun () -> work (fun () -> set began)) in
    until (fun () -> Atomic.get began) >>= fun () ->
    Lwt.cancel promise;
    never ()
  in
  check "in the pool"
    (told_late (fun begin_ ->
         begin_ ();
         try Task.sleep 60. with Task.Cancelled -> raise Sys.Break));
  let waits begin_ () =
    begin_ ();
    Lwt.catch (fun () -> fst (Lwt.task ())) (fun _ -> Lwt.fail Sys.Break)
  in
  check "in the loop" (told_late (fun begin_ -> Muster_lwt.on_loop (waits begin_)));
  check_int "it goes on" 42 (Lwt_main.run (Muster_lwt.run (fun () -> 42)))

(* {2 A loop that is stopped} *)

(* What ends, or asks, while no loop runs comes to the next one. *)
let nothing_is_lost () =
  let gate = Latch.create 1 in
  let promises =
    Lwt_main.run
      (Lwt.return (List.init 20 (fun i -> Muster_lwt.run (fun () -> Latch.await gate; i))))
  in
  Latch.count_down gate;
  let asked = List.init 20 (fun i -> Task.async (fun () -> Muster_lwt.on_loop (fun () -> Lwt.return i))) in
  let awaited = List.map Muster_lwt.await asked in
  Unix.sleepf 0.02;
  check_bool "none has an answer" true (List.for_all Lwt.is_sleeping (promises @ awaited));
  (* A loop that is stopped once more, in the midst. *)
  Lwt_main.run (Lwt.pause ());
  let numbers = List.init 20 Fun.id in
  check_equal "results" numbers (Lwt_main.run (Lwt.all promises));
  check_equal "requests" numbers (Lwt_main.run (Lwt.all awaited))

let withdrawn_while_stopped () =
  let ran = flag () and began = flag () in
  let task =
    Task.async (fun () ->
        set began;
        Muster_lwt.on_loop (fun () -> set ran; Lwt.return_unit))
  in
  while not (Atomic.get began) do Unix.sleepf 0.001 done;
  Unix.sleepf 0.01;
  Task.cancel task;
  check_raises "at once" Task.Cancelled (fun () -> Task.await task);
  Lwt_main.run (Lwt_unix.sleep 0.01);
  check_bool "never begins" false (Atomic.get ran)

let () =
  Alcotest.run "muster-lwt"
    [
      ( "from the loop",
        [
          case "run computes in the pool" (in_lwt elsewhere);
          case "await" (in_lwt awaits);
          case "each side cancels the other" (in_lwt each_side_cancels);
        ] );
      ( "to the loop",
        [
          case "on_loop runs in the loop's thread" (in_lwt on_its_thread);
          case "on_loop is a part of its caller" (in_lwt part_of_its_caller);
          case "a cancelled task cancels the promise" (in_lwt cancelled_with_its_task);
          case "cancels at random" (in_lwt cancels_at_random);
        ] );
      ("Ctrl-C", [ case "in work that was cancelled" (outside_lwt struck_when_cancelled) ]);
      ( "a stopped loop",
        [
          case "loses nothing" (outside_lwt nothing_is_lost);
          case "a request is withdrawn" (outside_lwt withdrawn_while_stopped);
        ] );
    ]
