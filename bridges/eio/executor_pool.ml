(* A job is a task of the default pool, which first waits for a lane. There are as many lanes as the
   creator asked for domains. A lane takes jobs, in the order of their submission, while the weights
   of those that it has are less than 1.

   {v queued --take--> in a lane, on a worker --first effect of Eio--> in the lane's loop
        \                       \                                     /
         +------- stop ----------+-------------> answered <----------+   v}

   A job that calls Eio needs a loop around it until it ends, as Eio's switches belong to one
   domain. So its continuation moves to a fiber of the lane's loop, in a domain that starts then. Only
   a wait for other fibers needs none.

   The mutex guards [queue], [jobs], [stopped] and the loads; nothing waits or calls the user within.
   A job is in [jobs] until it has told its result. It is answered by itself, or by [stop], which
   sees the end of its task: a task that is cancelled early never runs. *)

module Promise = Muster.Promise
module Task = Muster.Task
module Pool = Muster.Pool
module Fiber = Eio.Fiber
module Core = Muster_core

type lane = {
  loop : Loop.t;
  needed : unit Task.t;  (** ends with the first job that needs the loop *)
  need : unit Promise.resolver;
  mutable load : int;
}

type job = {
  number : int;
  weight : int;
  enter : lane Promise.resolver;
  task : unit Task.t;
  finish : exn -> unit;  (** waits for its end, and answers if it never began *)
}

type t = {
  mutex : Mutex.t;
  lanes : lane array;
  queue : job Queue.t;
  jobs : (int, job) Hashtbl.t;
  numbers : int Atomic.t;
  mutable stopped : exn option;
}

let invalid fn fmt =
  Printf.ksprintf (fun s -> invalid_arg ("Muster_eio.Executor_pool." ^ fn ^ ": " ^ s)) fmt

let full = 1_000_000
let locked t f = Mutex.protect t.mutex f

(* {2 Lanes} *)

let lighter a b = if b.load < a.load then b else a

let take t () =
  let lane = Array.fold_left lighter t.lanes.(0) t.lanes in
  if lane.load >= full || Queue.is_empty t.queue then None
  else begin
    let job = Queue.pop t.queue in
    lane.load <- lane.load + job.weight;
    Some (lane, job)
  end

let rec fill_lanes t =
  match locked t (take t) with
  | None -> ()
  | Some (lane, job) ->
    Promise.resolve job.enter lane;
    fill_lanes t

let leave t lane ~number ~weight =
  locked t (fun () ->
      lane.load <- lane.load - weight;
      Hashtbl.remove t.jobs number);
  fill_lanes t

(* {2 A job} *)

