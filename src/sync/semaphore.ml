(* One atomic with an immutable state, changed as a whole by compare-and-set: free permits,
   or waiters.

   A release takes the oldest waiter out and grants its wait, which is the permit. If that waiter is
   dead (its task was cancelled), the releaser still has the permit, and tries the next waiter. A
   waiter joins by a compare-and-set from a state without permits. So other parties have them and
   will release; there is no state with both a permit and a waiter.

   A releaser keeps its remaining work in a cell, as with Mutex. If an asynchronous exception is
   delivered, it finishes that work before the exception goes on.

   At rest: permits are in [Permits], or with the parties that acquired them. *)

module Outcome = Muster_core.Outcome
module Waiter = Muster_core.Waiter

type state = Permits of int | Waiters of Waiter.t Fifo.t  (** not empty, and no permits *)
type t = state Atomic.t

let invalid fn what = invalid_arg ("Muster.Semaphore." ^ fn ^ ": " ^ what)

let make n =
  if n < 0 then invalid "make" (Printf.sprintf "permits = %d is less than 0" n);
  Atomic.make (Permits n)

type duty = Done | Release | Grant of Waiter.t  (** the permit in hand *)

(* [fn] is the function that the user called. *)
let after fn seen =
  match seen with
  | Permits n when n = max_int -> invalid fn "there are max_int permits already"
  | Permits n -> (Permits (n + 1), Done)
  | Waiters queue -> (
    match Fifo.pop queue with
    | None -> assert false
    | Some (w, queue) -> ((if Fifo.is_empty queue then Permits 0 else Waiters queue), Grant w))

let rec work_off fn t duty =
  match !duty with
  | Done -> ()
  | Grant w ->
    duty := if Waiter.has_granted w then Done else Release;
    work_off fn t duty
  | Release ->
    let seen = Atomic.get t in
    let state, left = after fn seen in
    if Atomic.compare_and_set t seen state then duty := left;
    work_off fn t duty

let release_firmly t duty = Outcome.firmly (fun t duty -> work_off "release" t duty) t duty

let release t =
  match Atomic.get t with
  | Permits n as seen when n < max_int && Atomic.compare_and_set t seen (Permits (n + 1)) -> ()
  | Permits _ | Waiters _ -> release_firmly t (ref Release)

let rec join t w =
  let push queue = Waiters (Fifo.push ~is_live:Waiter.is_waiting queue w) in
  match Atomic.get t with
  | Permits 0 as seen -> if not (Atomic.compare_and_set t seen (push Fifo.empty)) then join t w
  | Waiters queue as seen -> if not (Atomic.compare_and_set t seen (push queue)) then join t w
  | Permits n as seen ->
    let duty = ref (Grant w) in
    if Atomic.compare_and_set t seen (Permits (n - 1)) then release_firmly t duty else join t w

let rec try_acquire t =
  match Atomic.get t with
  | Permits 0 | Waiters _ -> false
  | Permits n as seen -> Atomic.compare_and_set t seen (Permits (n - 1)) || try_acquire t

let acquire t =
  Waiter.need_not_wait ();
  if not (try_acquire t) then Waiter.wait (join t)

let get_value t = match Atomic.get t with Permits n -> n | Waiters _ -> 0

let with_permit t f =
  let work_off t duty = work_off "with_permit" t duty in
  let duty = ref Release and give_back duty = Outcome.firmly work_off t duty in
  acquire t;
  Outcome.finally give_back duty f
