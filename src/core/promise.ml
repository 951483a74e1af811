(* A task and the place of its result.

   {v
     Ready (f, ws) --claim--> Running ws --resolve--> Returned v | Raised failure
        |   ^   \                |   ^
        +---+    \               +---+    on_done: one more waiter
                  +--skip--> Raised Skipped
   v}

   Parties: any number of claimants (the worker that took the task from a deque, whoever
   awaits it) and any number of waiters. [claim] and [skip] are compare-and-sets from Ready,
   so exactly one party runs or skips the function; a deque or inbox entry is only a hint that
   the promise may still be ready. Only the claimant resolves, once, by an exchange that
   hands it every waiter registered before; a waiter that comes later finds the result.

   Order: what the claimant did before [resolve] happens before a waiter's wake and before
   any read that finds the result, because both go through [state].

   [unheard] is called where a failure finds no waiter; [heard] tells whether somebody has
   come for it since.

   What all tasks of a pool have in common is in their [home], which a promise knows until it
   ends. So a promise is one atomic and its state, and a claim mostly allocates nothing: the
   home keeps a Running without waiters. [any] is a promise whose type of result is forgotten:
   results of that type are opaque, so nobody can take one for another type's.

   At rest every promise is Returned or Raised, and no waiter is left. *)

type waker = unit -> unit
type owner = ..
type owner += Nobody

type 'a t = 'a state Atomic.t

and 'a state =
  | Ready of (unit -> 'a) * home * waker list
  | Running of home * waker list
  | Returned of 'a
  | Raised of raised

and raised = {
  failure : Outcome.failure;
  heard : bool Atomic.t;
  mutable token : token;  (** lives as long as the promise; nobody reads it *)
}

and token = No_token | Token : 'a -> token
and home = { owner : owner; unheard : unheard; running : 'a. 'a state }
and unheard = any -> raised -> unit
and any = opaque t
and opaque

exception Skipped

let home ~unheard owner =
  let rec home = { owner; unheard; running = Running (home, []) } in
  home

let nowhere = home ~unheard:(fun _ _ -> ()) Nobody
let[@inline] make home f = Atomic.make (Ready (f, home, []))
let[@inline] any p : any = Compat.recast p
let[@inline] state p = Atomic.get p
let running home = function [] -> home.running | waiters -> Running (home, waiters)
let is_ready p = match Atomic.get p with Ready _ -> true | _ -> false
let is_done p = match Atomic.get p with Returned _ | Raised _ -> true | _ -> false
let wake_all waiters = List.iter (fun wake -> wake ()) (List.rev waiters)

(* A failed compare-and-set may only mean that one more waiter came: hence the loops. *)
let rec claim p =
  match Atomic.get p with
  | Ready (_, home, waiters) as ready ->
    Atomic.compare_and_set p ready (running home waiters) || claim p
  | Running _ | Returned _ | Raised _ -> false

let resolve p result =
  match (Atomic.exchange p result, result) with
  | Running (home, []), Raised raised -> home.unheard (any p) raised
  | Running (_, []), _ -> ()
  | Running (_, waiters), _ -> wake_all waiters
  | (Ready _ | Returned _ | Raised _), _ -> assert false

let raised failure = Raised { failure; heard = Atomic.make false; token = No_token }

(* The result is built inside the [try]: an asynchronous exception (Ctrl-C) that strikes at
   its allocation still resolves the promise. *)
let result_of f = try Returned (f ()) with exn -> raised (Outcome.caught exn)

let rec run_from state p =
  match state with
  | Ready (f, home, waiters) ->
    if Atomic.compare_and_set p state (running home waiters) then begin
      let result = result_of f in
      resolve p result;
      result
    end
    else run_from (Atomic.get p) p
  | Running _ | Returned _ | Raised _ -> state

let run p = run_from (Atomic.get p) p

let skipped = Outcome.{ exn = Skipped; backtrace = Printexc.get_callstack 0 }

let rec skip p =
  match Atomic.get p with
  | Ready (_, _, waiters) as ready ->
    if Atomic.compare_and_set p ready (raised skipped) then (wake_all waiters; true)
    else skip p
  | Running _ | Returned _ | Raised _ -> false

let rec on_done p wake =
  let register state = Atomic.compare_and_set p state in
  match Atomic.get p with
  | Ready (f, home, waiters) as ready ->
    if not (register ready (Ready (f, home, wake :: waiters))) then on_done p wake
  | Running (home, waiters) as running ->
    if not (register running (Running (home, wake :: waiters))) then on_done p wake
  | Returned _ | Raised _ -> wake ()

let[@inline] value = function
  | Returned v -> v
  | Raised { failure; heard; _ } -> Atomic.set heard true; Outcome.raise failure
  | Ready _ | Running _ -> invalid_arg "Muster: result of a task that has not ended"

let result p = value (Atomic.get p)
