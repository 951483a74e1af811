(* A scope's promise runs as long as anything in it does, the code itself included: [pending] counts
   these. The part that brings it to 0 resolves the promise, for which the code waits. The count
   never leaves 0 again, so a late fork is refused. The tasks' home has the promise in its lineage
   (Promise): stopping it stops them. *)

module P = Place

type t = {
  promise : unit Promise.t;
  home : Promise.home;
  pool : P.pool;
  pending : int Atomic.t;
  first : Outcome.failure option Atomic.t;
  leave : Promise.attached;
}

exception Deadline_exceeded

(* {2 Its place among the others} *)

(* The scopes around the fiber, and its task, if that is not one of them. *)
let lineage w : Promise.lineage =
  match (Fiber.context w, (Fiber.home w).lineage) with
  | context, around when context == P.uncancelled -> around
  | context, (Within { part; _ } as around) when part == context -> around
  | context, around -> Promise.within context around

(* {2 Its life} *)

(* A scope that ends while another around it is stopped counts as stopped, also later
   (Promise.is_marked), and though it may keep a value (Cancellation.keep). *)
let settle promise () =
  let stopped = Promise.is_stopped promise in
  if stopped then Promise.stop promise;
  if not (Promise.is_done promise) then
    ignore (Promise.resolve promise (if stopped then Promise.(raised cancelled) else Returned ()))

let end_one promise pending =
  if Atomic.fetch_and_add pending (-1) = 1 then Outcome.firmly settle promise ()

let make (w : P.t) =
  let lineage = lineage w and { Promise.owner; unheard; _ } = w.pool.home in
  let opened_by = Cancellation.task_of (Fiber.context w) in
  let promise = Promise.started (Promise.home ~lineage ~opened_by ~unheard owner) in
  let inner = Promise.(within (any promise) lineage) in
  let pending = Atomic.make 1 in
  {
    promise;
    pending;
    pool = w.pool;
    first = Atomic.make None;
    home = Fiber.home_of w.pool inner (Fiber.home w).locals;
    leave = Promise.attached_to (fun () -> end_one promise pending);
  }

let event = Event.make "the end of a scope"
let stop s = Fiber.stop s.promise

(* The code that fails is told of no cancellation any more: else the scope's own stop might be told
   to the handler of a signal that comes now, and take the failure's place.
   Ctrl-C takes the place of an earlier failure: it may have struck a task that this has stopped.
   Another asynchronous exception that strikes here does, too, as in [Outcome.caught]. *)
let rec fail s (failure : Outcome.failure) =
  try
    Fiber.be_told_no_more ();
    if failure.exn == Sys.Break then Atomic.set s.first (Some failure)
    else ignore (Atomic.compare_and_set s.first None (Some failure));
    stop s
  with
  | Promise.Cancelled -> fail s failure
  | exn ->
    Atomic.set s.first (Some (Outcome.caught exn));
    stop s

(* The result of the scope, once its code and its tasks have ended. *)
let outcome s result =
  match Atomic.get s.first with Some failure -> Error failure | None -> result

let is_unbegun s p =
  match Promise.state p with
  | Ready (_, { lineage = Within { part; _ }; _ }, _) -> part == Promise.any s.promise
  | Ready _ | Running _ | Returned _ | Raised _ -> false

(* Between two tasks the worker does as in its loop. A dismissed one leaves the rest to others. *)
let begin_one (w : P.t) p =
  Run.serve w;
  if Atomic.get w.look <> 0 then Yield.look w;
  if not (Load.is_over_budget w) then Task.begin_at p w

(* The tasks that its code leaves to be begun, in the order of their forks, as if it awaited each:
   else the worker would take the newest first. They stay in the deque meanwhile, for thieves. *)
let begin_tasks s () =
  match P.owned_place () with
  | Some w when not (Promise.is_done s.promise) ->
    Deque.each_oldest_first (is_unbegun s) (begin_one w) w.deque
  | Some _ | None -> ()

(* By Ctrl-C: a second one ends the wait for the tasks. *)
let is_struck s =
  match Atomic.get s.first with Some { exn; _ } -> exn == Sys.Break | None -> false

(* Runs [f] as the scope's code, and waits for its tasks, whatever happens to it. An asynchronous
   exception leaves no fiber in a scope that has ended. *)
