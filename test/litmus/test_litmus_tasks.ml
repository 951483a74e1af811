(* Tasks that are cancelled, scopes, deadlines, calls that block, pools by their names: what each of
   the statements about order says is visible. As in test_litmus.ml, the accesses in question are
   plain. *)

module Chan = Muster.Chan
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team
open Rounds

let data = ref 0
and given = ref 0

(* {2 Cancellation} *)

(* They yield, since who cancels may have to run on the same CPU. *)
let until_cancelled = function
  | `Checks ->
    relax_until (fun () ->
        Task.check ();
        false)
  | `Waits -> Chan.recv (Chan.bounded 0)
  | `Forks ->
    relax_until (fun () ->
        ignore (Muster.both ignore ignore);
        false)

(* What was done before the cancel is seen by who is cancelled; what that one did then, by who
   awaits it. *)
let cancel how =
  let result = ref 0 in
  in_task 2 300 (fun round ->
      let body () =
        match until_cancelled how with
        | () -> ()
        | exception Task.Cancelled ->
          result := !given;
          raise Task.Cancelled
      in
      let begun = Atomic.make false in
      let task =
        Task.async (fun () ->
            Atomic.set begun true;
            body ())
      in
      relax_until (fun () -> Atomic.get begun);
      loiter round;
      given := round;
      Task.cancel task;
      match Task.await task with
      | () -> check "no value" false
      | exception Task.Cancelled -> check "awaited, so done" (!result = round))

let never_begun =
  in_task 1 10_000 (fun round ->
      given := round;
      let task = Task.async (fun () -> given := -1) in
      Task.cancel task;
      (try Task.await task with Task.Cancelled -> ());
      check "never begun" (!given = round))

(* Another domain cancels, perhaps before the task has begun. *)
let cancel_from_outside pool =
  let shown = Atomic.make None and begun = ref false and result = ref 0 in
  let before _ =
    Atomic.set shown None;
    begun := false
  in
  let body () =
    begun := true;
    try until_cancelled `Checks with Task.Cancelled -> result := !given
  in
  let await round =
    let task = Pool.run pool (fun () -> Task.async body) in
    Atomic.set shown (Some task);
    match Task.await task with
    | () -> check "no value" false
    | exception Task.Cancelled -> check "awaited, so done" ((not !begun) || !result = round)
  in
  let cancel round =
    relax_until (fun () -> Atomic.get shown <> None);
    given := round;
    Task.cancel (Option.get (Atomic.get shown))
  in
  race 300 ~before [ await; cancel ]

(* The hook sees what was done before it was set up, and before the cancel. *)
let hook until_it =
  let mine = ref 0 and seen = ref (-1, -1) in
  in_task 2 1_000 (fun round ->
      let body () =
        mine := round;
        until_it (fun () -> seen := (!mine, !given)) (fun () -> until_cancelled `Checks)
      in
      let task = Task.async body in
      loiter round;
      given := round;
      seen := (-1, -1);
      Task.cancel task;
      (* On this thread, or, if the task came to it later, on the task's. *)
      (try Task.await task with Task.Cancelled -> ());
      check "called, so written" (!seen = (-1, -1) || !seen = (round, round)))

(* {2 Scopes} *)

let cells = Array.make 4 0
let all_are round = Array.for_all (fun cell -> cell = round) cells

let write round i () =
  loiter (round + i);
  cells.(i) <- !given

let scope =
  in_task 3 2_000 (fun round ->
      given := round;
      Task.scope (fun scope ->
          for i = 0 to 3 do
            ignore (Task.fork scope (write round i))
          done);
      check "ended, so written" (all_are round))

exception Failed of int ref

let scope_raises =
  in_task 3 1_000 (fun round ->
      given := round;
      let body scope =
        for i = 0 to 3 do
          ignore (Task.fork scope (fun () -> try Task.check () with Task.Cancelled -> ()));
          cells.(i) <- round
        done;
        ignore
          (Task.fork scope (fun () ->
               data := round;
               raise (Failed (ref round))));
        Task.await (Task.fork scope (fun () -> until_cancelled `Waits))
      in
      match Task.scope body with
      | () -> check "raises" false
      | exception Failed content ->
        check "raised, so written" (!content = round && !data = round && all_are round))

