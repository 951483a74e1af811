(* One atomic with an immutable state, changed as a whole by compare-and-set. A waiter joins only
   while the count is above 0. The call that takes it to 0 takes all waiters out in the same step,
   and grants them. Dead waiters (of cancelled tasks) need no care. At rest it is [opened]. *)

type state = { left : int; waiters : Waiter.t Fifo.t }
type t = state Atomic.t

let opened = { left = 0; waiters = Fifo.empty }

let create n =
  if n < 0 then invalid_arg (Printf.sprintf "Muster.Latch.create: count = %d is less than 0" n);
  Atomic.make (if n = 0 then opened else { opened with left = n })

let counting_down = function
  | { left = 0; _ } as seen -> (seen, Duty.Misuse "Muster.Latch.count_down: the count is 0 already")
  | { left = 1; waiters } -> (opened, Duty.grants (Fifo.to_list waiters))
  | seen -> ({ seen with left = seen.left - 1 }, Done)

let count_down t = Duty.step t counting_down

let join t waiter =
  Duty.step t (function
    | { left = 0; _ } as seen -> (seen, Duty.grants [ waiter ])
    | seen ->
      let waiters = Fifo.push_live ~is_live:Waiter.is_waiting seen.waiters waiter in
      ({ seen with waiters }, Done))

let count t = (Atomic.get t).left
let event = Event.make "Latch.await"
let await t = if count t > 0 then Waiter.wait event (join t)
