(* One atomic with an immutable state, changed as a whole by compare-and-set: those who have come
   to this meeting. The last to come empties it in one step, and grants the others.

   A waiter whose task is cancelled leaves: it does not count any more. Whether it does so before the
   last one came is decided by whose step was first: after the last one's it finds another meeting, and
   has counted. So a meeting has [parties] calls, always.

   Who leaves is dead, and nobody searches for it. When more have left than are counted, all that are
   dead are let go of, also those that have yet to leave: those that have left have paid for the look.
   At rest the barrier is empty. *)

open Muster_core

type state = {
  meeting : int;
  count : int;
  left : int;  (** at least as many of [waiters] as have left *)
  waiters : Waiter.t list;  (** the latest first *)
}

type t = { parties : int; state : state Atomic.t }

let nobody meeting = { meeting; count = 0; left = 0; waiters = [] }

let create n =
  if n < 1 then invalid_arg (Printf.sprintf "Muster.Barrier.create: parties = %d is less than 1" n);
  { parties = n; state = Atomic.make (nobody 0) }

let parties t = t.parties
let waiting t = (Atomic.get t.state).count
let nowhere = -1

(* [joined] is set in the same step, to an asynchronous exception. *)
let rec come t joined w =
  let seen = Atomic.get t.state in
  if seen.count + 1 < t.parties then begin
    let state = { seen with count = seen.count + 1; waiters = w :: seen.waiters } in
    if Atomic.compare_and_set t.state seen state then joined := seen.meeting else come t joined w
  end
  else
    let all = List.rev (w :: seen.waiters) and next = nobody (seen.meeting + 1) in
    if Atomic.compare_and_set t.state seen next then Waiter.grant_all all else come t joined w

let without_dead s =
  if s.left <= s.count then s
  else { s with left = 0; waiters = List.filter Waiter.is_waiting s.waiters }

let rec leave t meeting =
  let seen = Atomic.get t.state in
  if seen.meeting = meeting then begin
    let state = without_dead { seen with count = seen.count - 1; left = seen.left + 1 } in
    if not (Atomic.compare_and_set t.state seen state) then leave t meeting
  end

let await t =
  let joined = ref nowhere in
  Outcome.on_failure (fun () -> Waiter.wait (come t joined)) (fun _ -> leave t !joined)
