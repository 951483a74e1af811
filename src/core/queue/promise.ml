(* A task and the place of its result.

   {v
     Ready (f, a) --claim--> Running a --resolve--> Returned v | Raised failure
        |   ^   \              |   ^ |
        +---+    \             +---+ +--stop--> Running {a with stopped}
                  +--stop--> Raised cancelled                 on_done, on_stop: one more entry
   v}

   Parties: any number of claimants (the worker that took the task from a deque, whoever
   awaits it), of waiters and of those who stop it. [claim] and [stop] are compare-and-sets from
   Ready, so exactly one party runs the function or none ever does; a deque or inbox entry is
   only a hint that the promise may still be ready. Only the claimant resolves, once, by a
   compare-and-set that hands it every entry registered before; a waiter that comes later finds the
   result.

   Order: what the claimant did before [resolve] happens before a waiter's wake and before
   any read that finds the result, because both go through [state].

   Cancellation. A running task that is stopped goes on until it looks ([is_stopped], Fiber).
   Who waits on its behalf registers an entry for the stop: [stop] takes those out and fires
   them, once. A value that comes after the stop is dropped. But what was waited for and came before, a
   message, say, would be lost with the value of a strand that goes on with it only afterwards: that value is [kept],
   until the strand is told.

   A task stops with whom it belongs to: [lineage] has the scopes around it, inner first, each a
   promise that runs as long as the scope. Whoever asks walks it. Nobody tells the tasks of a
   scope, but for those that wait: with the first entry for its stop a promise is [linked], that
   is, registers its own stop with each promise of its lineage. (Picos, by Karvonen, attaches
   triggers to computations in this way.) One that sees the stop first, and ends, fires those entries itself.

   Entries that have lost their purpose are swept out when they might be more than half.

   [unheard] is called where a failure finds no waiter, and where a waiter goes without it ([forgo]);
   [heard] tells whether it was called, and whether somebody has come for the failure since.

   What all tasks of a pool, or of a scope in it, have in common is in their [home], which a
   promise knows until it ends. So a promise is one atomic and its state, and a claim mostly
   allocates nothing: the home keeps a Running without entries.
   [any] is a promise whose type of result is forgotten: results of that type are opaque, so
   nobody can take one for another type's.

   At rest every promise is Returned or Raised, and no entry is left. *)

type waker = unit -> unit
type owner = ..
type owner += Nobody
type event = End | Stop
type entry = { event : event; fire : waker; is_live : unit -> bool }

type attached = {
  entries : entry list;  (** newest first *)
  length : int;
  limit : int;  (** to sweep at *)
  stopped : bool;
  linked : bool;
  kept : bool;  (** its value counts, stopped or not *)
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
  mutable token : token;  (** lives as long as the promise; nobody reads it *)
}

and heard = Unheard | Noted | Heard
and token = No_token | Token : 'a -> token

and home = {
  owner : owner;
  unheard : unheard;
  lineage : lineage;
  of_scope : bool;
  running : 'a. 'a state;
}

and lineage = Alone | Within of any * lineage
and unheard = any -> raised -> unit
and any = opaque t
and opaque

exception Cancelled
exception Skipped

let shortest = 8

let nothing =
  { entries = []; length = 0; limit = shortest; stopped = false; linked = false; kept = false }

let home ?(lineage = Alone) ?(of_scope = false) ~unheard owner =
  let rec home = { owner; unheard; lineage; of_scope; running = Running (home, nothing) } in
  home

let nowhere = home ~unheard:(fun _ _ -> ()) Nobody
let[@inline] make home f = Atomic.make (Ready (f, home, nothing))
let started home = Atomic.make home.running
let[@inline] any p : any = Compat.recast p
let[@inline] state p = Atomic.get p

let[@inline] running home attached =
  if attached == nothing then home.running else Running (home, attached)

let is_ready p = match Atomic.get p with Ready _ -> true | _ -> false
let is_done p = match Atomic.get p with Returned _ | Raised _ -> true | _ -> false

(* {2 Entries} *)

let is_for event entry = entry.event = event
let oldest_first entries = ref (List.rev entries)

(* May be called again, if an exception cuts it short: then it fires that entry again, and none before it. A
   wake-up may come twice. [Scope.end_one] may not, but once it has counted, only who brought the count to 0 can
   still be cut short, and nobody looks at what is below 0. *)
let rec fire_all event left =
  match !left with
  | [] -> ()
  | entry :: later ->
    if is_for event entry then entry.fire ();
    left := later;
    fire_all event left

