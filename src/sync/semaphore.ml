(* One atomic with an immutable state, changed as a whole by compare-and-set: free permits,
   or waiters.

   A release takes the oldest waiter out and grants its wait, which is the permit. If that waiter is
   dead (its task was cancelled), the releaser still has the permit, and releases it again. A waiter
   joins by a compare-and-set from a state without permits. So other parties have them and will
   release; there is no state with both a permit and a waiter.

   At rest: permits are in [Permits], or with the parties that acquired them. *)

module Outcome = Muster_core.Outcome
module Waiter = Muster_core.Waiter

type state = Permits of int | Waiters of Waiter.t Fifo.t  (** not empty, and no permits *)
type t = state Atomic.t

let invalid fn what = "Muster.Semaphore." ^ fn ^ ": " ^ what

let make n =
  if n < 0 then invalid_arg (invalid "make" (Printf.sprintf "permits = %d is less than 0" n));
  Atomic.make (Permits n)

(* [fn] is the function that the user called. *)
let rec releasing fn = function
  | Permits n as seen when n = max_int ->
    (seen, Duty.Misuse (invalid fn "there are max_int permits already"))
  | Permits n -> (Permits (n + 1), Done)
  | Waiters queue -> (
    match Fifo.pop queue with
    | Empty -> assert false
    | Oldest (waiter, queue) ->
      let state = if Fifo.is_empty queue then Permits 0 else Waiters queue in
      (state, Grant { waiter; granted = Done; dead = Step (releasing fn) }))

let release t =
  match Atomic.get t with
  | Permits n as seen when n < max_int && Atomic.compare_and_set t seen (Permits (n + 1)) -> ()
  | Permits _ | Waiters _ -> Duty.step t (releasing "release")

let join t waiter =
  let push queue = Waiters (Fifo.push_live ~is_live:Waiter.is_waiting queue waiter) in
  Duty.step t (function
    | Permits 0 -> (push Fifo.empty, Done)
    | Waiters queue -> (push queue, Done)
    | Permits n ->
      (Permits (n - 1), Grant { waiter; granted = Done; dead = Step (releasing "release") }))

let rec try_acquire t =
  match Atomic.get t with
  | Permits 0 | Waiters _ -> false
  | Permits n as seen -> Atomic.compare_and_set t seen (Permits (n - 1)) || try_acquire t

let acquire t =
  Waiter.need_not_wait ();
  if not (try_acquire t) then Waiter.wait (join t)

let get_value t = match Atomic.get t with Permits n -> n | Waiters _ -> 0

let with_permit t f =
  let duty = ref (Duty.Step (releasing "with_permit")) and give_back duty = Duty.fulfil t duty in
  acquire t;
  Outcome.finally give_back duty f
