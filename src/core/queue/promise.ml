(* {v
     Ready (f, a) --claim--> Running a --resolve--> Returned v | Raised failure
        |   ^   \              |   ^ |
        +---+    \             +---+ +--stop--> Running {a with stopped}
                  +--stop--> Raised cancelled                on_done, on_stop: one more entry
   v}

   Parties: any number of claimants (the worker that took the task from a deque, the callers that
   await it), of waiters and of those that stop it. [claim] and [stop] are compare-and-sets from
   Ready, so exactly one party runs the function or none ever does; an entry of a deque is only a
   hint. Only the claimant resolves, once, by a compare-and-set that hands it every entry registered
   before; a waiter that comes later finds the result.

   Order: all goes through one atomic. So the claimant's steps before [resolve] happen before a
   waiter's wake, and before any read that finds the result.

   Stop. A running task that is stopped goes on until its next checkpoint (Fiber). A wait on its
   behalf registers an entry for the stop: [stop] fires them, once. A value that comes after the
   stop is dropped, unless it is [kept].

   Around it. A task stops with the scopes around it: its [lineage], the inner ones first. A scope's
   mark stops all within at once: a look ([is_orphan]) walks outwards. So that no walk is long, a
   part is linked before anything is within it. Then it stands as an entry in the innermost part
   around it that runs, and that one is linked too; so a stop marks one after the other. While no
   stop is on its way ([unsettled]), a linked part without a mark is not stopped. A part hands those
   within it to the next one around before it ends; so each stands somewhere at any time. (Picos,
   by Karvonen, attaches triggers to computations in this way.)

   A wait adds its entry, then links. Either it finds the mark, or the stop finds the entry, as both
   go through the promise's one atomic. A task may see the stop before that comes to it, and end:
   then it stops itself first ([resolve]), so that its hooks are called all the same.

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
  ends : Entries.t;  (** for its end *)
  hooks : Entries.t;  (** for its stop *)
  inner : Entries.t;  (** the stops of the parts within it *)
  stopped : bool;
  kept : bool;  (** its value counts, stopped or not *)
  link : Entries.entry;  (** its own stop, in a part around it; [nobodys]: not yet *)
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
  opened_by : any option;
  locals : local list;
  running : 'a. 'a state;
}

and lineage = Alone | Within of { part : any; outer : lineage Atomic.t }
and local = Local : 'a Type.Id.t * 'a -> local
and unheard = any -> raised -> unit
and any = opaque t
and opaque

exception Cancelled
exception Skipped

let nothing =
  let none = Entries.none in
  { ends = none; hooks = none; inner = none; stopped = false; kept = false; link = Entries.nobodys }

let home ?(lineage = Alone) ?(locals = []) ?opened_by ~unheard owner =
  let rec home =
    { owner; unheard; lineage; opened_by; locals; running = Running (home, nothing) }
  in
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

(* By a function that may be called again. Whether that changed something. A failed compare-and-set
   may only mean that one more entry came: hence the loops here and below. *)
let rec change p f =
  let put seen attached next =
    let changed = f attached in
    changed != attached && (Atomic.compare_and_set p seen (next changed) || change p f)
  in
  match Atomic.get p with
  | Ready (g, home, attached) as seen -> put seen attached (fun a -> Ready (g, home, a))
  | Running (home, attached) as seen -> put seen attached (fun a -> Running (home, a))
  | Returned _ | Raised _ -> false

let attached_to fire =
  let entry = Entries.entry fire in
  { nothing with ends = Entries.add entry Entries.none }

let on_done ?is_live p wake =
  let entry = Entries.entry ?is_live wake in
  if not (change p (fun a -> { a with ends = Entries.add entry a.ends })) then wake ()

let set_kept kept p = change p (fun a -> if a.kept = kept then a else { a with kept })

(* {2 Stop} *)

let cancelled = Outcome.{ exn = Cancelled; backtrace = Printexc.get_callstack 0 }

let failed failure ~after_stop =
  { failure; heard = Atomic.make Unheard; after_stop; canary = None }

let raised failure = Raised (failed failure ~after_stop:false)

(* Stops that are on their way to the parts within. *)
let unsettled = Compat.padded (Atomic.make 0)

