(* A job has a promise of its own, which counts as running from the start. So nobody can begin it
   but a runner (Admission), which is a task of the pool. In the runner's fiber the job is what a
   task's code is there: it is a part of its promise, and has the home that its tasks inherit.

   A job that is stopped in the queue leaves it at once, by a hook of its promise: so the queue has
   room again. One whose deadline passes there leaves by a timer. *)

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
  home : Promise.home;  (** of its runners, and of jobs without scopes and values around them *)
  inside : bool Local.t;  (** whether this code belongs to one of these jobs, or to their runner *)
  load : Workload.t;
  struck : Promise.raised list Atomic.t;  (** jobs that Ctrl-C has ended *)
  closing : Mutex.t;  (** of values, by a drain *)
}

let invalid fn = Caller.invalid ("Workers." ^ fn)
let created = Atomic.make 0
let numbered () = Printf.sprintf "workers-%d" (Atomic.fetch_and_add created 1 + 1)

(* Each has a slot, from the beginning. *)
let most = 1_000_000

let create ?name ?workers ?queue ?pool ?(close = ignore) ?reset make =
  let pool = match pool with Some pool -> pool | None -> Pool.current () in
  let workers = Option.value workers ~default:(Pool.size pool) in
  if workers < 1 then invalid "create" "workers = %d is less than 1" workers;
  if workers > most then invalid "create" "workers = %d is more than 1,000,000" workers;
  let bound = Option.value queue ~default:(64 * workers) in
  if bound < 0 then invalid "create" "queue = %d is negative" bound;
  let name = match name with Some name -> name | None -> numbered () in
  let admission = Admission.create ~workers ~bound in
  let inside = Local.create false and load = Workload.make () and struck = Atomic.make [] in
  let home = Fiber.home_of pool Alone (Local.bind inside true []) in
  let closing = Mutex.create () in
  { name; workers; pool; make; reset; close; admission; home; inside; load; struck; closing }

(* {2 Values} *)

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
let use t f slot =
  let w = value_of t slot in
  match f w with
  | v ->
    if Admission.is_extra t.admission slot then Tasks.protect (fun () -> drop t slot w);
    v
  | exception exn ->
    let failure = Outcome.caught exn in
    Tasks.protect (fun () -> renew t slot w);
    Outcome.raise failure

(* {2 A job}

   [result] is written by the party that took the job out of the queue, before it answers. *)

type ('w, 'a) job = {
  workers : 'w t;
  f : 'w -> 'a;
  task : 'a Promise.t;
  home : Promise.home;
  submitted : bool;  (** only its submitter, which may leave, comes for the result *)
  posted : int;
  at : int option;  (** its deadline *)
  mutable timer : Timer.key option;
  mutable result : 'a Promise.state;
}

(* It is stopped with the scopes around the code that posts it, as any task. *)
let home_of_job (t : _ t) =
  let lineage =
    match Place.owned_place () with Some w -> (Fiber.home w).lineage | None -> Alone
  in
  match (lineage, Fiber.locals ()) with
  | Alone, [] -> t.home
  | _, locals -> Fiber.home_of t.pool lineage (Local.bind t.inside true locals)

let new_job t ~deadline ~submitted f =
  let home = Waiting.started (home_of_job t) in
  let task = Promise.started home and at = Option.map Timer.after deadline in
  let f = Fiber.traced ~code:0 f and posted = Machine.now () in
  { workers = t; f; task; home; submitted; posted; at; timer = None; result = home.running }

let is_unbegun job = job.result == job.home.running
let is_late job = Option.fold job.at ~none:false ~some:(fun at -> Machine.now () >= at)

(* An exception of a submitted job is for its submitter alone, and dropped if that has left. Ctrl-C
   is not. *)
let note_failure { workers; submitted; result; _ } =
  match result with
  | Promise.Raised ({ failure = { exn = Sys.Break; _ }; _ } as raised) ->
    Place.change workers.struck (List.cons raised)
  | Raised { heard; _ } when submitted -> Atomic.set heard Heard
  | Raised _ | Returned _ | Ready _ | Running _ -> ()