let inside s w f =
  let before = Fiber.part w in
  let mine = Fiber.{ of_ = Promise.any s.promise; tasks = s.home; met_checkpoint = false } in
  let wait_for_all () =
    end_one s.promise s.pending;
    if is_struck s then Fork.wait_struck ~event s.promise
    else Fork.wait_done ~event ~struck:(fun () -> stop s) ~first:(begin_tasks s) s.promise
  in
  let end_it () = Outcome.finally (Fiber.put_back before) () wait_for_all () in
  let run () =
    try
      Promise.link mine.of_;
      Fiber.wait_again w;
      Fiber.become w mine;
      let v = f s in
      Fiber.be_told_no_more ();
      Ok v
    with exn ->
      let failure = Outcome.caught exn in
      fail s failure;
      Error failure
  in
  outcome s (Outcome.finally end_it () run ())

let conclude s = function
  | Error failure -> Fiber.rethrow failure
  | Ok v ->
    Fiber.check ();
    if Promise.(is_marked (state s.promise)) then Outcome.raise Promise.cancelled;
    v

(* Code that opens a scope is in its pool, and closing waits for it. *)
let opening f =
  Pool.with_current (fun w ->
      Fiber.check_at w;
      f w (make w))

let within f = opening (fun w s -> conclude s (inside s w f))

(* {2 Its tasks} *)

(* Not by adding first and looking then: of two late forks the second would see the first's 1. *)
let rec count_one_more pending =
  let n = Atomic.get pending in
  n > 0 && (Atomic.compare_and_set pending n (n + 1) || count_one_more pending)

(* A task inherits from the code that forks it; that of a thread outside from the scope's. *)
let home_for s =
  match P.owned_place () with
  | Some w when (Fiber.home w).locals != s.home.locals ->
    Fiber.home_of s.pool s.home.lineage (Fiber.home w).locals
  | Some _ | None -> s.home

(* Counted once it is there, so that an asynchronous exception does not come in between. *)
let task s f =
  let task = Promise.make_attached (Waiting.started (home_for s)) s.leave f in
  if not (count_one_more s.pending) then invalid_arg "Muster.Task.fork: the scope has ended";
  task

let fork_unguarded s f =
  let task = task s f in
  match
    match Caller.place_in s.pool with
    | Some w -> ignore (Task.offer w task)
    | None -> Publish.send s.pool (Promise.any task)
  with
  | () -> task
  | exception exn ->
    let failure = Outcome.caught exn in
    Promise.stop task;
    Outcome.raise failure

(* The failure of the task is the scope's, unless the task was stopped. So is an asynchronous
   exception that strikes before the first step of [f]. *)
let guarded s f =
  let body () =
    let me = ref P.uncancelled in
    try
      me := Fiber.get ();
      f ()
    with exn ->
      let failure = Outcome.caught exn in
      if not (failure.exn == Promise.Cancelled && Promise.is_stopped !me) then
        fail s failure;
      Outcome.raise failure
  in
  body

let fork ?(code = 0) s f =
  Stack_room.reserve ();
  Fiber.check ();
  fork_unguarded s (guarded s (Fiber.traced ~code f))

(* {2 Deadlines} *)

(* Code that met no checkpoint is told here, at its end. Code that met one and was not told there
   may have obtained something in time, say a message: so its value counts. *)
let in_time f ~at s =
  let v = f () in
  (* Code that was told goes on as part of nothing (Fiber.tell). *)
  let was_told w = Fiber.context w != Promise.any s.promise in
  let is_told (w : P.t) = was_told w || (Machine.now () >= at && not w.own.fiber.checked) in
  if Option.fold (P.owned_place ()) ~none:false ~some:is_told then raise Promise.Cancelled;
  v

let end_by s ~at = function
  | Ok v -> v
  | Error Outcome.{ exn = Promise.Cancelled; _ } when Machine.now () >= at ->
    Fiber.check ();
    raise Deadline_exceeded
  | Error _ as result -> conclude s result

let with_deadline seconds f =
  if Float.is_nan seconds then invalid_arg "Muster.Task.with_deadline: seconds = nan is no time";
  if seconds <= 0. then raise Deadline_exceeded;
  let at = Timer.after seconds in
  opening (fun w s ->
      let run () =
        Fiber.have_all_look ();
        inside s w (in_time f ~at)
      in
      let timer = Timer.add at (fun () -> stop s) in
      end_by s ~at (Outcome.finally Timer.remove timer run ()))