(* The fiber of Muster's that runs here, and what it is a part of. *)
let here () =
  Option.map (fun (w : Core.Place.t) -> (w.own.fiber, Core.Fiber.context w)) (Core.Place.owned_place ())

(* Another task may run on top of the job, or the job be within a scope: that code stays. *)
let is_at start =
  match (start, here ()) with
  | Some (fiber, context), Some (fiber', context') ->
    fiber == fiber' && (context == context' || context' == Core.Place.uncancelled)
  | _ -> false

(* A wait for other fibers, as for a promise, a stream or a mutex, becomes one of Muster's. It has to
   begin here: Eio may hold a mutex of the stdlib, which [enter] unlocks. A stop leaves its entry with
   what it waits for, as only this domain could cancel it. *)
let wait enter k =
  let result, resolver = Promise.create () in
  let tell result = ignore (Promise.try_resolve resolver result) in
  let await () =
    enter (Eio.Private.Fiber_context.make_root ()) tell;
    Task.await result
  in
  match await () with
  | Ok v -> Effect.Deep.continue k v
  | Error exn -> Effect.Deep.discontinue k exn
  | exception exn ->
    Effect.Deep.discontinue_with_backtrace k exn (Printexc.get_raw_backtrace ())

(* Performs the effect where the loop handles it, and goes on with the job there. *)
let go_on_in lane eff k ~moved =
  let go_on () =
    match Effect.perform eff with
    | v -> Effect.Deep.continue k v
    | exception exn ->
      Effect.Deep.discontinue_with_backtrace k exn (Printexc.get_raw_backtrace ())
  in
  let refuse () =
    moved := false;
    Effect.Deep.discontinue k (Eio.Cancel.Cancelled Loop.Ended)
  in
  let go_on = Core.Fiber.moving go_on in
  moved := true;
  ignore (Promise.try_resolve lane.need ());
  try Loop.post lane.loop { start = (fun sw -> Fiber.fork ~sw go_on); refuse }
  with exn ->
    moved := false;
    Effect.Deep.discontinue k exn

let run lane f ~moved ~tell =
  let start = here () in
  let effc (type e) (eff : e Effect.t) : ((e, unit) Effect.Deep.continuation -> unit) option =
    match eff with
    | Core.Run.Suspend _ -> None
    | Eio.Private.Effects.Suspend enter when (not !moved) && is_at start -> Some (wait enter)
    | eff when (not !moved) && is_at start -> Some (fun k -> go_on_in lane eff k ~moved)
    | _ -> None
  in
  let retc v = tell (Ok v)
  and exnc exn = tell (Error (exn, Printexc.get_raw_backtrace ())) in
  Effect.Deep.match_with f () { retc; exnc; effc }

(* A job that was stopped raises Muster's exception; the program knows Eio's. *)
let as_eio t = function
  | Error (Task.Cancelled, backtrace) ->
    Error (Option.value t.stopped ~default:Task.Cancelled, backtrace)
  | result -> result

let is_struck answer =
  match Task.peek answer with Some (Ok (Error (Sys.Break, _))) -> true | _ -> false

let no_backtrace = Printexc.get_callstack 0

(* Where the default pool is, and in no scope of the submitter's. *)
let start body =
  let pool = Pool.default () in
  let start () = Task.protect (fun () -> Task.async body) in
  if Pool.equal (Pool.current ()) pool then start () else Pool.run pool start

(* The job has ended, and its submitter has left: the second of the two passes Ctrl-C on, which
   struck the job. *)
let make t ~weight f =
  let answer, resolver = Promise.create () and granted, enter = Promise.create () in
  let number = Atomic.fetch_and_add t.numbers 1 and moved = ref false in
  let over = Atomic.make false in
  let tell lane result =
    leave t lane ~number ~weight;
    ignore (Promise.try_resolve resolver (as_eio t result));
    if Atomic.exchange over true && is_struck answer then Core.Worker.raise_later Sys.Break
  in
  let leave _ = if Atomic.exchange over true && is_struck answer then raise Sys.Break in
  let body () =
    let lane = Task.await granted in
    run lane f ~moved ~tell:(tell lane)
  in
  let task = start body in
  let finish exn =
    (try Task.await task with Task.Cancelled -> ());
    if not !moved then ignore (Promise.try_resolve resolver (Error (exn, no_backtrace)));
    ignore (Task.await answer)
  in
  (answer, leave, { number; weight; enter; task; finish })

let submit_job fn t ~weight f =
  if not (weight >= 0. && weight <= 1.) then
    invalid fn "weight = %g is not between 0 and 1" weight;
  let answer, leave, job = make t ~weight:(Float.to_int (weight *. float full)) f in
  let add () =
    if t.stopped = None then begin
      Hashtbl.add t.jobs job.number job;
      Queue.push job t.queue
    end;
    t.stopped = None
  in
  if not (locked t add) then begin
    Task.cancel job.task;
    invalid fn "the pool's switch has ended"
  end;
  fill_lanes t;
  Core.Outcome.on_failure (fun () -> Task.await answer) leave

let submit t ~weight f = Result.map_error fst (submit_job "submit" t ~weight f)

let submit_or_raise fn t ~weight f =
  match submit_job fn t ~weight f with
  | Ok v -> v
  | Error (exn, backtrace) -> Printexc.raise_with_backtrace exn backtrace

let submit_exn t ~weight f = submit_or_raise "submit_exn" t ~weight f

let submit_fork ~sw t ~weight f =
  Fiber.fork_promise ~sw (fun () -> submit_or_raise "submit_fork" t ~weight f)

(* {2 The pool's life: that of its switch} *)

let stop t exn =
  let note () =
    t.stopped <- Some exn;
    Queue.clear t.queue;
    List.of_seq (Hashtbl.to_seq_values t.jobs)
  in
  let jobs = locked t note in
  List.iter (fun job -> Task.cancel job.task) jobs;
  Eio.Cancel.protect (fun () -> List.iter (fun job -> job.finish exn) jobs)

let stop_at_end t () =
  try Fiber.await_cancel ()
  with exn ->
    stop t exn;
    raise exn

let serve_lane manager lane () =
  let backtrace = Printexc.backtrace_status () in
  let serve () =
    Printexc.record_backtrace backtrace;
    Eio.Switch.run (fun sw ->
        Loop.serve lane.loop ~sw;
        Fiber.await_cancel ())
  in
  Fun.protect
    ~finally:(fun () -> Loop.close lane.loop)
    (fun () ->
      Task.await lane.needed;
      Eio.Domain_manager.run manager serve)

let create ~sw ~domain_count manager =
  if domain_count < 1 then invalid "create" "domain_count = %d is less than 1" domain_count;
  if domain_count > 1_000_000 then
    invalid "create" "domain_count = %d is more than 1,000,000" domain_count;
  let lane _ =
    let needed, need = Promise.create () in
    { loop = Loop.create (); needed; need; load = 0 }
  in
  let lanes = Array.init domain_count lane and jobs = Hashtbl.create 16 in
  let mutex = Mutex.create () and queue = Queue.create () and numbers = Atomic.make 0 in
  let t = { mutex; lanes; queue; jobs; numbers; stopped = None } in
  Array.iter (fun lane -> Fiber.fork_daemon ~sw (serve_lane manager lane)) lanes;
  Fiber.fork_daemon ~sw (stop_at_end t);
  t
