(* Promises that somebody else resolves, the first of several, and looks at results. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List
module Array = Stdlib.Array

(* {2 Promises} *)

let resolved_before () =
  let p, r = Promise.create () in
  check_bool "not yet" false (Task.is_done p);
  Promise.resolve r 42;
  check_bool "done" true (Task.is_done p);
  check_int "await" 42 (Task.await p);
  check_int "again" 42 (Task.await p)

(* By a domain, by a thread, and by a task. *)
let resolved_later () =
  let by start =
    let p, r = Promise.create () in
    let finish =
      start (fun () ->
          Unix.sleepf 0.002;
          Promise.resolve r 7)
    in
    check_int "await" 7 (Task.await p);
    finish ()
  in
  by (fun f ->
      let d = Domain.spawn f in
      fun () -> Domain.join d);
  by (fun f ->
      let t = Thread.create f () in
      fun () -> Task.blocking (fun () -> Thread.join t));
  by (fun f ->
      let t = Task.async f in
      fun () -> Task.await t)

let many_wait domains () =
  in_pool domains (fun () ->
      let p, r = Promise.create () in
      let tasks = List.init 100 (fun i -> Task.async (fun () -> Task.await p + i)) in
      let outside = Domain.spawn (fun () -> Task.await p) in
      let waiting = Task.async (fun () -> Task.sleep 0.002) in
      Task.await waiting;
      Promise.resolve r 1000;
      List.iteri (fun i t -> check_int "one of many" (1000 + i) (Task.await t)) tasks;
      check_int "outside" 1000 (Domain.join outside))

let below_c () =
  let p, r = Promise.create () in
  let t = Task.async (fun () -> Promise.resolve r 3) in
  check_int "below C" 3 (call_through_c (fun () -> Task.await p));
  Task.await t

exception Failed_here

let failure () =
  let p, r = Promise.create () in
  Promise.fail r (Failed 1);
  check_raises "await" (Failed 1) (fun () -> Task.await p);
  check_raises "again" (Failed 1) (fun () -> Task.await p)

let origin_line = __LINE__ + 1
let[@inline never] raise_it () = raise Failed_here

let backtrace_of_origin () =
  let p, r = Promise.create () in
  (try raise_it ()
   with exn -> Promise.fail ~backtrace:(Printexc.get_raw_backtrace ()) r exn);
  check_raises_with_origin ~file:"test_promise.ml" ~line:origin_line "origin" (fun () ->
      Task.await p)

let backtrace_of_call () =
  let p, r = Promise.create () in
  let line = __LINE__ + 1 in
  Promise.fail r Failed_here;
  check_raises_with_origin ~file:"test_promise.ml" ~line "the call" (fun () -> Task.await p)

let only_once () =
  let refused fn f =
    check_invalid ~mentions:[ "Muster.Promise." ^ fn; "already" ] fn (fun () -> f ())
  in
  let _, r = Promise.create () in
  Promise.resolve r 1;
  refused "resolve" (fun () -> Promise.resolve r 2);
  refused "fail" (fun () -> Promise.fail r Exit);
  check_bool "try_resolve" false (Promise.try_resolve r 2);
  check_bool "try_fail" false (Promise.try_fail r Exit);
  let p, r = Promise.create () in
  check_bool "first" true (Promise.try_fail r Exit);
  refused "resolve" (fun () -> Promise.resolve r 2);
  check_raises "kept" Exit (fun () -> Task.await p)

(* Of several at once one succeeds, and the value is its. *)
let races () =
  for _ = 1 to 200 do
    let p, r = Promise.create () and go = Atomic.make false in
    let try_it i =
      Domain.spawn (fun () ->
          while not (Atomic.get go) do
            Domain.cpu_relax ()
          done;
          Promise.try_resolve r i)
    in
    let domains = List.init 2 try_it in
    Atomic.set go true;
    let won = List.map Domain.join domains in
    check_int "winners" 1 (List.length (List.filter Fun.id won));
    check_bool "the winner's" true (List.nth won (Task.await p))
  done

let cancelled () =
  let p, r = Promise.create () in
  let t = Task.async (fun () -> is_cancelled (fun () -> Task.await p)) in
  Task.cancel p;
  check_bool "a task that waits" true (Task.await t);
  check_cancelled "await" (fun () -> Task.await p);
  Promise.resolve r 1;
  Promise.fail r Exit;
  check_bool "nobody" false (Promise.try_resolve r 1);
  check_cancelled "still" (fun () -> Task.await p)

(* A task that waits for a promise is told, and the promise goes on. *)
let awaiter_is_cancelled () =
  in_pool 2 (fun () ->
      let p, r = Promise.create () and began = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            Task.await p)
      in
      look_until began;
      Task.cancel t;
      check_cancelled "the awaiter" (fun () -> Task.await t);
      Promise.resolve r 5;
      check_int "the promise" 5 (Task.await p))

