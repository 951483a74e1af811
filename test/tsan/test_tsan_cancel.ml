(* Cancellation, scopes and deadlines. What a cancelled task did before it
   stopped is read plainly after its end. *)

module Pool = Muster.Pool
module Task = Muster.Task
open Rounds

(* Until somebody cancels it. *)
let endless cell () =
  while true do
    incr cell;
    Task.check ();
    pauses 4
  done

(* Only a program's first cancellation tells all workers that there are such. *)
let the_first =
  in_task 2 1 (fun _ ->
      let cell = ref 0 and begun = Atomic.make false in
      let task =
        Task.async (fun () ->
            Atomic.set begun true;
            endless cell ())
      in
      relax_until (fun () -> Atomic.get begun);
      pauses 2_000;
      Task.cancel task;
      match Task.await task with
      | () -> check "no value" false
      | exception Task.Cancelled -> check "its cell" (!cell >= 0))

let cancel_while_it_runs =
  in_task 2 3_000 (fun round ->
      let cell = ref 0 in
      let task = Task.async (endless cell) in
      pauses (round land 127);
      Task.cancel task;
      match Task.await task with
      | () -> check "no value" false
      | exception Task.Cancelled -> check "its cell" (!cell >= 0))

(* Its waits use one entry for its stop. *)
let cancel_while_it_waits =
  in_task 2 3_000 (fun round ->
      let messages = Muster.Chan.unbounded () and waits = Atomic.make 0 in
      let task =
        Task.async (fun () ->
            while true do
              Atomic.incr waits;
              Muster.Chan.recv messages
            done)
      in
      for i = 1 to 3 do
        relax_until (fun () -> Atomic.get waits >= i);
        Muster.Chan.send messages ()
      done;
      pauses (round land 127);
      Task.cancel task;
      match Task.await task with
      | () -> check "no value" false
      | exception Task.Cancelled -> check "its waits" (Atomic.get waits >= 3))

(* By one domain, while a second awaits and a third looks on. *)
let cancel_from_outside pool =
  let shown = Atomic.make None and cell = ref 0 in
  let shown_task () =
    relax_until (fun () -> Atomic.get shown <> None);
    Option.get (Atomic.get shown)
  in
  let await task = try Task.await task with Task.Cancelled -> () in
  let make _ =
    let task = Pool.run pool (fun () -> Task.async (endless cell)) in
    Atomic.set shown (Some task);
    await task
  in
  let cancel round =
    let task = shown_task () in
    pauses (round land 127);
    Task.cancel task;
    await task
  in
  race 400
    ~before:(fun _ -> Atomic.set shown None)
    [ make; cancel; (fun _ -> await (shown_task ())) ]

(* Branches and loops are cancelled with their task, on other workers too. *)
let cancel_branches =
  in_task 3 500 (fun round ->
      let cells = Array.init 4 (fun _ -> ref 0) in
      let branch i () = endless cells.(i) () in
      let two i () = ignore (Muster.both (branch i) (branch (i + 1))) in
      let body () = ignore (Muster.both (two 0) (two 2)) in
      let task = Task.async body in
      pauses (round land 255);
      Task.cancel task;
      match Task.await task with
      | () -> check "no value" false
      | exception Task.Cancelled -> Array.iter (fun cell -> check "stopped" (!cell >= 0)) cells)

let cancel_loops =
  in_task 3 300 (fun round ->
      let cells = Array.make 4096 0 in
      let body i =
        pauses 8;
        cells.(i) <- 1
      in
      let loop () = Muster.parallel_for ~grain:1 ~start:0 ~finish:4095 body in
      let task = Task.async loop in
      pauses (round land 1023);
      Task.cancel task;
      match Task.await task with
      | () | (exception Task.Cancelled) -> check "cells" (Array.fold_left ( + ) 0 cells <= 4096))

let hooks =
  in_task 2 2_000 (fun round ->
      let called = ref 0 in
      let body () =
        Task.on_cancel (fun () -> incr called);
        endless (ref 0) ()
      in
      let task = Task.async body in
      pauses (round land 127);
      Task.cancel task;
      (try Task.await task with Task.Cancelled -> ());
      check "at most once" (!called <= 1))

(* {2 Scopes} *)

let scopes =
  in_task 3 1_500 (fun round ->
      let cells = Array.make 4 0 in
      let write i () =
        pauses i;
        cells.(i) <- round
      in
      Task.scope (fun scope -> Array.iteri (fun i _ -> ignore (Task.fork scope (write i))) cells);
      check "all tasks" (Array.for_all (fun cell -> cell = round) cells))

exception Failed of int ref

(* No more that compute than there may be CPUs: a time slice lasts some milliseconds. *)
let scope_fails =
  in_task 2 800 (fun round ->
      let cell = ref 0 in
      let body scope =
        ignore (Task.fork scope (endless cell));
        pauses (round land 127);
        raise (Failed (ref round))
      in
      match Task.scope body with
      | () -> check "raises" false
      | exception Failed content -> check "its content" (!content = round && !cell >= 0))

(* The first of two, in time, is raised; both have ended. *)
let scope_two_fail =
  in_task 2 1_000 (fun round ->
      let cells = [| 0; 0 |] in
      let fail i () =
        pauses 20;
        cells.(i) <- round;
        raise (Failed (ref i))
      in
      match
        Task.scope (fun scope ->
            for i = 0 to 1 do
              ignore (Task.fork scope (fail i))
            done)
      with
      | () -> check "raises" false
      | exception Failed content -> check "its content" (cells.(!content) = round))

let scope_used_by_several pool =
  let shown = Atomic.make None and cells = Array.make 3 0 in
  let own _ =
    Pool.run pool (fun () ->
        Task.scope (fun scope ->
            Atomic.set shown (Some scope);
            pauses 100));
    Atomic.set shown None
  in
  let fork i round =
    match Atomic.get shown with
    | None -> ()
    | Some scope -> (
      match Task.fork scope (fun () -> cells.(i) <- round) with
      | task -> Task.await task
      | exception Invalid_argument _ -> ())
  in
  race 500 [ own; fork 1; fork 2 ]

let deadlines =
  in_task 2 25 (fun _ ->
      let cell = ref 0 in
      match Task.with_deadline 0.002 (endless cell) with
      | () -> check "raises" false
      | exception Task.Deadline_exceeded -> check "ran" (!cell >= 0))

let deadlines_of_several pool =
  let caller i _ =
    let cell = ref 0 in
    let body () = if i = 0 then pauses 50 else endless cell () in
    match Pool.run pool (fun () -> Task.with_deadline 0.002 body) with
    | () | (exception Task.Deadline_exceeded) -> check "ran" (!cell >= 0)
  in
  race 15 (List.init 3 caller)

let () =
  main
    [
      case "stop: the first" the_first;
      case "cancel: while it runs" cancel_while_it_runs;
      case "cancel: while it waits again" cancel_while_it_waits;
      case "cancel: from outside, two await" (with_pool 2 cancel_from_outside);
      case "cancel: branches" cancel_branches;
      case "cancel: loops" cancel_loops;
      case "cancel: hooks" hooks;
      case "scope: its tasks have ended" scopes;
      case "scope: a failure stops the rest" scope_fails;
      case "scope: two fail" scope_two_fail;
      case "scope: forks from other domains" (with_pool 2 scope_used_by_several);
      case "deadline: it passes" deadlines;
      case "deadline: of several callers" (with_pool 2 deadlines_of_several);
    ]