let cancel_scope =
  let result = ref 0 in
  in_task 2 300 (fun round ->
      let begun = Atomic.make false in
      let body () =
        Atomic.set begun true;
        try until_cancelled `Checks with Task.Cancelled -> result := !given
      in
      let run scope =
        ignore (Task.fork scope body);
        relax_until (fun () -> Atomic.get begun);
        given := round;
        Task.cancel_scope scope
      in
      match Task.scope run with
      | () -> check "raises" false
      | exception Task.Cancelled -> check "raised, so done" (!result = round))

(* Many pass at the same time, as each takes its time. The branches may not have begun. *)
let deadline =
  let group = 32 in
  let cells = Array.make group 0 and branches = Array.make (2 * group) 0 in
  in_task 2 800 ~group (fun round ->
      let one k () =
        let branch i () =
          branches.((2 * k) + i) <- round;
          until_cancelled `Waits
        in
        let body () =
          cells.(k) <- round;
          ignore (Muster.both (branch 0) (branch 1))
        in
        match Task.with_deadline 0.002 body with
        | () -> check "raises" false
        | exception Task.Deadline_exceeded ->
          let seen i = branches.((2 * k) + i) <= round in
          check "raised, so written" (cells.(k) = round && seen 0 && seen 1)
      in
      ignore (Task.all (List.init group one)))

let in_time =
  in_task 2 2_000 (fun round ->
      given := round;
      let pair i () = ignore (Muster.both (write round i) (write round (i + 1))) in
      Task.with_deadline 10. (fun () -> ignore (Muster.both (pair 0) (pair 2)));
      check "returned, so written" (all_are round))

(* {2 Promises, looks, the first of several} *)

(* Another domain resolves; who awaits, or looks until it is done, sees what it did. *)
let resolved how pool =
  let shown = Atomic.make None in
  let before _ = Atomic.set shown None in
  let resolve round =
    relax_until (fun () -> Atomic.get shown <> None);
    loiter round;
    data := round;
    let resolver = Option.get (Atomic.get shown) in
    match how with
    | `Fails -> Muster.Promise.fail resolver Exit
    | `Await | `Any | `Is_done | `Peek -> Muster.Promise.resolve resolver round
  in
  let await round =
    let promise, resolver = Muster.Promise.create () in
    Atomic.set shown (Some resolver);
    (match how with
    | `Await -> check "the value" (Pool.run pool (fun () -> Task.await promise) = round)
    | `Any ->
      let never, _ = Muster.Promise.create () in
      check "the value" (Pool.run pool (fun () -> Task.any [ never; promise ]) = round)
    | `Is_done -> relax_until (fun () -> Task.is_done promise)
    | `Peek -> relax_until (fun () -> Task.peek promise = Some (Ok round))
    | `Fails -> (
      match Pool.run pool (fun () -> Task.await promise) with
      | _ -> check "raises" false
      | exception Exit -> ()));
    check "resolved, so written" (!data = round)
  in
  race 2_000 ~before [ await; resolve ]
(* {2 At most so many at once} *)

let map_bounded =
  in_task 3 2_000 (fun round ->
      given := round;
      ignore (Task.map ~max:2 (fun i -> write round i ()) [ 0; 1; 2; 3 ]);
      check "returned, so written" (all_are round))

(* Each that has begun has ended, where one of them raises. *)
let map_raises =
  let begun = Array.make 4 (-1) in
  in_task 3 2_000 (fun round ->
      given := round;
      let call i =
        begun.(i) <- round;
        write round i ();
        if i = 1 then raise Exit
      in
      match Task.map ~max:2 call [ 0; 1; 2; 3 ] with
      | _ -> check "raises" false
      | exception Exit ->
        for i = 0 to 3 do
          check "begun, so written" (begun.(i) <> round || cells.(i) = round)
        done)