let heard = Atomic.make []

let with_reports f =
  Atomic.set heard [];
  Task.set_uncaught_handler (fun exn _ ->
      let rec add () =
        let old = Atomic.get heard in
        if not (Atomic.compare_and_set heard old (exn :: old)) then add ()
      in
      add ());
  f ();
  Gc.full_major ();
  Gc.full_major ();
  in_pool 1 (fun () -> Task.sleep 0.01);
  Atomic.get heard

let reports what expected f =
  let got = List.length (with_reports f) in
  check_int what expected got

let[@inline never] fail_unheard () =
  let _, r = Promise.create () in
  Promise.fail r (Failed 3)

let unheard () =
  reports "nobody awaits" 1 fail_unheard;
  reports "awaited" 0 (fun () ->
      let p, r = Promise.create () in
      Promise.fail r (Failed 4);
      check_raises "await" (Failed 4) (fun () -> Task.await p));
  reports "looked at" 0 (fun () ->
      let p, r = Promise.create () in
      Promise.fail r (Failed 4);
      check_bool "peek" true (Task.peek p = Some (Error (Failed 4))))

(* {2 Looks} *)

let looks () =
  in_pool 2 (fun () ->
      let go = Latch.create 1 in
      let t =
        Task.async (fun () ->
            Latch.await go;
            6)
      in
      check_bool "not done" false (Task.is_done t);
      check_bool "no result" true (Task.peek t = None);
      Latch.count_down go;
      ignore (Task.await t);
      check_bool "done" true (Task.is_done t);
      check_bool "result" true (Task.peek t = Some (Ok 6));
      let t = Task.async (fun () -> raise (Failed 2)) in
      ignore (outcome (fun () -> Task.await t));
      check_bool "failure" true (Task.peek t = Some (Error (Failed 2)));
      let t = Task.async (fun () -> Latch.await (Latch.create 1)) in
      Task.cancel t;
      ignore (outcome (fun () -> Task.await t));
      check_bool "cancelled" true (Task.peek t = Some (Error Task.Cancelled)))

(* {2 The first of several} *)

let value v () = v

let first_to_return () =
  let p, _ = Promise.create () in
  let quick = Task.async (value 1) in
  check_int "not the one that nobody resolves" 1 (Task.any [ p; quick ]);
  let q, r = Promise.create () in
  Promise.resolve r 2;
  check_int "the leftmost of those" 2 (Task.any [ q; quick ]);
  check_int "the other way round" 1 (Task.any [ quick; q ]);
  check_bool "goes on" false (Task.is_done p)

let fails i () = raise (Failed i)

let passes_over_failures () =
  let p, r = Promise.create () in
  let failing = List.init 5 (fun i -> Task.async (fails i)) in
  let last =
    Task.async (fun () ->
        Task.sleep 0.003;
        Promise.resolve r 8)
  in
  check_int "the one that returns" 8 (Task.any (failing @ [ p ]));
  Task.await last

let all_fail () =
  let p, r = Promise.create () in
  let quick = Task.async (fails 2) in
  let last =
    Task.async (fun () ->
        Task.sleep 0.003;
        Promise.fail r (Failed 1))
  in
  check_raises "the leftmost" (Failed 1) (fun () -> Task.any [ p; quick ]);
  Task.await last;
  check_raises "all done" (Failed 2) (fun () -> Task.any [ quick; p ])

(* One worker begins tasks that nobody has begun. *)
let begins_them domains () =
  in_pool domains (fun () ->
      let never = Latch.create 1 in
      let waits () =
        Latch.await never;
        0
      in
      let tasks = List.init 10 (fun i -> Task.async (if i = 5 then value 5 else waits)) in
      check_int "any" 5 (Task.any tasks);
      check_bool "the others wait" false (Task.is_done (List.hd tasks));
      Latch.count_down never;
      check_int "and go on" 0 (Task.await (List.hd tasks)))

