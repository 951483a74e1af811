(* A scope: code that ends only when all tasks that it forked have ended, and that can be stopped
   together with them.

   Its promise runs as long as anything in it does, the code itself included: [pending] counts
   these. The part that brings it to 0 resolves the promise, for which the code waits. The count
   never leaves 0 again, so a late fork is refused. The tasks' home has the promise in its lineage
   (Promise): stopping it stops them. *)

module P = Place

type t = {
  promise : unit Promise.t;
  home : Promise.home;  (** the tasks' *)
  pool : P.pool;
  pending : int Atomic.t;
  first : Outcome.failure option Atomic.t;  (** in time *)
  leave : Promise.attached;  (** what each task does at its end *)
}

(* A scope that has ended without having been stopped cannot be stopped any more. A task that
   starts the next one in a scope of its own, and so on for ever, would have all scopes before it
   around it. *)
let rec without_ended : Promise.lineage -> Promise.lineage = function
  | Alone -> Alone
  | Within (p, outer) as all ->
    let left = without_ended outer in
    if Cancellation.has_ended_unstopped p then left
    else if left == outer then all
    else Within (p, left)

(* The scopes around the fiber, and its task, if that is not one of them. *)
let lineage w : Promise.lineage =
  match (Fiber.context w, without_ended (Fiber.home w).lineage) with
  | context, around when context == P.uncancelled -> around
  | context, (Within (innermost, _) as around) when innermost == context -> around
  | context, around -> Within (context, around)

(* A scope that ends while what is around it is stopped counts as stopped, also later
   (Cancellation.is_marked), and though it may keep a value (Cancellation.keep). *)
let settle promise () =
  let stopped = Cancellation.is_stopped promise in
  if stopped then Promise.stop promise;
  if not (Promise.is_done promise) then
    ignore (Promise.resolve promise (if stopped then Promise.(raised cancelled) else Returned ()))

let end_one promise pending =
  if Atomic.fetch_and_add pending (-1) = 1 then Outcome.firmly settle promise ()

let make (w : P.t) =
  let lineage = lineage w and { Promise.owner; unheard; _ } = w.pool.home in
  let promise = Promise.started (Promise.home ~lineage ~of_scope:true ~unheard owner) in
  let pending = Atomic.make 1 in
  {
    promise;
    pending;
    pool = w.pool;
    first = Atomic.make None;
    home = Promise.home ~lineage:(Within (Promise.any promise, lineage)) ~unheard owner;
    leave = Promise.attached_to (fun () -> end_one promise pending);
  }

let stop s = Fiber.stop s.promise
let stop_again s () = stop s

(* An asynchronous exception (Ctrl-C, or one of a hook) is raised once the scope has been stopped.
   Nothing is allocated before: an exception there would leave the scope running. *)
let stop_firmly s = Outcome.firmly stop_again s ()

let note_failure s failure =
  ignore (Atomic.compare_and_set s.first None (Some failure));
  stop s

(* The same for a failure. An asynchronous exception takes its place, as in [Outcome.caught]: else
   the scope would raise the failure, and nobody the exception. *)
let fail s failure =
  match Outcome.firmly note_failure s failure with
  | () -> ()
  | exception exn ->
    let struck = Outcome.caught exn in
    Atomic.set s.first (Some struck);
    Outcome.raise struck

(* Runs [f] as the scope's code, and waits for its tasks, whatever happens to it. An asynchronous
   exception leaves nobody in a scope that has ended. It takes the place of the exception of [f],
   for [failed] too. *)
let inside s w ~failed f =
  let before = Fiber.part w in
  let mine =
    Fiber.{ of_ = Promise.any s.promise; tasks = s.home; met_checkpoint = false }
  in
  let restore before () = Option.iter (fun w -> Fiber.become w before) (Fiber.here ()) in
  let put_back () = Outcome.firmly restore before () in
  let wait_for_all () =
    end_one s.promise s.pending;
    Fork.wait_done ~struck:(stop_again s) s.promise
  in
  let end_it () = Outcome.finally put_back () wait_for_all in
  match
    Fiber.become w mine;
    f s
  with
  | result ->
    end_it ();
    Ok result
  | exception exn ->
    let failure = Outcome.caught exn in
    (match failed failure with
    | () -> end_it ()
    | exception exn ->
      let struck = Outcome.caught exn in
      end_it ();
      Outcome.raise struck);
    Error failure

(* Whether the scope's code, which is on [w], was told: then it goes on as part of nothing
   (Fiber.tell). *)
let was_told s w = Fiber.context w != Promise.any s.promise

(* Runs [f] as a task of the scope: its failure is the scope's, unless the task was stopped. An
   asynchronous exception before the first step is one, too. *)
let guarded s f =
  let body () =
    try
      let me = Fiber.get () in
      try f ()
      with Promise.Cancelled as exn ->
        let failure = Outcome.caught exn in
        if not (Cancellation.is_stopped me) then fail s failure;
        Outcome.raise failure
    with
    | Promise.Cancelled as exn -> raise exn
    | exn ->
      let failure = Outcome.caught exn in
      fail s failure;
      Outcome.raise failure
  in
  body

(* Not by adding first and looking then: of two late forks the second would see the first's 1. *)
let rec count_one_more pending =
  let n = Atomic.get pending in
  n > 0 && (Atomic.compare_and_set pending n (n + 1) || count_one_more pending)

(* Counted once it is there, so that an asynchronous exception does not come in between. *)
let task s f =
  let task = Promise.make_attached s.home s.leave f in
  if not (count_one_more s.pending) then invalid_arg "Muster.Task.fork: the scope has ended";
  task
