(* One atomic with an immutable state, changed as a whole by compare-and-set.

   {v
     Pending f --force--> Running { fiber; ended } --f returns, raises--> Value | Failed
         ^                       |
         +--- f is cancelled ----+
   v}

   The party that brings it from Pending to Running computes. It alone leaves Running, and then
   resolves [ended], for which others wait. They look again; one of them takes a Pending over.

   At rest it is Pending, Value or Failed. *)

exception Undefined = Stdlib.Lazy.Undefined

type 'a state =
  | Pending of (unit -> 'a)
  | Running of running
  | Value of 'a
  | Failed of Outcome.failure

and running = { fiber : int; ended : unit Promise.t }

type 'a t = 'a state Atomic.t

let from_fun f = Atomic.make (Pending f)
let from_val v = Atomic.make (Value v)
let is_val t = match Atomic.get t with Value _ -> true | Pending _ | Running _ | Failed _ -> false

let wake_all ended () = ignore (Promise.try_resolve ended (Returned ()))

let leave t ended state =
  Atomic.set t state;
  Outcome.firmly wake_all ended ()

(* May be called again, when another party has taken a Pending over. *)
let fail (t, ended, f, was_cancelled) (failure : Outcome.failure) =
  match Atomic.get t with
  | Running r when r.ended == ended ->
    leave t ended (if was_cancelled failure.exn then Pending f else Failed failure)
  | Pending _ | Running _ | Value _ | Failed _ -> ()

(* Unbroken from the computation's handler to that of [firmly]. So an asynchronous exception counts
   as the computation's. *)
let compute ((t, ended, f, _) as mine) =
  match Value (f ()) with
  | value -> leave t ended value
  | exception exn ->
    let failure = Outcome.caught exn in
    Outcome.firmly fail mine failure;
    Outcome.raise failure

let event = Event.make "Lazy.force"
let rec force_slow t =
  match Atomic.get t with
  | Value v -> v
  | Failed failure -> Outcome.raise failure
  | Pending f as seen ->
    let ended = Promise.started Promise.nowhere and was_cancelled = Fiber.watch () in
    let mine = (t, ended, f, was_cancelled) in
    let running = Running { fiber = Fiber.number (); ended } in
    if Atomic.compare_and_set t seen running then compute mine;
    force_slow t
  | Running { fiber; _ } when Fiber.is_me fiber -> raise Undefined
  | Running { ended; _ } ->
    Waiter.wait_for event ended;
    force_slow t

let[@inline] force t = match Atomic.get t with Value v -> v | _ -> force_slow t
let map f t = from_fun (fun () -> f (force t))
let map_val f t = match Atomic.get t with Value v -> from_val (f v) | _ -> map f t
