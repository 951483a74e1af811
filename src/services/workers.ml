(* A job is a task of the pool. One that is queued waits as a task waits for anything: so it can be
   cancelled, and has a deadline, as all tasks can. Admission has its place, and the value that it
   works with. It leaves before its result can be seen, so that the next job finds the slot free. *)

module Machine = Muster_core.Machine
module Outcome = Muster_core.Outcome
module Pool = Muster_core.Pool
module Promise = Muster_core.Promise
module Scope = Muster_core.Scope
module Task = Muster_core.Task
module Timer = Muster_core.Timer

type reason = Full | Expired | Draining

exception Rejected of reason

type 'w t = {
  name : string;
  workers : int;
  pool : Pool.t;
  make : int -> 'w;
  reset : ('w -> 'w) option;
  close : 'w -> unit;
  admission : 'w Admission.t;
  inside : bool Local.t;  (** whether this code belongs to one of these jobs *)
  load : Workload.t;
}

let invalid fn fmt = Printf.ksprintf (fun s -> invalid_arg ("Muster.Workers." ^ fn ^ ": " ^ s)) fmt

let create ?name ?workers ?queue ?pool ?(close = ignore) ?reset make =
  let pool = match pool with Some pool -> pool | None -> Pool.current () in
  let workers = Option.value workers ~default:(Pool.size pool) in
  if workers < 1 then invalid "create" "workers = %d is less than 1" workers;
  let bound = Option.value queue ~default:(64 * workers) in
  if bound < 0 then invalid "create" "queue = %d is negative" bound;
  let name = Option.value name ~default:(Pool.name pool) in
  let admission = Admission.create ~workers ~bound in
  let inside = Local.create false and load = Workload.make () in
  { name; workers; pool; make; reset; close; admission; inside; load }

(* {2 A job} *)

let value_of t (slot : _ Admission.slot) =
  match slot.value with
  | Some w -> w
  | None ->
    let w = t.make slot.index in
    slot.value <- Some w;
    w

let drop t (slot : _ Admission.slot) w =
  slot.value <- None;
  t.close w

let renew t (slot : _ Admission.slot) w =
  match t.reset with
  | Some reset when not (Admission.is_extra t.admission slot) ->
    slot.value <- None;
    slot.value <- Some (reset w)
  | Some _ | None -> drop t slot w

(* The value of a job that raised is made new before anybody else gets it. *)
let use t slot f =
  let w = value_of t slot in
  let since = Machine.now () in
  match f w with
  | v ->
    Workload.worked t.load ~since;
    if Admission.is_extra t.admission slot then Tasks.protect (fun () -> drop t slot w);
    v
  | exception exn ->
    let failure = Outcome.caught exn in
    Workload.worked t.load ~since;
    Tasks.protect (fun () -> renew t slot w);
    Outcome.raise failure

let in_time at ~begun f =
  let seconds = 1e-9 *. float_of_int (at - Machine.now ()) in
  try Scope.with_deadline seconds f
  with Scope.Deadline_exceeded when not !begun -> raise (Rejected Expired)

let outcome_of = function
  | Task.Cancelled -> Workload.Cancelled
  | Rejected Expired -> Expired
  | _ -> Failed

(* One that was withdrawn has been noted. *)
let ended t job outcome =
  if Admission.leave t.admission job then Workload.note t.load outcome

let body t job ~at f =
  let posted = Machine.now () and begun = ref false in
  let work () =
    let slot = Admission.await_slot t.admission job in
    if Admission.is_cut t.admission then raise Task.Cancelled;
    begun := true;
    Muster_core.(Tell.job (Fiber.place ()) ~queued:(Machine.now () - posted));
    Workload.waited t.load ~since:posted;
    Local.within t.inside true (fun () -> use t slot f)
  in
  let go = Option.fold at ~none:work ~some:(fun at () -> in_time at ~begun work) in
  fun () ->
    match go () with
    | v ->
      ended t job Returned;
      v
    | exception exn ->
      let failure = Outcome.caught exn in
      ended t job (outcome_of exn);
      Outcome.raise failure

(* {2 Posting} *)

let reject t reason =
  let outcome : Workload.outcome =
    match reason with Full -> Full | Expired -> Expired | Draining -> Draining
  in
  Workload.note t.load outcome;
  raise (Rejected reason)

let admit t job ~nested ~priority =
  match Admission.admit t.admission job ~nested ~priority with
  | Ok () -> ()
  | Error Full -> reject t Full
  | Error Closed -> reject t Draining

(* A task that is cancelled before it begins leaves by its promise's end. One that is queued leaves
   at once, so that the queue has room again. *)
let start t job body () =
  let task = Task.async body in
  let is_live () = Admission.is_in t.admission job in
  let go leave () = if leave t.admission job then Workload.note t.load Cancelled in
  Promise.on_done task ~is_live (go Admission.leave);
  if not (Promise.add_hook task ~is_live (go Admission.withdraw)) then go Admission.withdraw ();
  Admission.on_cut t.admission job (fun () -> Task.cancel task);
  task

let in_pool t f = if Pool.equal (Pool.current ()) t.pool then f () else Pool.run t.pool f

let check fn ~priority deadline =
  if priority < 0 then invalid fn "priority = %d is negative" priority;
  if Option.fold deadline ~none:false ~some:Float.is_nan then
    invalid fn "deadline = nan is no time"

let add fn ?(priority = 0) ?deadline t ~nested f =
  check fn ~priority deadline;
  if Option.fold deadline ~none:false ~some:(fun seconds -> seconds <= 0.) then reject t Expired;
  let job = Admission.new_job t.admission and at = Option.map Timer.after deadline in
  let go () =
    admit t job ~nested ~priority;
    in_pool t (start t job (body t job ~at f))
  in
  Outcome.on_failure go (fun _ -> ignore (Admission.leave t.admission job))

let post ?priority ?deadline t f = add "post" ?priority ?deadline t ~nested:false f

let submit ?priority ?deadline t f =
  let task = add "submit" ?priority ?deadline t ~nested:(Local.get t.inside) f in
  Outcome.on_failure (fun () -> Task.await task) (fun _ -> Task.cancel task)

(* {2 The end} *)

let rec close_free t =
  match Admission.take_free t.admission with
  | None -> ()
  | Some slot ->
    let close () = Option.iter (drop t slot) slot.value in
    Fun.protect ~finally:(fun () -> close_free t) close

let wait_or_cut t seconds =
  try Scope.with_deadline seconds (fun () -> Admission.join t.admission)
  with Scope.Deadline_exceeded -> Admission.cut t.admission

let drain ?grace t =
  let check seconds =
    if not (seconds >= 0.) then invalid "drain" "grace = %g is negative, or no number" seconds
  in
  Option.iter check grace;
  if Local.get t.inside then invalid "drain" "called by a job of these workers";
  Admission.close t.admission;
  Option.iter (wait_or_cut t) grace;
  Admission.join t.admission;
  close_free t

(* {2 Statistics} *)

include Workload.Public

let stats t =
  let busy, queued = Admission.busy_and_queued t.admission in
  Workload.stats t.load ~workers:t.workers ~busy ~queued

let pp_prometheus ppf t = Prometheus.pp ppf ~name:t.name (stats t)
