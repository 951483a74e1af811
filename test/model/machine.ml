(* The checker cannot hold a process back, so one that would block ends here instead. What it
   waits for is the token: the verdict after the run can tell from it whether the process
   would have gone on (Model_parking.resume). *)

module Sleeper = struct
  type t = bool Atomic.t

  exception Blocked

  let create () = Atomic.make false
  let sleep token _limit_ms = Atomic.exchange token false || raise Blocked
  let doze = sleep
  let wake token = Atomic.set token true
end

module Canary = struct
  type t = unit
end

let now = Timer.now
