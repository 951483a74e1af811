(* Residents that leave and are hired, while work comes: none is lost on one who leaves, and none
   waits for one who never comes. *)

open Slot
open Place

type t = { pool : pool; runs : int array; mutable left : bool; mutable refused : bool }

(* [leavers]: whether there is a resident, which leaves. *)
let make ?(tasks = 1) ~hire ~residents () =
  let pool = World.pool 2 ~residents ~hire ~calls:false in
  { pool; runs = Array.make tasks 0; left = false; refused = false }

(* [ends]: the worker that runs it does nothing more, which saves many orders. *)
let task ?(ends = true) t i =
  let f () =
    t.runs.(i) <- t.runs.(i) + 1;
    if ends && Array.for_all (( = ) 1) t.runs then Atomic.block (fun () -> false)
  in
  Promise.(any (make t.pool.home f))

(* {2 Parties} *)

let sends t i () = Publish.send t.pool (task t i)

(* It has slept for long in vain, and is about to take its leave. *)
let leaves t =
  World.at t.pool 1 (fun w ->
      w.own.bored <- true;
      Resident.take_leave w;
      t.left <- true)

let stays t =
  World.at t.pool 1 (fun w ->
      Resident.serve_pool w;
      Resident.take_leave w)

(* The same, asleep when the others begin. *)
let sleeps t =
  Parking.announce t.pool.parking 1;
  World.at t.pool 1 (fun w ->
      ignore (Parking.doze t.pool.parking 1 ~limit_ms:(-1));
      Parking.cancel t.pool.parking 1;
      Resident.serve_pool w;
      Resident.take_leave w)

(* A caller that offers a task and goes, having seen that there is a resident. *)
let offers_and_leaves t =
  World.at t.pool 0 (fun w ->
      Publish.offer w ~wake:false (task t 0);
      Caller.leave { w; outer = None; shown = nobody; fiber = w.own.idle })

let no_visitor t = Atomic.set (workers t.pool).(0).owner 0

(* {2 Models} *)

let faults t =
  let w = (workers t.pool).(1) in
  let is_there = Atomic.get w.owner <> 0 in
  [
    ("a task did not run once", Array.exists (( <> ) 1) t.runs);
    ("the count of residents is off", Atomic.get t.pool.residents <> Bool.to_int is_there);
    ("a resident's place is open without one", (not is_there) && not (Mailbox.is_gone w.mailbox));
  ]

(* [domains] that may be hired, after the other processes. *)
let model ?(tasks = 1) ?(faults = faults) ?(hire = Resident.hire_one) ~residents ~domains name
    parties =
  let start () =
    let t = make ~tasks ~hire ~residents () in
    let parties = parties t in
    Domain.prepare ~first:(List.length parties) domains;
    let verdict () = Model.faults (faults t) in
    Model.{ processes = parties @ List.init domains Domain.process; verdict }
  in
  Model.make ("staff: " ^ name) start

let sent_to_one_who_leaves =
  model ~residents:1 ~domains:1 "a task is sent while the last resident leaves" (fun t ->
      no_visitor t;
      [ sends t 0; leaves t ])

(* The caller computes, and waits for the task in a way that the pool does not see. *)
let sent_beside_a_caller =
  model ~residents:1 ~domains:1 "a task is sent while the last resident leaves a caller behind"
    (fun t -> [ sends t 0; leaves t ])

(* So it does, and its task lies in its deque. *)
let offered_beside_a_caller =
  model ~residents:1 ~domains:1 "a task is offered while the last resident leaves a caller behind"
    (fun t ->
      Atomic.set t.pool.promised 1;
      [ World.at t.pool 0 (fun w -> Publish.offer w ~wake:true (task t 0)); leaves t ])

let sent_to_nobody =
  model ~residents:0 ~domains:1 "a task is sent to nobody" (fun t ->
      no_visitor t;
      [ sends t 0 ])

let two_sent_to_nobody =
  model ~residents:0 ~domains:2 ~tasks:2 "two tasks are sent to nobody" (fun t ->
      no_visitor t;
      [ sends t 0; sends t 1 ])

let all_leave =
  model ~residents:1 ~domains:1 "caller and resident leave, a task is left" (fun t ->
      [ offers_and_leaves t; leaves t ])

(* A broadcast needs the resident that leaves, or the next one. *)
let broadcast ~residents =
  let call = ref None in
  let faults _ = Model_region.faults (Option.get !call) in
  let name = if residents = 0 then "has left" else "leaves" in
  model ~residents ~domains:1 ~tasks:0 ~faults ("a broadcast, the resident " ^ name) (fun t ->
      let c = Model_region.call ~revoke:false 2 in
      call := Some c;
      let caller = World.at t.pool 0 (Model_region.perform c) in
      if residents = 0 then [ caller ] else [ caller; leaves t ])

(* {2 Closing} *)

let closes t () =
  Pool.close t.pool;
  t.left <- true

let sends_or_is_refused t () =
  try if not (Caller.send t.pool (task ~ends:false t 0)) then Caller.refuse "Task.async" t.pool ()
  with Invalid_argument _ -> t.refused <- true

let is_left t = ("a resident is left", Atomic.get t.pool.residents <> 0)

let closing =
  let faults t = [ is_left t; ("the pool does not close", not t.left) ] in
  model ~residents:1 ~domains:0 ~tasks:0 ~faults "a pool is closed" (fun t ->
      no_visitor t;
      [ closes t; sleeps t ])

let neither t = ("neither refused nor run", t.runs.(0) <> if t.refused then 0 else 1)

(* Too late: the resident still has to leave. *)
let refusing =
  let faults t = [ is_left t; neither t; ("not refused", not t.refused) ] in
  model ~residents:1 ~domains:0 ~faults "a task is sent to a closed pool" (fun t ->
      no_visitor t;
      Atomic.set t.pool.closing true;
      [ sends_or_is_refused t; stays t ])

(* Where no resident can be had, who closes does what is left. *)
let closing_alone =
  let faults t = [ neither t; ("the pool does not close", not t.left) ] in
  model ~residents:0 ~domains:0 ~hire:ignore ~faults
    "a task is sent while a pool of nobody is closed" (fun t ->
      no_visitor t;
      [ closes t; sends_or_is_refused t ])

(* It waits for what the hired one does, and for it to leave. *)
let handler_of_who_hires =
  let faults t = [ is_left t; ("a task did not run once", t.runs.(0) <> 1) ] in
  model ~residents:0 ~domains:1 ~faults "a handler in the hiring worker waits for the hired one" (fun t ->
      no_visitor t;
      Atomic.set t.pool.closing true;
      let has_left () = Atomic.get t.pool.residents = 0 in
      (Machine.spawned := fun () -> if not (has_left ()) then Atomic.block has_left);
      [ (fun () -> Publish.send t.pool (task ~ends:false t 0)) ])

let quick =
  [
    handler_of_who_hires;
    sent_to_nobody;
    sent_to_one_who_leaves;
    sent_beside_a_caller;
    offered_beside_a_caller;
    all_leave;
    closing;
    refusing;
    closing_alone;
  ]

let slow = [ broadcast ~residents:0; two_sent_to_nobody ]