let rec stop p =
  match Atomic.get p with
  | Ready (_, _, { ends; _ }) as ready ->
    if Atomic.compare_and_set p ready (raised cancelled) then Entries.fire ends else stop p
  | Running (home, ({ stopped = false; hooks; inner; _ } as a)) as running ->
    let none = Entries.none in
    let stopped = Running (home, { a with stopped = true; hooks = none; inner = none }) in
    (* Unbroken from the mark to the first step of [fire]. *)
    let mark () =
      let is_mine = Atomic.compare_and_set p running stopped in
      if is_mine then Outcome.finally Entries.fire inner Entries.fire hooks;
      is_mine
    in
    let while_on_its_way () =
      Atomic.incr unsettled;
      Outcome.finally Atomic.decr unsettled mark ()
    in
    if not (if Entries.is_none inner then mark () else while_on_its_way ()) then stop p
  | Running _ | Returned _ | Raised _ -> ()

let is_marked = function
  | Running (_, { stopped; _ }) -> stopped
  | Raised { failure; after_stop; _ } -> after_stop || failure == cancelled
  | Ready _ | Returned _ -> false

(* [settled] was read before. *)
let rec is_within_stopped ~settled = function
  | Alone -> false
  | Within { part; outer } -> (
    match Atomic.get part with
    | Running (_, { stopped = false; link; _ }) when settled && link != Entries.nobodys -> false
    | state -> is_marked state || is_within_stopped ~settled (Atomic.get outer))

let is_orphan lineage = is_within_stopped ~settled:(Atomic.get unsettled = 0) lineage

let is_stopped p =
  let settled = Atomic.get unsettled = 0 in
  match Atomic.get p with
  | Running (_, { stopped = false; link; _ }) when settled && link != Entries.nobodys -> false
  | (Ready (_, { lineage; _ }, _) | Running ({ lineage; _ }, _)) as state ->
    is_marked state || is_within_stopped ~settled lineage
  | (Returned _ | Raised _) as state -> is_marked state

(* {2 The parts around} *)

let has_passed = function
  | Returned _ -> true
  | Raised _ as state -> not (is_marked state)
  | Ready _ | Running _ -> false

(* Without those that have ended: they cannot be stopped any more. A task that starts the next one
   in a scope of its own, and so on for ever, would have all before it around it. Others may set
   [outer] too: whatever it is, it leads to the same parts that run. *)
let rec innermost = function
  | Within { part; outer } when has_passed (Atomic.get part) ->
    let next = Atomic.get outer in
    let found = innermost next in
    if found != next then Atomic.set outer found;
    found
  | lineage -> lineage

let within part lineage = Within { part; outer = Atomic.make lineage }

(* The innermost part that runs has these within it, too. *)
let rec adopt inner = function
  | Alone -> ()
  | Within { part; _ } as around ->
    let take a = if a.stopped then a else { a with inner = Entries.union inner a.inner } in
    if not (change part take) then
      if is_marked (Atomic.get part) then Entries.fire inner else adopt inner (innermost around)

let is_linked_by entry p =
  match Atomic.get p with Running (_, { link; _ }) -> link == entry | _ -> false

(* The outer ones first: a part counts as linked when a stop finds its way to it. *)
let rec link p =
  match Atomic.get p with
  | Running ({ lineage = Within _ as lineage; _ }, { link; _ }) when link == Entries.nobodys ->
    let entry = Entries.entry (fun () -> stop p) in
    Outcome.firmly (link_by entry lineage) p ()
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

and link_by entry lineage p () =
  let around = innermost lineage in
  let set a = if a.link == Entries.nobodys then { a with link = entry } else a in
  (match around with Within { part; _ } -> link part | Alone -> ());
  adopt (Entries.add entry Entries.none) around;
  if not (change p set || is_linked_by entry p) then Entries.forget entry

let on_stop p entry =
  let add a = if a.stopped then a else { a with hooks = Entries.add entry a.hooks } in
  if change p add then link (any p)
  else if is_stopped p then Entries.fire (Entries.add entry Entries.none)

(* {2 Run} *)

let[@inline] running home attached =
  if attached == nothing then home.running else Running (home, attached)

let rec claim p =
  match Atomic.get p with
  | Ready (_, home, attached) as ready ->
    Atomic.compare_and_set p ready (running home attached) || claim p
  | Running _ | Returned _ | Raised _ -> false

let cancelled_late = Raised (failed cancelled ~after_stop:true)

