(* [allowed]   The load controller's share of the CPUs (Load).
   stand-in    One more, where no caller helps.
   [needed]    So many for a while, whatever the load: for a region, or a task that would wait for
               ever (Region, Sleep, Watchdog).
   [promised]  The pool's tasks may count on so many: they may wait for each other unseen. Where
               fewer are allowed, or the stand-in is not there, the watchdog looks after them.

   A resident whose place is above all of these numbers is over the budget, and leaves (Load). A
   publisher asks for residents up to [allowed] only, as a caller may come back at once. For a
   stand-in ask the watchdog, a thread that sleeps outside (Worker), and another pool's (Task). *)

module P = Place

let allowed (pool : P.pool) = Atomic.get pool.allowed
let allow (pool : P.pool) n = Atomic.set pool.allowed n
let residents (pool : P.pool) = Atomic.get pool.residents
let with_stand_in pool = allowed pool + Bool.to_int (not (P.has_helper pool))

let needed (pool : P.pool) =
  let { Slot.residents; until } = Atomic.get pool.needed in
  if residents > 0 && Machine.now () < until then residents else 0

let may_work pool = Int.max (with_stand_in pool) (needed pool)

(* Mostly the first comparison spares the second, which looks at the clock. *)
let is_over pool n = n > allowed pool && n > may_work pool
let wants_more (pool : P.pool) = allowed pool < Atomic.get pool.size - 1

(* Dismissed residents sleep aside: so all are woken. *)
let need (pool : P.pool) n ~ms =
  let before = needed pool in
  let at_work = Int.max (allowed pool) before and n = Int.max n before in
  Atomic.set pool.needed { residents = n; until = Machine.now () + (ms * 1_000_000) };
  let raised = Int.min n (Atomic.get pool.size - 1) in
  if allowed pool < raised then allow pool raised;
  if n > at_work then Parking.wake_all pool.parking

let[@inline] promise (pool : P.pool) n =
  if Atomic.get pool.promised < n then P.change pool.promised (Int.max n)

let[@inline] promise_one (pool : P.pool) = promise pool (Int.min 1 (Atomic.get pool.size - 1))
let promised (pool : P.pool) = Int.min (Atomic.get pool.promised) (pool.settings.regulars - 1)
let breaks_promise pool = Int.min (allowed pool) (residents pool) < promised pool
let is_missing pool = residents pool < allowed pool
let lacks_stand_in pool = residents pool < with_stand_in pool

(* Nor can tasks count on residents without a domain: so that counts as a stand-in. *)
let[@inline] lacks_watch pool =
  (not (Atomic.get P.is_watched)) && (allowed pool < promised pool || lacks_stand_in pool)
