(* A great number of permits (Permits). A reader takes one of them, a writer all, with its name. *)

type t = Permits.t

let all = max_int
let create () = Permits.make all

(* [fn] is the function that the user called. *)
let misuse fn what = "Muster.Rwlock." ^ fn ^ ": the lock is " ^ what

(* {2 Lock} *)

let try_lock_read t = Permits.try_take t 1 ~me:0
let try_lock_write t = Permits.try_take t all ~me:(Fiber.number ())

let reading = Event.make "Rwlock.lock_read"
let writing = Event.make "Rwlock.lock_write"
let wait_to_read register = Waiter.wait reading register
let wait_to_write register = Waiter.wait writing register

let wait fn t ~writes =
  let me = Fiber.number () in
  if Fiber.is_me (Atomic.get t).Permits.holder then
    invalid_arg (misuse fn "already locked for writing by this task or thread");
  if writes then Permits.wait_and_take t all ~me ~wait:wait_to_write
  else Permits.wait_and_take t 1 ~me:0 ~wait:wait_to_read

let lock_of fn t ~writes =
  Waiter.need_not_wait ();
  if not (if writes then try_lock_write t else try_lock_read t) then wait fn t ~writes

let lock_read t = lock_of "lock_read" t ~writes:false
let lock_write t = lock_of "lock_write" t ~writes:true

(* {2 Unlock} *)

let why_not_reading fn { Permits.free; holder; _ } =
  if holder = 0 && free < all then None else Some (misuse fn "not locked for reading")

let why_not_writing fn { Permits.holder; _ } =
  if holder = Fiber.number () then None
  else if holder = 0 then Some (misuse fn "not locked for writing")
  else Some (misuse fn "locked for writing by another task or thread")

let leave_reading fn t = Permits.give t 1 ~why_not:why_not_reading fn
let leave_writing fn t = Permits.give t all ~why_not:why_not_writing fn
let unlock_read t = leave_reading "unlock_read" t
let unlock_write t = leave_writing "unlock_write" t

(* {2 Protect} *)

let end_reading t = leave_reading "protect_read" t
let end_writing t = leave_writing "protect_write" t

let protect_read t f =
  lock_of "protect_read" t ~writes:false;
  Outcome.finally end_reading t f ()

let protect_write t f =
  lock_of "protect_write" t ~writes:true;
  Outcome.finally end_writing t f ()
