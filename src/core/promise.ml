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

   At rest every promise is Returned or Raised, and no waiter is left. *)

type waker = unit -> unit

type 'a state =
  | Ready of (unit -> 'a) * waker list
  | Running of waker list
  | Returned of 'a
  | Raised of raised

and raised = { failure : Outcome.failure; heard : bool Atomic.t }

type 'a t = { state : 'a state Atomic.t; unheard : unheard }
and any = Any : 'a t -> any [@@unboxed]
and unheard = any -> raised -> unit

exception Skipped

let ignored _ _ = ()
let nobody = Running []
let running = function [] -> nobody | waiters -> Running waiters
let[@inline] make ~unheard f = { state = Atomic.make (Ready (f, [])); unheard }
let is_ready p = match Atomic.get p.state with Ready _ -> true | _ -> false
let is_done p = match Atomic.get p.state with Returned _ | Raised _ -> true | _ -> false
let wake_all waiters = List.iter (fun wake -> wake ()) (List.rev waiters)

(* A failed compare-and-set may only mean that one more waiter came: hence the loops. *)
let rec claim p =
  match Atomic.get p.state with
  | Ready (_, waiters) as ready ->
    Atomic.compare_and_set p.state ready (running waiters) || claim p
  | Running _ | Returned _ | Raised _ -> false

let resolve p result =
  match (Atomic.exchange p.state result, result) with
  | Running [], Raised raised -> p.unheard (Any p) raised
  | Running [], _ -> ()
  | Running waiters, _ -> wake_all waiters
  | (Ready _ | Returned _ | Raised _), _ -> assert false

let raised failure = Raised { failure; heard = Atomic.make false }

(* The result is built inside the [try]: an asynchronous exception (Ctrl-C) that strikes at
   its allocation still resolves the promise. *)
let result_of f = try Returned (f ()) with exn -> raised (Outcome.caught exn)

let rec run p =
  match Atomic.get p.state with
  | Ready (f, waiters) as ready ->
    if Atomic.compare_and_set p.state ready (running waiters) then resolve p (result_of f)
    else run p
  | Running _ | Returned _ | Raised _ -> ()

let skipped = Outcome.{ exn = Skipped; backtrace = Printexc.get_callstack 0 }

let rec skip p =
  match Atomic.get p.state with
  | Ready (_, waiters) as ready ->
    if Atomic.compare_and_set p.state ready (raised skipped) then (wake_all waiters; true)
    else skip p
  | Running _ | Returned _ | Raised _ -> false

let rec on_done p wake =
  let register state = Atomic.compare_and_set p.state state in
  match Atomic.get p.state with
  | Ready (f, waiters) as ready ->
    if not (register ready (Ready (f, wake :: waiters))) then on_done p wake
  | Running waiters as running ->
    if not (register running (Running (wake :: waiters))) then on_done p wake
  | Returned _ | Raised _ -> wake ()

let result p =
  match Atomic.get p.state with
  | Returned v -> v
  | Raised { failure; heard } -> Atomic.set heard true; Outcome.raise failure
  | Ready _ | Running _ -> invalid_arg "Muster: result of a task that has not ended"
