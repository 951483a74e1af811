(* One permit (Permits), with the holder's name. Nobody but the holder unlocks it. *)

type t = Permits.t

let unlocked = { Permits.free = 1; holder = 0; line = Permits.nobody }
let[@inline] held me = { Permits.free = 0; holder = me; line = Permits.nobody }
let create () = Atomic.make unlocked
let locked () = Atomic.make (held (Fiber.number ()))
let replace = Atomic.compare_and_set
let holder t = (Atomic.get t).Permits.holder
let is_mine t = holder t = Fiber.number ()

(* [fn] is the function that the user called. *)
let misuse fn what = "Muster.Mutex." ^ fn ^ ": the mutex is " ^ what

(* {2 Unlock} *)

let why_not_unlock me fn { Permits.holder; _ } =
  if holder = me then None
  else if holder = 0 then Some (misuse fn "not locked")
  else Some (misuse fn "locked by another task or thread")

let unlock_as fn t me =
  let (seen : Permits.state) = Atomic.get t in
  let is_simple = seen.holder = me && seen.line == Permits.nobody in
  if not (is_simple && replace t seen unlocked) then
    Permits.give t 1 ~why_not:(why_not_unlock me) fn

(* An asynchronous exception does not leave it locked. *)
let unlock_of fn t =
  match unlock_as fn t (Fiber.number ()) with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    if is_mine t then unlock_as fn t (Fiber.number ()) else Outcome.raise failure

let unlock t = unlock_of "unlock" t

(* {2 Lock} *)

let event = Event.make "Mutex.lock"
let tell_holder t = Waiting.holder (holder t)
let wait event t register = Waiter.wait (Waiting.about event tell_holder t) register
let wait_firmly t register = Waiter.wait_firmly (Waiting.about event tell_holder t) register
let try_as t me = replace t unlocked (held me) || Permits.try_take t 1 ~me

let[@inline never] contend event fn t me =
  if Fiber.is_me (holder t) then
    invalid_arg (misuse fn "already locked by this task or thread");
  if not (Permits.try_take t 1 ~me) then Permits.wait_and_take t 1 ~me ~wait:(wait event t)

let[@inline] lock_of event fn t =
  let me = Fiber.number () in
  Waiter.need_not_wait ();
  if not (replace t unlocked (held me)) then contend event fn t me

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