(* A value that comes after the stop is dropped, unless it is kept. *)
let[@inline] outcome state result =
  match (state, result) with
  | Running (_, { stopped = true; kept = false; _ }), Returned _ -> cancelled_late
  | Running (_, { stopped = true; _ }), Raised raised ->
    raised.after_stop <- true;
    result
  | _ -> result

let hand_over = function
  | Running ({ lineage = Within _ as lineage; _ }, { inner; link; _ })
    when link != Entries.nobodys ->
    let around = innermost lineage and inner = Entries.live inner in
    if not (Entries.is_none inner) then adopt inner around
  | _ -> ()

(* A scope's stop that has yet to come to the task finds it ended, and calls its hooks no more. *)
let stop_linked_orphan p =
  match Atomic.get p with
  | Running ({ lineage; _ }, { link; stopped = false; _ })
    when link != Entries.nobodys && is_orphan lineage ->
    stop p
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

let is_failure { failure; _ } = failure.exn != Cancelled

(* Whether the failure finds no waiter. [Cancelled] needs no report: the program wanted it. *)
let is_unheard ends = function
  | Raised raised when is_failure raised ->
    if Entries.are_expecting ends then Atomic.set raised.heard Heard;
    not (Entries.are_waiting ends)
  | Ready _ | Running _ | Returned _ | Raised _ -> false

let tell p home = function
  | Raised raised when is_failure raised -> home.unheard (any p) raised
  | Ready _ | Running _ | Returned _ | Raised _ -> ()

(* Unbroken until the handlers, and from them to the first step of [fire]. An asynchronous exception
   goes on when the rest is done. Where it is not known whether a waiter comes the failure is told,
   too: one that comes makes it heard. *)
let announce p home { ends; link; _ } result =
  Entries.forget link;
  match is_unheard ends result with
  | unheard -> (
    match Entries.fire ends with
    | () -> if unheard then tell p home result
    | exception exn ->
      let failure = Outcome.caught exn in
      if unheard then tell p home result;
      Outcome.raise failure)
  | exception exn ->
    let failure = Outcome.caught exn in
    Outcome.finally (tell p home) result Entries.fire ends;
    Outcome.raise failure

let forgo p home = tell p home (Atomic.get p)

(* Unbroken from the step to its announcement. *)
let rec try_resolve p result =
  match Atomic.get p with
  | Running (home, attached) as before ->
    hand_over before;
    if Atomic.compare_and_set p before (outcome before result) then begin
      announce p home attached result;
      true
    end
    else try_resolve p result
  | Ready _ | Returned _ | Raised _ -> false

(* An asynchronous exception is raised when the promise has been resolved: one that a hook raises,
   or that comes where another party changes the state meanwhile. *)
let end_it p result =
  stop_linked_orphan p;
  ignore (try_resolve p result)

let[@inline never] resolve p result =
  Outcome.firmly end_it p result;
  Atomic.get p

(* Mostly it has no entries, and was not stopped. *)
let[@inline] resolve_from home p result =
  match result with
  | Returned _ when Atomic.compare_and_set p home.running result -> result
  | _ -> resolve p result

let[@inline never] result_of_failing exn =
  match raised (Outcome.caught exn) with
  | result -> result
  | exception exn -> raised (Outcome.caught exn)

let result_of f x = try Returned (f x) with exn -> result_of_failing exn

(* An asynchronous exception (Ctrl-C) that strikes at the allocation of the result comes after the
   last step of [f]: it is raised when the promise has been resolved. *)
let return_to p v = ignore (resolve p (Returned v))

let[@inline never] end_struck p v exn =
  let failure = Outcome.caught exn in
  Outcome.firmly return_to p v;
  Outcome.raise failure

(* As [claim]: to call that would make an async and an await 5 % longer. *)
let rec run p =
  match Atomic.get p with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when is_orphan lineage ->
    stop p;
    Atomic.get p
  | Ready (f, home, attached) as ready ->
    if not (Atomic.compare_and_set p ready (running home attached)) then run p
    else begin
      match f () with
      | v -> (
        match Returned v with
        | result -> resolve_from home p result
        | exception exn -> end_struck p v exn)
      | exception exn -> resolve p (result_of_failing exn)
    end
  | (Running _ | Returned _ | Raised _) as state -> state
