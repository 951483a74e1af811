(* One atomic with an immutable state, changed as a whole by compare-and-set.

   {v
     Pending f --force--> Running { fiber; waiters } --f returns, raises--> Value | Failed
         ^                       |
         +--- f is cancelled ----+
   v}

   The party that brings it from Pending to Running computes. It alone leaves Running, by one step
   that gives it all waiters. It grants them, and they look again; one of them takes a Pending over.
   Dead waiters (of cancelled tasks) need no care.

   At rest it is Pending, Value or Failed. *)

exception Undefined = Stdlib.Lazy.Undefined

type 'a state =
  | Pending of (unit -> 'a)
  | Running of running
  | Value of 'a
  | Failed of Outcome.failure

and running = { fiber : int; waiters : Waiter.t Fifo.t }

type 'a t = 'a state Atomic.t

let from_fun f = Atomic.make (Pending f)
let from_val v = Atomic.make (Value v)
let is_val t = match Atomic.get t with Value _ -> true | Pending _ | Running _ | Failed _ -> false

let ending state =
  ref
    (Duty.Step
       (function
       | Running { waiters; _ } -> (state, Duty.grants (Fifo.to_list waiters))
       | Pending _ | Value _ | Failed _ -> assert false))

(* Unbroken from the computation's handler to that of [fulfil]. So an asynchronous exception counts
   as the computation's. *)
let compute t f ~was_cancelled =
  match
    let v = f () in
    (v, ending (Value v))
  with
  | v, duty ->
    Duty.fulfil t duty;
    v
  | exception exn ->
    let failure = Outcome.caught exn in
    Duty.fulfil t (ending (if was_cancelled exn then Pending f else Failed failure));
    Outcome.raise failure

let join t waiter =
  Duty.step t (function
    | Running r ->
      let waiters = Fifo.push_live ~is_live:Waiter.is_waiting r.waiters waiter in
      (Running { r with waiters }, Done)
    | (Pending _ | Value _ | Failed _) as seen -> (seen, Duty.grants [ waiter ]))

let event = Event.make "Lazy.force"
let rec force_slow t =
  match Atomic.get t with
  | Value v -> v
  | Failed failure -> Outcome.raise failure
  | Pending f as seen ->
    let running = Running { fiber = Fiber.number (); waiters = Fifo.empty } in
    let was_cancelled = Fiber.watch () in
    if Atomic.compare_and_set t seen running then compute t f ~was_cancelled else force_slow t
  | Running { fiber; _ } when Fiber.is_me fiber -> raise Undefined
  | Running _ ->
    Waiter.wait event (join t);
    force_slow t

let[@inline] force t = match Atomic.get t with Value v -> v | _ -> force_slow t
let map f t = from_fun (fun () -> f (force t))
let map_val f t = match Atomic.get t with Value v -> from_val (f v) | _ -> map f t
