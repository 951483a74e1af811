(* Permits without a name (Permits). *)

type t = Permits.t

let invalid fn what = "Muster.Semaphore." ^ fn ^ ": " ^ what

let make n =
  if n < 0 then invalid_arg (invalid "make" (Printf.sprintf "permits = %d is less than 0" n));
  Permits.make n

(* [fn] is the function that the user called. *)
let why_not_release fn { Permits.free; _ } =
  if free = max_int then Some (invalid fn "there are max_int permits already") else None

let give_back fn t = Permits.give t 1 ~why_not:why_not_release fn
let release t = give_back "release" t
let try_acquire t = Permits.try_take t 1 ~me:0

let event = Event.make "Semaphore.acquire"
let wait register = Waiter.wait event register

let acquire t =
  Waiter.need_not_wait ();
  if not (try_acquire t) then Permits.wait_and_take t 1 ~me:0 ~wait

let get_value t = (Atomic.get t).Permits.free

let leave t = give_back "with_permit" t

let with_permit t f =
  acquire t;
  Outcome.finally leave t f ()
