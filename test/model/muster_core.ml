(* Where the copied files look for the core. *)

module Machine = Clock
module Event = Event
module Outcome = Outcome
module Promise = Promise
module Timer = Clock
module Fiber = Fiber
module Waiter = Waiter

module Waiting = struct
  let about event _ _ = event
  let holder _ = ""
end

module Dla = struct
  let is_cancellation _ = false
end

module Place = struct
  let change cell f = Atomic.set cell (f (Atomic.get cell))
  let soon holds = holds ()
end

module Task = struct
  let check = ignore

  let at time f =
    let timer = Clock.add time f in
    fun () -> Clock.remove timer
end
