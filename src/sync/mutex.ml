(* One permit (Permits), with the holder's name. Nobody but the holder unlocks it. *)

type t = Permits.t

let create () = Permits.make 1
let locked () = Atomic.make { Permits.free = 0; holder = Fiber.number (); line = Permits.nobody }
let holder t = (Atomic.get t).Permits.holder
let is_mine t = holder t = Fiber.number ()

(* [fn] is the function that the user called. *)
let misuse fn what = "Muster.Mutex." ^ fn ^ ": the mutex is " ^ what

(* {2 Unlock} *)

let why_not_unlock fn { Permits.holder; _ } =
  if holder = Fiber.number () then None
  else if holder = 0 then Some (misuse fn "not locked")
  else Some (misuse fn "locked by another task or thread")

let unlock_of fn t = Permits.give t 1 ~why_not:why_not_unlock fn
let unlock t = unlock_of "unlock" t

(* {2 Lock} *)

let event = Event.make "Mutex.lock"
let tell_holder t = Waiting.holder (holder t)
let wait event t register = Waiter.wait (Waiting.about event tell_holder t) register
let wait_firmly t register = Waiter.wait_firmly (Waiting.about event tell_holder t) register
let try_as t me = Permits.try_take t 1 ~me

let[@inline never] contend event fn t me =
  if Fiber.is_me (holder t) then
    invalid_arg (misuse fn "already locked by this task or thread");
  Permits.wait_and_take t 1 ~me ~wait:(wait event t)

let[@inline] lock_of event fn t =
  let me = Fiber.number () in
  Waiter.need_not_wait ();
  if not (try_as t me) then contend event fn t me

let lock_as event t = lock_of event "lock" t
let lock t = lock_as event t
let try_lock t = try_as t (Fiber.number ())

let relock t =
  let me = Fiber.number () in
  if not (try_as t me) then Permits.wait_and_take t 1 ~me ~wait:(wait_firmly t)

let unprotect t = unlock_of "protect" t

let protect_as event t f =
  lock_of event "protect" t;
  Outcome.finally unprotect t f ()

let protect t f = protect_as event t f
