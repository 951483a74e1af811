(* A task and the place of its result.

   {v
     Ready (f, a) --claim--> Running a --resolve--> Returned v | Raised failure
        |   ^   \              |   ^ |
        +---+    \             +---+ +--stop--> Running {a with stopped}
                  +--stop--> Raised cancelled                on_done, add_hook: one more entry
   v}

   Parties: any number of claimants (the worker that took the task from a deque, the callers that
   await it), of waiters and of those that stop it. [claim] and [stop] are compare-and-sets from
   Ready, so exactly one party runs the function or none ever does; an entry of a deque is only a
   hint. Only the claimant resolves, once, by a compare-and-set that hands it every entry registered
   before; a waiter that comes later finds the result.

   Order: all goes through one atomic. So the claimant's steps before [resolve] happen before a
   waiter's wake, and before any read that finds the result.

   Stop. A running task that is stopped goes on until its next checkpoint (Fiber). A wait on its
   behalf registers an entry for the stop: [stop] takes those out and fires them, once. A value that
   comes after the stop is dropped, unless it is [kept]. Cancellation has the scopes around a task.

   Failures. [unheard] is called where a failure finds no waiter, and where a waiter goes without it
   ([forgo]); [heard] tells whether it was called, and whether a waiter has come for it since.

   A promise has its shared [home] until it ends. So a promise is one atomic and its state, and a
   claim mostly allocates nothing: the home keeps a Running without entries. [any] is a promise
   whose type of result is forgotten: that type is opaque, so no code can take a result for another
   type's. At rest every promise is Returned or Raised, and no entry is left. *)

type waker = Entries.waker
type owner = ..
type owner += Nobody

type attached = {
  entries : Entries.t;
  stopped : bool;
  kept : bool;  (** its value counts, stopped or not *)
  linked : bool;  (** the stops of the scopes around it call its hooks (Cancellation) *)
}

type 'a t = 'a state Atomic.t

and 'a state =
  | Ready of (unit -> 'a) * home * attached
  | Running of home * attached
  | Returned of 'a
  | Raised of raised

and raised = {
  failure : Outcome.failure;
  heard : heard Atomic.t;
  mutable after_stop : bool;  (** written before anybody sees it *)
  mutable canary : Machine.Canary.t option;
}

and heard = Unheard | Noted | Heard

and home = {
  owner : owner;
  unheard : unheard;
  lineage : lineage;
  of_scope : bool;
  locals : local list;
  running : 'a. 'a state;
}

and lineage = Alone | Within of any * lineage
and local = Local : 'a Type.Id.t * 'a -> local
and unheard = any -> raised -> unit
and any = opaque t
and opaque

exception Cancelled
exception Skipped

let nothing = { entries = Entries.none; stopped = false; kept = false; linked = false }

let home ?(lineage = Alone) ?(locals = []) ?(of_scope = false) ~unheard owner =
  let rec home = { owner; unheard; lineage; of_scope; locals; running = Running (home, nothing) } in
  home

let nowhere = home ~unheard:(fun _ _ -> ()) Nobody
let make_attached home attached f = Atomic.make (Ready (f, home, attached))
let[@inline] make home f = Atomic.make (Ready (f, home, nothing))
let started home = Atomic.make home.running
let[@inline] any p : any = Compat.recast p
let[@inline] state p = Atomic.get p
let is_ready p = match Atomic.get p with Ready _ -> true | _ -> false
let is_done p = match Atomic.get p with Returned _ | Raised _ -> true | _ -> false

let[@inline] value = function
  | Returned v -> v
  | Raised { failure; heard; _ } ->
    Atomic.set heard Heard;
    Outcome.raise failure
  | Ready _ | Running _ -> invalid_arg "Muster: result of a task that has not ended"

let result p = value (Atomic.get p)

(* {2 Entries} *)

(* Whether the event is still to come. A failed compare-and-set may only mean that one more entry
   came: hence the loops here and below. *)
let rec attach p event ~is_live fire =
  let add a = { a with entries = Entries.add event ~is_live fire a.entries } in
  let replace seen state = Atomic.compare_and_set p seen state || attach p event ~is_live fire in
  match Atomic.get p with
  | Ready (f, home, attached) as seen -> replace seen (Ready (f, home, add attached))
  | Running (_, { stopped = true; _ }) when event = Entries.Stop -> false
  | Running (home, attached) as seen -> replace seen (Running (home, add attached))
  | Returned _ | Raised _ -> false

let attached_to fire =
  { nothing with entries = Entries.add End ~is_live:Entries.always fire Entries.none }

let on_done ?(is_live = Entries.always) p wake =
  if not (attach p End ~is_live wake) then wake ()

let add_hook ~is_live p hook = attach p Stop ~is_live hook

(* Of a running task, by a function that may be called again. Whether that changed something. *)
let rec change p f =
  match Atomic.get p with
  | Running (home, attached) as running ->
    let changed = f attached in
    changed != attached
    && (Atomic.compare_and_set p running (Running (home, changed)) || change p f)
  | Ready _ | Returned _ | Raised _ -> false

let note_linked p = change p (fun a -> if a.linked then a else { a with linked = true })
let set_kept kept p = ignore (change p (fun a -> if a.kept = kept then a else { a with kept }))

(* {2 Stop} *)

let cancelled = Outcome.{ exn = Cancelled; backtrace = Printexc.get_callstack 0 }

let failed failure ~after_stop =
  { failure; heard = Atomic.make Unheard; after_stop; canary = None }

let raised failure = Raised (failed failure ~after_stop:false)

let rec stop p =
  match Atomic.get p with
  | Ready (_, _, { entries; _ }) as ready ->
    if Atomic.compare_and_set p ready (raised cancelled) then Entries.fire End entries else stop p
  | Running (home, ({ stopped = false; entries; _ } as attached)) as running ->
    let stopped = { attached with stopped = true; entries = Entries.only End entries } in
    if Atomic.compare_and_set p running (Running (home, stopped)) then Entries.fire Stop entries
    else stop p
  | Running _ | Returned _ | Raised _ -> ()

let is_marked = function
  | Running (_, { stopped; _ }) -> stopped
  | Raised { failure; after_stop; _ } -> after_stop || failure == cancelled
  | Ready _ | Returned _ -> false

let rec is_orphan = function
  | Alone -> false
  | Within (p, outer) -> is_marked (Atomic.get p) || is_orphan outer

(* {2 Run} *)

let[@inline] running home attached =
  if attached == nothing then home.running else Running (home, attached)

let rec claim p =
  match Atomic.get p with
  | Ready (_, home, attached) as ready ->
    Atomic.compare_and_set p ready (running home attached) || claim p
  | Running _ | Returned _ | Raised _ -> false

let late = failed cancelled ~after_stop:true
let cancelled_late = Raised late

(* A value that comes after the stop is dropped, unless it is kept. *)
let[@inline] outcome state result =
  match (state, result) with
  | Running (_, { stopped = true; kept = false; _ }), Returned _ -> cancelled_late
  | Running (_, { stopped = true; _ }), Raised raised ->
    raised.after_stop <- true;
    result
  | _ -> result

(* The state before. *)
let rec replace p result =
  let state = Atomic.get p in
  if Atomic.compare_and_set p state (outcome state result) then state else replace p result

(* A scope's stop that has yet to come to the task finds it ended, and calls its hooks no more. *)
let stop_linked_orphan p =
  match Atomic.get p with
  | Running ({ lineage; _ }, { linked = true; stopped = false; _ }) when is_orphan lineage -> stop p
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

let is_failure { failure; _ } = failure.exn != Cancelled

(* [Cancelled] needs no report: the program wanted it. *)
let announce p before result =
  match (before, result) with
  | Running (home, { entries; _ }), Raised raised -> (
    if Entries.are_expecting entries then Atomic.set raised.heard Heard;
    match is_failure raised && not (Entries.are_waiting entries) with
    | tell ->
      Entries.fire End entries;
      if tell then home.unheard (any p) raised
    | exception exn ->
      Entries.fire End entries;
      raise exn)
  | Running (_, { entries; _ }), _ -> Entries.fire End entries
  | (Ready _ | Returned _ | Raised _), _ -> assert false

(* The waiter had an entry, so the party that ended [p] may have told nobody. *)
let forgo p home =
  match Atomic.get p with
  | Raised raised when is_failure raised -> home.unheard (any p) raised
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* No asynchronous exception strikes before the promise is resolved: one that a hook raises, or that
   comes where another party changes the state meanwhile, is raised afterwards. *)
let[@inline never] resolve p result =
  (match
     stop_linked_orphan p;
     replace p result
   with
  | before -> announce p before result
  | exception exn ->
    let before = Atomic.exchange p (outcome (Atomic.get p) result) in
    announce p before result;
    raise exn);
  Atomic.get p

(* By one of several parties. Between the step and its announcement nothing allocates. *)
let try_resolve p result =
  let announce = announce p in
  let rec attempt () =
    match Atomic.get p with
    | Running _ as before when Atomic.compare_and_set p before (outcome before result) ->
      Outcome.firmly announce before result;
      true
    | Running _ -> attempt ()
    | Ready _ | Returned _ | Raised _ -> false
  in
  attempt ()

(* Mostly it has no entries, and was not stopped. *)
let[@inline] resolve_from home p result =
  match result with
  | Returned _ when Atomic.compare_and_set p home.running result -> result
  | _ -> resolve p result

(* The result is built inside the [try]: an asynchronous exception (Ctrl-C) that strikes at
   its allocation still resolves the promise. *)
let result_of f =
  try Returned (f ())
  with exn -> (
    match raised (Outcome.caught exn) with
    | result -> result
    | exception exn -> raised (Outcome.caught exn))

(* As [claim]: to call that would make an async and an await 5 % longer. *)
let rec run p =
  match Atomic.get p with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when is_orphan lineage ->
    stop p;
    Atomic.get p
  | Ready (f, home, attached) as ready ->
    if Atomic.compare_and_set p ready (running home attached) then
      resolve_from home p (result_of f)
    else run p
  | (Running _ | Returned _ | Raised _) as state -> state
