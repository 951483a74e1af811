(* Residents that leave and are hired, while work comes: none is lost on one who leaves, and none
   waits for one who never comes. *)

open Place

type t = { pool : pool; runs : int array; mutable left : bool; mutable refused : bool }

(* [leavers]: whether there is a resident, which leaves. *)
let make ?(tasks = 1) ~residents () =
  let pool = World.pool 2 ~residents ~hire:Pool.hire_one ~calls:false in
  { pool; runs = Array.make tasks 0; left = false; refused = false }

let task t i = Promise.(any (make t.pool.home (fun () -> t.runs.(i) <- t.runs.(i) + 1)))

(* {2 Parties} *)

let sends t i () = Place.send t.pool (task t i)

(* Slept for long in vain. Without the handler of its loop, it is about to take its leave. *)
let leaves t =
  World.at t.pool 1 (fun w ->
      w.own.bored <- true;
      Pool.serve_pool w;
      Pool.take_leave w;
      t.left <- true)

let stays t = World.at t.pool 1 (fun w -> Pool.serve_pool w; Pool.take_leave w; t.left <- true)

(* A caller that offers a task and goes. *)
let offers_and_leaves t =
  World.at t.pool 0 (fun w ->
      Atomic.set t.pool.guards 1;
      Place.offer w ~wake:true (task t 0);
      Visit.leave_after { w; outer = nobody } ())

let no_visitor t = Atomic.set t.pool.workers.(0).owner 0

(* {2 Models} *)

let faults t =
  let w = t.pool.workers.(1) in
  let is_there = Atomic.get w.owner <> 0 in
  [
    ("a task did not run once", Array.exists (( <> ) 1) t.runs);
    ("the count of residents is off", Atomic.get t.pool.residents <> Bool.to_int is_there);
    ("a resident's place is open without one", (not is_there) && Atomic.get w.mailbox <> Gone);
  ]

(* [domains] that may be hired, after the other processes. *)
let model ?(tasks = 1) ?(faults = faults) ~residents ~domains name parties =
  let start () =
    let t = make ~tasks ~residents () in
    let parties = parties t in
    Domain.prepare ~first:(List.length parties) domains;
    let verdict () = Model.faults (faults t) in
    Model.{ processes = parties @ List.init domains Domain.process; verdict }
  in
  Model.{ name = "staff: " ^ name; start }

let sent_to_one_who_leaves =
  model ~residents:1 ~domains:1 "a task is sent while the last resident leaves" (fun t ->
      no_visitor t;
      [ sends t 0; leaves t ])

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
let broadcast =
  let call = ref None in
  let faults t =
    ("a task ran", t.runs <> [||]) :: Model_region.faults (Option.get !call)
  in
  model ~residents:1 ~domains:1 ~tasks:0 ~faults "a broadcast while a resident leaves" (fun t ->
      let c = Model_region.call ~revoke:false 2 in
      call := Some c;
      [ World.at t.pool 0 (Model_region.perform c); leaves t ])

(* {2 Closing} *)

let closes t () = Pool.close t.pool; t.left <- true

let sends_or_is_refused t () =
  try Visit.refuse_or_send "Task.async" t.pool (task t 0)
  with Invalid_argument _ -> t.refused <- true

let closing =
  let faults t =
    [
      ("neither refused nor run", t.runs.(0) <> if t.refused then 0 else 1);
      ("the pool does not close", not t.left);
      ("a resident is left", Atomic.get t.pool.residents <> 0);
    ]
  in
  model ~residents:1 ~domains:0 ~faults "a task is sent while the pool is closed" (fun t ->
      no_visitor t;
      let stays = stays t and closes = closes t in
      [ (fun () -> closes ()); (fun () -> stays ()); sends_or_is_refused t ])

let quick = [ sent_to_nobody; sent_to_one_who_leaves; two_sent_to_nobody ]
let slow = [ all_leave; broadcast; closing ]