let answer job () =
  if not (Promise.is_done job.task) then begin
    note_failure job;
    ignore (Promise.resolve job.task job.result)
  end

let forget_timer job =
  if Option.is_some job.timer then begin
    Option.iter Timer.remove job.timer;
    job.timer <- None
  end

let refuse job outcome failure () =
  if is_unbegun job then begin
    forget_timer job;
    job.result <- Promise.raised failure;
    Workload.note job.workers.load outcome
  end;
  answer job ()

let expired = Outcome.{ exn = Rejected Expired; backtrace = Printexc.get_callstack 0 }

(* As a fiber of its own: a lock that the job before has left behind is not its. *)
let as_task job f =
  let w = Fiber.place () in
  let before = Fiber.part w in
  let of_ = Promise.any job.task in
  let run () =
    w.own.fiber.number <- 0;
    Counts.add_task w.own.counts;
    Fiber.become w { of_; tasks = job.home; met_checkpoint = false };
    Fiber.check_at w;
    f ()
  in
  Outcome.finally (Fiber.put_back before) () run ()

let run job slot =
  let { workers = t; f; at; posted; _ } = job in
  as_task job (fun () ->
      let begun = Machine.now () in
      Tell.job (Fiber.place ()) ~queued:(begun - posted);
      Workload.waited t.load (begun - posted);
      let use () = use t f slot in
      let limited at () = Scope.with_deadline (1e-9 *. float_of_int (at - begun)) use in
      let worked () = Workload.worked t.load (Machine.now () - begun) in
      Outcome.finally worked () (Option.fold at ~none:use ~some:limited) ())

let outcome job : Workload.outcome =
  match job.result with
  | Raised { failure = { exn = Scope.Deadline_exceeded; _ }; _ } when is_late job -> Cancelled
  | Raised { failure = { exn = Task.Cancelled; _ }; _ } -> Cancelled
  | Raised _ -> Failed
  | Returned _ | Ready _ | Running _ -> if Promise.is_stopped job.task then Cancelled else Returned

let work job (slot : _ Admission.slot) =
  if is_unbegun job then begin
    forget_timer job;
    if is_late job then refuse job Expired expired ()
    else begin
      job.result <- Promise.result_of (run job) slot;
      Workload.note job.workers.load (outcome job)
    end
  end;
  let is_open task = not (Promise.is_done task) in
  slot.unanswered <- Promise.any job.task :: List.filter is_open slot.unanswered

(* {2 Runners} *)

(* Between two jobs a runner does as a worker between two tasks. So that other tasks of the pool
   come to their turn, it goes behind them now and then. *)
let between since () =
  let w = Fiber.place () in
  Run.serve w;
  Yield.look_up w;
  Yield.step_aside (Fiber.place_after w);
  Yield.take_turns_if_due ~since (Fiber.place_after w)

(* As an idle worker does, while it has nothing else to do. *)
let idle has_job =
  let w = Fiber.place () in
  let found () = has_job () || Search.has_work w || w.own.is_over () in
  ignore (Sleep.spin ~found (Sleep.search_pauses w.pool ~served:false))

(* Unbroken until [Admission.run]: a signal that comes as the task begins would end the runner, and
   its job with it. *)
let rec start (t : _ t) hand =
  let between = between (ref (Machine.ticks ())) and struck = Worker.raise_later in
  let runner = { Admission.start = start t; between; idle; struck } in
  let run () = Admission.run t.admission hand runner in
  let task = Promise.make t.home run in
  fun () ->
    match Caller.place_in t.pool with
    | Some w -> ignore (Task.offer w task)
    | None -> Publish.send t.pool (Promise.any task)

(* {2 Posting} *)

let reject t reason =
  let outcome : Workload.outcome =
    match reason with Full -> Full | Expired -> Expired | Draining -> Draining
  in
  Workload.note t.load outcome;
  raise (Rejected reason)

let admit fn t it ~nested =
  let admit () =
    if Caller.is_late t.pool then Caller.refuse ("Workers." ^ fn) t.pool ();
    Admission.admit t.admission it ~nested ~start:(start t)
  in
  match Publish.kept_open t.pool admit with
  | Ok () -> ()
  | Error Full -> reject t Full
  | Error Closed -> reject t Draining

