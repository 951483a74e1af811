(* Permits without a name (Permits). *)

type t = Permits.t

let invalid fn what = "Muster.Semaphore." ^ fn ^ ": " ^ what

let make n =
  if n < 0 then invalid_arg (invalid "make" (Printf.sprintf "permits = %d is less than 0" n));
  Permits.make n

(* [fn] is the function that the user called. *)
let why_not_release fn { Permits.free; _ } =
  if free = max_int then Some (invalid fn "there are max_int permits already") else None

let release t =
  let (seen : Permits.state) = Atomic.get t in
  let is_simple = seen.line == Permits.nobody && seen.free < max_int in
  if not (is_simple && Atomic.compare_and_set t seen { seen with free = seen.free + 1 }) then
    Permits.give t 1 ~why_not:(why_not_release "release")

let try_acquire t = Permits.try_take t 1 ~me:0

let event = Event.make "Semaphore.acquire"
let wait register = Waiter.wait event register

let acquire t =
  Waiter.need_not_wait ();
  if not (try_acquire t) then Permits.wait_and_take t 1 ~me:0 ~wait

let get_value t = (Atomic.get t).Permits.free

let giving_back = Duty.Step (Permits.giving 1 ~why_not:(why_not_release "with_permit"))

(* An asynchronous exception on the way out finds the duty in its cell. *)
let with_permit t f =
  let duty = ref giving_back and give_back duty = Duty.fulfil t duty in
  acquire t;
  Outcome.finally give_back duty f ()
