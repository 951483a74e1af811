(* The party that takes the count to 0 resolves the promise, for which others wait. A waiter that
   comes in between goes on at once. *)

type t = { left : int Atomic.t; opened : unit Promise.t }

let create n =
  if n < 0 then invalid_arg (Printf.sprintf "Muster.Latch.create: count = %d is less than 0" n);
  { left = Atomic.make n; opened = Promise.started Promise.nowhere }

let wake_all t () = ignore (Promise.try_resolve t.opened (Returned ()))

(* Unbroken from the last count to [firmly]. *)
let rec count_down t =
  let left = Atomic.get t.left in
  if left = 0 then invalid_arg "Muster.Latch.count_down: the count is 0 already";
  if not (Atomic.compare_and_set t.left left (left - 1)) then count_down t
  else if left = 1 then Outcome.firmly wake_all t ()

let count t = Atomic.get t.left
let event = Event.make "Latch.await"
let await t = if count t > 0 then Waiter.wait_for event t.opened