(* An element's forcing sees that of the one before, and its call sees both. *)
let forced =
  let forced = Array.make 5 0 in
  in_task 3 2_000 (fun round ->
      let next i =
        check "after the one before" (i = 0 || forced.(i - 1) = round);
        forced.(i) <- round;
        if i = 4 then None else Some (i, i + 1)
      in
      let call i =
        loiter (round + i);
        check "forced, so written" (forced.(i) = round)
      in
      Task.iter_seq ~max:3 call (Seq.unfold next 0))

(* A result comes after its call. What was done before a result is asked for is seen by the forcing of
   the element that comes a window later. *)
let windowed =
  let called = Array.make 6 0 and seen = Array.make 6 0 in
  in_task 3 2_000 (fun round ->
      let next i =
        check "asked for, so written" (i < 3 || seen.(i - 3) = round);
        if i = 6 then None else Some (i, i + 1)
      in
      let call i =
        loiter (round + i);
        called.(i) <- round;
        i
      in
      let see i =
        check "called, so written" (called.(i) = round);
        seen.(i) <- round
      in
      Task.with_map ~window:2 call (Seq.unfold next 0) (Seq.iter see))

(* {2 Calls that block} *)

let blocking =
  in_task 2 500 (fun round ->
      given := round;
      Task.blocking (fun () -> data := !given);
      check "handed over, so given; returned, so done" (!data = round))

let blocking_raises =
  in_task 2 500 (fun round ->
      given := round;
      match
        Task.blocking (fun () ->
            data := !given;
            raise (Failed (ref round)))
      with
      | () -> check "raises" false
      | exception Failed content -> check "raised, so done" (!content = round && !data = round))

(* {2 Failures that nobody awaits} *)

(* Many in one pool: they are reported when it is closed. *)
let uncaught () =
  let group = 64 in
  let cells = Array.make group 0 and seen = Array.make group (-1) and expected = ref 0 in
  repeat 640 ~group (fun round ->
      expected := round;
      Task.set_uncaught_handler (fun exn _ ->
          match exn with
          | Failed k -> seen.(!k) <- (if !expected = round then cells.(!k) else -1)
          | _ -> check "its exception" false);
      let fail k () =
        cells.(k) <- round;
        raise (Failed (ref k))
      in
      Pool.with_ ~domains:2 ~oversubscribe:true (fun _ ->
          for k = 0 to group - 1 do
            ignore (Task.async (fail k))
          done);
      check "reported, so done" (Array.for_all (fun cell -> cell = round) seen))

(* {2 Pools} *)

let found () =
  let name = "litmus" and told = Atomic.make false in
  let make round =
    given := round;
    Pool.with_ ~name ~domains:1 (fun _ -> relax_until (fun () -> Atomic.get told))
  in
  let find round =
    relax_until (fun () -> Pool.find name <> None);
    let seen = !given in
    Atomic.set told true;
    check "found, so written" (seen = round)
  in
  race 200 ~before:(fun _ -> Atomic.set told false) [ make; find ]

(* {2 Regions} *)

let slices pool =
  let cells = Array.make 64 0 in
  repeat 5_000 (fun round ->
      given := round;
      Team.for_slices pool 64 (fun ~worker:_ ~start ~count -> Array.fill cells start count !given);
      check "begun, so given; returned, so done" (Array.for_all (fun c -> c = round) cells))

let dynamic pool =
  let cells = Array.make 64 0 in
  repeat 1_000 (fun round ->
      given := round;
      Team.for_n_dynamic pool 64 (fun ~worker:_ i ->
          pauses 8;
          cells.(i) <- !given);
      check "begun, so given; returned, so done" (Array.for_all (fun c -> c = round) cells))

let () =
  main
    [
      case "cancel: MP, a task that checks" (cancel `Checks);
      case "cancel: MP, a task that waits" (cancel `Waits);
      case "cancel: MP, a task that forks" (cancel `Forks);
      case "cancel: MP, from outside" (with_pool 2 cancel_from_outside);
      case "cancel: before it began" never_begun;
      case "on_cancel: MP" (hook (fun hook f -> Task.on_cancel hook; f ()));
      case "with_on_cancel: MP" (hook Task.with_on_cancel);
      case "scope: MP" scope;
      case "scope: MP, raises" scope_raises;
      case "scope: MP, cancel_scope" cancel_scope;
      case "deadline: MP, it passes" deadline;
      case "deadline: MP, in time" in_time;
      case "promise: MP, await" (with_pool 2 (resolved `Await));
      case "promise: MP, any" (with_pool 2 (resolved `Any));
      case "promise: MP, is_done" (with_pool 2 (resolved `Is_done));
      case "promise: MP, peek" (with_pool 2 (resolved `Peek));
      case "promise: MP, fail" (with_pool 2 (resolved `Fails));
      case "bounded: MP, map" map_bounded;
      case "bounded: MP, map, raises" map_raises;
      case "bounded: MP, iter_seq" forced;
      case "bounded: MP, with_map" windowed;
      case "blocking: MP" blocking;
      case "blocking: MP, raises" blocking_raises;
      case "uncaught: MP" uncaught;
      case "pool: MP, find" found;
      case "region: MP, for_slices" (with_pool 3 slices);
      case "region: MP, for_n_dynamic" (with_pool 3 dynamic);
    ]