let from_outside () =
  let started = Task.async (value 1) and p, _ = Promise.create () in
  check_int "a task of the default pool" 1 (Task.any [ p; started ]);
  with_domains 1 (fun pool ->
      let t = Pool.run pool (fun () -> Task.async (value 2)) in
      check_int "of a pool of one" 2 (Task.any [ p; t ]))

let no_arguments () =
  check_invalid ~mentions:[ "Muster.Task.any"; "empty" ] "any []" (fun () -> Task.any [])

let itself () =
  in_pool 2 (fun () ->
      let p, r = Promise.create () in
      let t =
        Task.async (fun () ->
            let me = Task.await p in
            let q, _ = Promise.create () in
            check_invalid ~mentions:[ "Muster.Task.any" ] "itself" (fun () ->
                Task.any [ q; me ]))
      in
      Promise.resolve r t;
      Task.await t)

let any_is_cancelled domains () =
  in_pool domains (fun () ->
      let p, r = Promise.create () and q, s = Promise.create () in
      let t = Task.async (fun () -> Task.any [ p; q ]) in
      let pause = Task.async (fun () -> Task.sleep 0.002) in
      Task.await pause;
      Task.cancel t;
      check_cancelled "any" (fun () -> Task.await t);
      Promise.resolve r 1;
      Promise.resolve s 2;
      check_int "goes on" 3 (Task.await p + Task.await q))

let any_in_time () =
  in_pool 1 (fun () ->
      let p, _ = Promise.create () in
      check_raises "deadline" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.005 (fun () -> Task.any [ p ])))

let any_hears () =
  reports "passed over" 0 (fun () ->
      in_pool 2 (fun () ->
          let bad = Task.async (fails 1) in
          ignore (outcome (fun () -> Task.await (Task.async ignore)));
          let good =
            Task.async (fun () ->
                Task.sleep 0.005;
                1)
          in
          check_int "any" 1 (Task.any [ bad; good ])));
  reports "late" 1 (fun () ->
      in_pool 2 (fun () ->
          let go = Latch.create 1 in
          let bad =
            Task.async (fun () ->
                Latch.await go;
                raise (Failed 1))
          in
          check_int "any" 1 (Task.any [ bad; Task.async (value 1) ]);
          Latch.count_down go))

(* Many that fail at the same time as one returns. *)
let any_races () =
  in_pool 3 (fun () ->
      for round = 1 to 300 do
        let tasks =
          List.init 6 (fun i -> Task.async (if i = round mod 6 then value i else fails i))
        in
        check_int "any" (round mod 6) (Task.any tasks);
        let failing = List.init 4 (fun i -> Task.async (fails i)) in
        check_raises "all fail" (Failed 0) (fun () -> Task.any failing)
      done)

let () =
  let on name f domains = case (Printf.sprintf "%s, %d domains" name domains) (f domains) in
  Alcotest.run "promises"
    [
      ( "promises",
        [
          case "resolved before the await" (everywhere resolved_before);
          case "resolved later" (everywhere resolved_later);
          on "many wait" many_wait 1;
          on "many wait" many_wait 3;
          case "awaited below C" (fun () -> in_pool 2 below_c);
          case "fail" (everywhere failure);
          case "the backtrace of the origin" (everywhere backtrace_of_origin);
          case "the backtrace of the call" (everywhere backtrace_of_call);
          case "only once" only_once;
          case "one of several succeeds" races;
          case "cancelled" (everywhere cancelled);
          case "an awaiter that is cancelled" awaiter_is_cancelled;
          case "a failure that nobody awaits" unheard;
        ] );
      ("looks", [ case "is_done and peek" looks ]);
      ( "any",
        [
          case "the first to return" (everywhere first_to_return);
          case "failures are passed over" (everywhere passes_over_failures);
          case "all fail" (everywhere all_fail);
          on "tasks that nobody has begun" begins_them 1;
          on "tasks that nobody has begun" begins_them 3;
          case "from outside" from_outside;
          case "of none" no_arguments;
          case "of itself" itself;
          on "cancelled" any_is_cancelled 1;
          on "cancelled" any_is_cancelled 2;
          case "with a deadline" any_in_time;
          case "failures that it hears of" any_hears;
          case "at the same time" any_races;
        ] );
    ]
