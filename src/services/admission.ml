(* Jobs and slots.

   A slot is the right to run a job, with the value that belongs to it. All that jobs and slots have
   to do with each other is one immutable state, changed by compare-and-set:

   - A job is in [jobs] from its admission until it leaves. It holds a slot there, or is in [queue].
   - A slot is in [free], or one job holds it. [free] is empty while a job is queued.
   - The step that takes a job out of [jobs] passes its slot on, to the first job of the queue. So a
     slot is passed on once, though a job may leave twice: at its end, and when its promise ends.
     The latter counts where the task was cancelled before it began.
   - The party that passes a slot on resolves [granted] afterwards. An asynchronous exception does
     not keep it from that (Duty). [over] is resolved by the party whose step empties [jobs], or
     closes the empty one.

   A job's number is its place in the queue, plus [overtakes] for each step of its priority. So at
   most that many later jobs pass it for each step, and nothing starves. *)

module Outcome = Muster_core.Outcome
module Promise = Muster_core.Promise
module Task = Muster_core.Task
module Ids = Map.Make (Int)

type key = int * int

module Keys = Map.Make (struct
  type t = key

  let compare = Stdlib.compare
end)

type refusal = Full | Closed
type 'w slot = { index : int; mutable value : 'w option }
type 'w place = Queued of key | Holds of 'w slot

type job = {
  number : int;
  granted : unit Promise.t;
  grant : unit Resolver.t;
  cancel : (unit -> unit) Atomic.t;  (** written once, by its poster *)
}

type phase = Open | Closing | Cut

type 'w state = {
  made : int;  (** slots, without extra ones *)
  free : 'w slot list;
  queue : job Keys.t;
  queued : int;
  jobs : (job * 'w place) Ids.t;
  phase : phase;
}

type 'w t = {
  workers : int;
  bound : int;
  state : 'w state Atomic.t;
  numbers : int Atomic.t;
  over : unit Promise.t;
  end_it : unit Resolver.t;
}

let create ~workers ~bound =
  let over, end_it = Resolver.create () in
  let state =
    { made = 0; free = []; queue = Keys.empty; queued = 0; jobs = Ids.empty; phase = Open }
  in
  { workers; bound; state = Atomic.make state; numbers = Atomic.make 0; over; end_it }

let new_job t =
  let granted, grant = Resolver.create () in
  { number = Atomic.fetch_and_add t.numbers 1; granted; grant; cancel = Atomic.make ignore }

(* {2 To enter} *)

let overtakes = 64

let slot_for t s ~nested =
  match s.free with
  | slot :: free -> Some (slot, { s with free })
  | [] when s.made < t.workers ->
    Some ({ index = s.made; value = None }, { s with made = s.made + 1 })
  | [] when nested -> Some ({ index = t.workers; value = None }, s)
  | [] -> None

let is_extra t slot = slot.index = t.workers

let enqueue s job ~priority =
  let key = (job.number + (priority * overtakes), job.number) in
  let jobs = Ids.add job.number (job, Queued key) s.jobs in
  { s with jobs; queue = Keys.add key job s.queue; queued = s.queued + 1 }

let admitted t s job ~nested ~priority =
  if s.phase <> Open && not nested then Error Closed
  else
    match slot_for t s ~nested with
    | Some (slot, s) -> Ok { s with jobs = Ids.add job.number (job, Holds slot) s.jobs }
    | None -> if s.queued >= t.bound then Error Full else Ok (enqueue s job ~priority)

let rec admit t job ~nested ~priority =
  let s = Atomic.get t.state in
  match admitted t s job ~nested ~priority with
  | Error _ as refused -> refused
  | Ok next when Atomic.compare_and_set t.state s next -> Ok ()
  | Ok _ -> admit t job ~nested ~priority

let is_in t job = Ids.mem job.number (Atomic.get t.state).jobs

let rec await_slot t job =
  match Ids.find job.number (Atomic.get t.state).jobs with
  | _, Holds slot -> slot
  | _, Queued _ ->
    Task.await job.granted;
    await_slot t job

(* {2 To leave} *)

let is_over s = s.phase <> Open && Ids.is_empty s.jobs
let dequeue s key = { s with queue = Keys.remove key s.queue; queued = s.queued - 1 }

let pass_on t s slot =
  if is_extra t slot then (s, None)
  else
    match Keys.min_binding_opt s.queue with
    | None -> ({ s with free = slot :: s.free }, None)
    | Some (key, job) ->
      let s = dequeue s key in
      ({ s with jobs = Ids.add job.number (job, Holds slot) s.jobs }, Some job)

(* A step may be taken again: to resolve twice does nothing. *)
let told t next =
  let tell s =
    Option.iter (fun job -> ignore (Resolver.try_resolve job.grant ())) next;
    if is_over s then ignore (Resolver.try_resolve t.end_it ());
    (s, Duty.Done)
  in
  Duty.Step tell

let leave_if t job condition =
  let was_there = ref false in
  let take_out s =
    match Ids.find_opt job.number s.jobs with
    | None -> (s, Duty.Done)
    | Some (_, place) when not (condition place) -> (s, Duty.Done)
    | Some (_, place) ->
      was_there := true;
      let s = { s with jobs = Ids.remove job.number s.jobs } in
      let s, next =
        match place with Queued key -> (dequeue s key, None) | Holds slot -> pass_on t s slot
      in
      (s, told t next)
  in
  Duty.step t.state take_out;
  !was_there

let leave t job = leave_if t job (fun _ -> true)
let withdraw t job = leave_if t job (function Queued _ -> true | Holds _ -> false)

(* {2 The end} *)

let enter t phase =
  Duty.step t.state (fun s -> ((if s.phase = Cut then s else { s with phase }), told t None))

let close t = enter t Closing
let is_cut t = (Atomic.get t.state).phase = Cut

(* The one writes the phase and then reads [cancel], the other the reverse: so one of them sees
   both. *)
let cut t =
  enter t Cut;
  Ids.iter (fun _ (job, _) -> (Atomic.get job.cancel) ()) (Atomic.get t.state).jobs

let on_cut t job cancel =
  Atomic.set job.cancel cancel;
  if is_cut t then cancel ()

let join t = Task.await t.over

let rec take_free t =
  let s = Atomic.get t.state in
  match s.free with
  | [] -> None
  | slot :: free when Atomic.compare_and_set t.state s { s with free } -> Some slot
  | _ :: _ -> take_free t

let busy_and_queued t =
  let s = Atomic.get t.state in
  (Ids.cardinal s.jobs - s.queued, s.queued)