(* An asynchronous exception (Ctrl-C) keeps nobody waiting: it is raised afterwards. A second one is let
   through. *)
let fire event { entries; _ } =
  match oldest_first entries with
  | left -> Outcome.firmly fire_all event left
  | exception exn ->
    let failure = Outcome.caught exn in
    fire_all event (oldest_first entries);
    Outcome.raise failure

let with_entries attached entries =
  let length = List.length entries in
  { attached with entries; length; limit = Int.max shortest (2 * length) }

let sweep attached =
  with_entries attached (List.filter (fun entry -> entry.is_live ()) attached.entries)

let add attached entry =
  let attached = if attached.length >= attached.limit then sweep attached else attached in
  { attached with entries = entry :: attached.entries; length = attached.length + 1 }

(* Whether the event is still to come. A failed compare-and-set may only mean that one more entry
   came: hence the loops here and below. *)
let rec attach p entry =
  match Atomic.get p with
  | Ready (f, home, attached) as ready ->
    Atomic.compare_and_set p ready (Ready (f, home, add attached entry)) || attach p entry
  | Running (_, { stopped = true; _ }) when entry.event = Stop -> false
  | Running (home, attached) as running ->
    Atomic.compare_and_set p running (Running (home, add attached entry)) || attach p entry
  | Returned _ | Raised _ -> false

let always () = true

let attached_to wakers =
  let add attached fire = add attached { event = End; fire; is_live = always } in
  List.fold_left add nothing wakers

let make_attached home attached f = Atomic.make (Ready (f, home, attached))

let on_done ?(is_live = always) p wake =
  if not (attach p { event = End; fire = wake; is_live }) then wake ()

(* {2 Stop} *)

let cancelled = Outcome.{ exn = Cancelled; backtrace = Printexc.get_callstack 0 }

let raised failure =
  Raised { failure; heard = Atomic.make Unheard; after_stop = false; token = No_token }

(* Who was stopped still tells so when it has ended, to tasks that outlive it. *)
let is_marked = function
  | Running (_, { stopped; _ }) -> stopped
  | Raised { failure; after_stop; _ } -> after_stop || failure == cancelled
  | Ready _ | Returned _ -> false

let has_ended_unstopped p =
  match Atomic.get p with
  | Returned _ -> true
  | Raised _ as state -> not (is_marked state)
  | Ready _ | Running _ -> false

let was_stopped p = is_marked (Atomic.get p)

(* What the strand that opened the scope was a part of, if [p] is an open scope's. *)
let around_scope p =
  match Atomic.get p with
  | Running ({ of_scope = true; lineage = Within (around, _); _ }, _) -> Some around
  | Ready _ | Running _ | Returned _ | Raised _ -> None

(* Whether code that is a part of [me] is a part of [p] in the same strand: scopes that it has opened lie between. *)
let rec is_strand_of p me =
  me == p || match around_scope me with Some around -> is_strand_of p around | None -> false

(* Whether what gets that home is cancelled along with [p]. Of scopes further out, who asks knows more (Task). *)
let[@inline] is_within p home = match home.lineage with Within (q, _) -> q == p | Alone -> false

let rec is_orphan = function
  | Alone -> false
  | Within (p, outer) -> was_stopped p || is_orphan outer

let is_stopped p =
  let state = Atomic.get p in
  is_marked state
  ||
  match state with
  | Ready (_, home, _) | Running (home, _) -> is_orphan home.lineage
  | Returned _ | Raised _ -> false

let rec stop p =
  match Atomic.get p with
  | Ready (_, _, attached) as ready ->
    if Atomic.compare_and_set p ready (raised cancelled) then fire End attached else stop p
  | Running (home, ({ stopped = false; entries; _ } as attached)) as running ->
    let waiters = with_entries attached (List.filter (is_for End) entries) in
    if Atomic.compare_and_set p running (Running (home, { waiters with stopped = true })) then
      fire Stop attached
    else stop p
  | Running _ | Returned _ | Raised _ -> ()

let rec link p =
  match Atomic.get p with
  | Running (({ lineage = Within _; _ } as home), ({ linked = false; _ } as attached)) as running ->
    if Atomic.compare_and_set p running (Running (home, { attached with linked = true })) then
      Outcome.firmly register p home.lineage
    else link p
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* May be done twice. *)
and register p = function
  | Alone -> ()
  | Within (outer, lineage) ->
    let entry =
      { event = Stop; fire = (fun () -> stop p); is_live = (fun () -> not (is_done p)) }
    in
    if (not (attach outer entry)) && was_stopped outer then stop p;
    register p lineage