let check fn ~priority deadline =
  if priority < 0 then invalid fn "priority = %d is negative" priority;
  if Option.fold deadline ~none:false ~some:Float.is_nan then invalid fn "deadline = nan is no time"

let add fn ?(priority = 0) ?deadline t ~submitted f =
  check fn ~priority deadline;
  Task.check ();
  if Option.fold deadline ~none:false ~some:(fun seconds -> seconds <= 0.) then reject t Expired;
  let job = new_job t ~deadline ~submitted f in
  let { task; _ } = job in
  let work = work job and answer = answer job in
  let it = Admission.new_job t.admission ~priority (Promise.any task) ~work ~answer in
  let leave outcome failure () = Admission.withdraw t.admission it (refuse job outcome failure) in
  let cancel = leave Cancelled Promise.cancelled in
  let go () =
    job.timer <- Option.map (fun at -> Timer.add at (leave Expired expired)) job.at;
    admit fn t it ~nested:(submitted && Local.get t.inside);
    Promise.on_stop task (Entries.entry cancel)
  in
  let give_up _ =
    forget_timer job;
    Task.cancel task;
    cancel ()
  in
  Outcome.on_failure go give_up;
  task

let post ?priority ?deadline t f = add "post" ?priority ?deadline t ~submitted:false f

(* Ctrl-C in a job that somebody awaits is raised there. The party that has resolved the promise may
   have yet to note that nobody does. *)
let raise_if_struck { Promise.failure; heard; _ } =
  let is_free was = Atomic.compare_and_set heard was Promise.Heard in
  if failure.exn == Sys.Break && (is_free Unheard || is_free Noted) then Outcome.raise failure

let submit ?priority ?deadline t f =
  let task = add "submit" ?priority ?deadline t ~submitted:true f in
  let give_up _ =
    if not (Promise.is_done task) then Task.cancel task;
    match Promise.state task with Raised raised -> raise_if_struck raised | _ -> ()
  in
  Outcome.on_failure (fun () -> Task.await task) give_up

(* {2 The end} *)

let rec close_free t =
  match Admission.take_free t.admission with
  | None -> ()
  | Some slot ->
    let close () = Option.iter (drop t slot) slot.value in
    Outcome.finally close_free t close ()

(* One closes and the others wait, but code that has interrupted the closing: it would wait for
   itself. In the pool, as a fiber of another scheduler may be cancelled, and cannot wait then. *)
let close_all t =
  let close () = Tasks.protect (fun () -> close_free t) in
  let in_turn () = if not (Mutex.is_mine t.closing) then Mutex.protect t.closing close in
  if not (Fiber.is_elsewhere ()) then in_turn ()
  else Caller.with_worker Anywhere (Instead in_turn) t.pool (fun _ -> in_turn ())

let cut t () = Fiber.stop_each (Admission.cut t.admission ~start:(start t))
let await_answers (slot : _ Admission.slot) = List.iter Task.join slot.unanswered

(* A job would wait for itself, and so would a signal's handler on top of one. *)
let drain ?grace t =
  let check seconds =
    if not (seconds >= 0.) then invalid "drain" "grace = %g is negative, or no number" seconds
  in
  Option.iter check grace;
  Admission.close t.admission ~start:(start t);
  let cut_in seconds = Task.at (Timer.after seconds) (cut t) in
  let forget = Option.fold grace ~none:ignore ~some:cut_in in
  if not (Local.get t.inside) then begin
    Admission.join t.admission;
    forget ();
    List.iter await_answers (Admission.slots t.admission);
    close_all t;
    List.iter raise_if_struck (Atomic.exchange t.struck [])
  end

(* {2 Statistics} *)

include Job_stats

let quantile = Histogram.quantile

let stats t =
  let busy, queued = Admission.busy_and_queued t.admission in
  Workload.stats t.load ~workers:t.workers ~busy ~queued

type any = Any : 'w t -> any

let pp_prometheus_all ppf all = Prometheus.pp ppf (List.map (fun (Any t) -> (t.name, stats t)) all)
let pp_prometheus ppf t = pp_prometheus_all ppf [ Any t ]
