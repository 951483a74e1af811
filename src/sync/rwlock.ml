(* A great number of permits (Permits). A reader takes one of them, a writer all, with its name. *)

type t = Permits.t

let all = max_int
let create () = Permits.make all

(* [fn] is the function that the user called. *)
let misuse fn what = "Muster.Rwlock." ^ fn ^ ": the lock is " ^ what
let permits ~writes = if writes then all else 1

(* {2 Lock} *)

let try_lock t ~writes =
  Permits.try_take t (permits ~writes) ~me:(if writes then Fiber.number () else 0)

let try_lock_read t = try_lock t ~writes:false
let try_lock_write t = try_lock t ~writes:true

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
  if not (try_lock t ~writes) then wait fn t ~writes

let lock_read t = lock_of "lock_read" t ~writes:false
let lock_write t = lock_of "lock_write" t ~writes:true

(* {2 Unlock} *)

let why_not_leave fn ~writes { Permits.free; holder; _ } =
  if not writes then
    if holder = 0 && free < all then None else Some (misuse fn "not locked for reading")
  else if holder = Fiber.number () then None
  else if holder = 0 then Some (misuse fn "not locked for writing")
  else Some (misuse fn "locked for writing by another task or thread")

let unlock_of fn t ~writes =
  let (seen : Permits.state) = Atomic.get t in
  let is_simple = seen.line == Permits.nobody && why_not_leave fn seen ~writes = None in
  let left () = { seen with free = seen.free + permits ~writes; holder = 0 } in
  if not (is_simple && Atomic.compare_and_set t seen (left ())) then
    Permits.give t (permits ~writes) ~why_not:(why_not_leave fn ~writes)

let unlock_read t = unlock_of "unlock_read" t ~writes:false
let unlock_write t = unlock_of "unlock_write" t ~writes:true

(* An asynchronous exception on the way out finds the duty in its cell. *)
let protect fn t ~writes leaving f =
  let duty = ref leaving and go_out duty = Duty.fulfil t duty in
  lock_of fn t ~writes;
  Outcome.finally go_out duty f ()

let leaving fn ~writes =
  Duty.Step (Permits.giving (permits ~writes) ~why_not:(why_not_leave fn ~writes))

let read = leaving "protect_read" ~writes:false
let written = leaving "protect_write" ~writes:true
let protect_read t f = protect "protect_read" t ~writes:false read f
let protect_write t f = protect "protect_write" t ~writes:true written f