let on_stop ~is_live p wake =
  if attach p { event = Stop; fire = wake; is_live } then link p else if is_stopped p then wake ()

let rec set_kept kept p =
  match Atomic.get p with
  | Running (home, attached) as running when attached.kept <> kept ->
    if not (Atomic.compare_and_set p running (Running (home, { attached with kept }))) then
      set_kept kept p
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* [p], and what it is a part of in the same strand: what another task was told, or got, is not this one's. *)
let rec each_around f p =
  f p;
  Option.iter (each_around f) (around_scope p)

let keep p = each_around (fun p -> if is_stopped p then set_kept true p) p
let keep_no_longer p = each_around (set_kept false) p

(* {2 Run} *)

let[@inline] claim_from state p =
  match state with
  | Ready (_, home, attached) -> Atomic.compare_and_set p state (running home attached)
  | Running _ | Returned _ | Raised _ -> false

let rec claim p = claim_from (Atomic.get p) p || (is_ready p && claim p)

let somebody_waits { entries; _ } =
  List.exists (fun entry -> is_for End entry && entry.is_live ()) entries

(* A scope does: it raises the first failure, and nobody reports the others. *)
let is_expected { entries; _ } = List.exists (fun entry -> entry.is_live == always) entries

let raised_cancelled =
  { failure = cancelled; heard = Atomic.make Unheard; after_stop = true; token = No_token }

(* A value that comes after the stop is dropped, unless it is kept. *)
let[@inline] outcome state result =
  match (state, result) with
  | Running (_, { stopped = true; kept = false; _ }), Returned _ -> Raised raised_cancelled
  | Running (_, { stopped = true; _ }), Raised raised ->
    raised.after_stop <- true;
    result
  | _ -> result

(* The state until then. *)
let rec replace p result =
  let state = Atomic.get p in
  if Atomic.compare_and_set p state (outcome state result) then state else replace p result

let is_failure { failure; _ } = failure.exn != Cancelled

(* [Cancelled] needs no report: somebody wanted it. *)
let announce p state result =
  match (state, result) with
  | Running (home, attached), Raised raised -> (
    if is_expected attached then Atomic.set raised.heard Heard;
    match is_failure raised && not (somebody_waits attached) with
    | tell ->
      fire End attached;
      if tell then home.unheard (any p) raised
    | exception exn ->
      fire End attached;
      raise exn)
  | Running (_, attached), _ -> if attached.length > 0 then fire End attached
  | (Ready _ | Returned _ | Raised _), _ -> assert false

(* Of one that waited, and will not come for the result: who ended [p] may have counted on it. *)
let forgo p home =
  match Atomic.get p with
  | Raised raised when is_failure raised -> home.unheard (any p) raised
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* One that has noticed by itself that a scope around it was stopped may end before who stopped that comes to it
   ([register]): its hooks are called all the same. *)
let stop_if_orphan p =
  match Atomic.get p with
  | Running ({ lineage; _ }, { linked = true; stopped = false; _ }) when is_orphan lineage -> stop p
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* No asynchronous exception strikes before the promise is resolved: where somebody else changes its state
   meanwhile, [replace] looks for signals, and what is raised there, or by a hook, is raised afterwards. *)
let replace_and_announce p result =
  match replace p result with
  | state -> announce p state result
  | exception exn ->
    announce p (Atomic.exchange p result) result;
    raise exn

let[@inline never] resolve p result =
  (match stop_if_orphan p with
  | () -> replace_and_announce p result
  | exception exn ->
    replace_and_announce p result;
    raise exn);
  Atomic.get p

(* Mostly nobody waits, and nothing was stopped. *)
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

let rec run_from state p =
  match state with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when is_orphan lineage ->
    stop p;
    run_from (Atomic.get p) p
  | Ready (f, home, attached) ->
    if Atomic.compare_and_set p state (running home attached) then
      resolve_from home p (result_of f)
    else run_from (Atomic.get p) p
  | Running _ | Returned _ | Raised _ -> state

let run p = run_from (Atomic.get p) p

let[@inline] value = function
  | Returned v -> v
  | Raised { failure; heard; _ } ->
    Atomic.set heard Heard;
    Outcome.raise failure
  | Ready _ | Running _ -> invalid_arg "Muster: result of a task that has not ended"

let result p = value (Atomic.get p)
