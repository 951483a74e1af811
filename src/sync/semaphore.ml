(* One atomic with an immutable state, changed as a whole by compare-and-set: permits that nobody
   has, or waiters.

   A release takes the oldest waiter out and grants it its wait, which is the permit. If that one
   is dead (its task was cancelled), the permit is still in the releaser's hand: next waiter. A
   waiter joins by a compare-and-set from a state without permits, so somebody has them and will
   release; there is no state with both a permit and a waiter.

   At rest: permits in [Permits], or with whoever acquired them. *)

open Muster_core

type state =
  | Permits of int
  | Waiters of Waiter.t Fifo.t  (** not empty, and no permits *)

type t = state Atomic.t

let invalid fn what = invalid_arg ("Muster.Semaphore." ^ fn ^ ": " ^ what)

let make n =
  if n < 0 then invalid "make" (Printf.sprintf "permits = %d is less than 0" n);
  Atomic.make (Permits n)

let rec join t w =
  let push queue = Waiters (Fifo.push ~is_live:Waiter.is_waiting queue w) in
  match Atomic.get t with
  | Permits 0 as seen ->
    if not (Atomic.compare_and_set t seen (push Fifo.empty)) then join t w
  | Waiters queue as seen -> if not (Atomic.compare_and_set t seen (push queue)) then join t w
  | Permits n as seen ->
    if Atomic.compare_and_set t seen (Permits (n - 1)) then begin
      if not (Waiter.grant w) then release t
    end
    else join t w

and release t =
  match Atomic.get t with
  | Permits n when n = max_int -> invalid "release" "there are max_int permits already"
  | Permits n as seen ->
    if not (Atomic.compare_and_set t seen (Permits (n + 1))) then release t
  | Waiters queue as seen -> (
    match Fifo.pop queue with
    | None -> assert false
    | Some (w, queue) ->
      let rest = if Fifo.is_empty queue then Permits 0 else Waiters queue in
      let granted = Atomic.compare_and_set t seen rest && Waiter.grant w in
      if not granted then release t)

let rec try_acquire t =
  match Atomic.get t with
  | Permits 0 | Waiters _ -> false
  | Permits n as seen -> Atomic.compare_and_set t seen (Permits (n - 1)) || try_acquire t

let acquire t = if not (try_acquire t) then Waiter.wait (join t)
let get_value t = match Atomic.get t with Permits n -> n | Waiters _ -> 0

let with_permit t f =
  acquire t;
  Outcome.finally release t f
