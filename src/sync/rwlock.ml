(* One atomic with an immutable state, changed as a whole by compare-and-set: the holders inside,
   and a queue of waiters in the order of arrival.

   Every step ends with [admit]: it lets in a run of readers or one writer from the head of the
   queue. They are inside with that step, and granted their waits after it. A waiter whose grant
   fails is dead (its task was cancelled); the admitting party lets it out again. So the head of the
   queue is always a waiter that has to wait for the holders inside, and these will leave. A waiter
   that is cancelled looks whether its going lets others in: dead ones at the head do not count.

   [writer] is the writer's number; [in_transit] until a writer that was let in has run. (It may
   be dead and its task do other things meanwhile, so its number would not do.) *)

module Outcome = Muster_core.Outcome
module Fiber = Muster_core.Fiber
module Waiter = Muster_core.Waiter

type entry = { writes : bool; waiter : Waiter.t }

type state = {
  inside : int;  (** readers; -1: a writer *)
  writer : int;  (** 0: none *)
  queue : entry Fifo.t;
}

type t = state Atomic.t

let in_transit = max_int
let free = { inside = 0; writer = 0; queue = Fifo.empty }
let create () = Atomic.make free

(* [fn] is the function that the user called. *)
let misuse fn what = "Muster.Rwlock." ^ fn ^ ": the lock is " ^ what
let is_live e = Waiter.is_waiting e.waiter
let enter_writer s writer = { s with inside = -1; writer }
let enter_reader s = { s with inside = s.inside + 1 }

let let_out s ~writes =
  if writes then { s with inside = 0; writer = 0 } else { s with inside = s.inside - 1 }

(* The next state, and the admitted waiters, the latest first. *)
let rec admit s admitted =
  match Fifo.pop s.queue with
  | Oldest (e, queue) when not (is_live e) -> admit { s with queue } admitted
  | Oldest (({ writes = false; _ } as e), queue) when s.inside >= 0 ->
    admit (enter_reader { s with queue }) (e :: admitted)
  | Oldest (({ writes = true; _ } as e), queue) when s.inside = 0 ->
    (enter_writer { s with queue } in_transit, e :: admitted)
  | Oldest _ | Empty -> (s, admitted)

(* [others] were let in before, and are still to be granted. *)
let rec admitting state others =
  let state, admitted = admit state [] in
  (state, grants (List.rev_append admitted others))

and grants = function
  | [] -> Duty.Done
  | { writes; waiter } :: others ->
    let dead = Duty.Step (fun s -> admitting (let_out s ~writes) others) in
    Grant { waiter; granted = grants others; dead }

(* {2 Lock} *)

(* Dead waiters stay in the queue for a while, but hold up no newcomer. *)
let nobody_waits s = not (Fifo.exists is_live s.queue)

let rec try_lock_read t =
  let seen = Atomic.get t in
  seen.inside >= 0 && nobody_waits seen
  && (Atomic.compare_and_set t seen (enter_reader seen) || try_lock_read t)

let rec try_to_write t me =
  let seen = Atomic.get t in
  seen.inside = 0 && nobody_waits seen
  && (Atomic.compare_and_set t seen (enter_writer seen me) || try_to_write t me)

let try_lock_write t = try_to_write t (Fiber.number ())

let rec accept t me =
  let seen = Atomic.get t in
  if not (Atomic.compare_and_set t seen { seen with writer = me }) then accept t me

(* [duty] is that of the waiter if it left now. *)
let wait t ~writes =
  let queue_up waiter s =
    admitting { s with queue = Fifo.push_live ~is_live s.queue { writes; waiter } } []
  in
  let duty = ref (Duty.Step (fun s -> admitting s [])) in
  let leaving = Duty.Step (fun s -> admitting (let_out s ~writes) []) in
  let wait_and_accept () =
    Waiter.wait (fun waiter -> Duty.step t (queue_up waiter));
    duty := leaving;
    if writes then accept t (Fiber.number ())
  in
  Outcome.on_failure wait_and_accept (fun _ -> Duty.fulfil t duty)

let refuse_writer fn t =
  if (Atomic.get t).writer = Fiber.number () then
    invalid_arg (misuse fn "already locked for writing by this task or thread")

let lock_of fn t ~writes =
  Waiter.need_not_wait ();
  if not (if writes then try_lock_write t else try_lock_read t) then begin
    refuse_writer fn t;
    wait t ~writes
  end

let lock_read t = lock_of "lock_read" t ~writes:false
let lock_write t = lock_of "lock_write" t ~writes:true

(* {2 Unlock} *)

let why_not_leave s ~writes =
  if not writes then if s.inside > 0 then None else Some "not locked for reading"
  else if s.writer = 0 then Some "not locked for writing"
  else if s.writer <> Fiber.number () then Some "locked for writing by another task or thread"
  else None

let leaving fn ~writes s =
  match why_not_leave s ~writes with
  | Some why -> (s, Duty.Misuse (misuse fn why))
  | None -> admitting (let_out s ~writes) []

let unlock_of fn t ~writes =
  let seen = Atomic.get t in
  let is_simple = Fifo.is_empty seen.queue && why_not_leave seen ~writes = None in
  if not (is_simple && Atomic.compare_and_set t seen (let_out seen ~writes)) then
    Duty.step t (leaving fn ~writes)

let unlock_read t = unlock_of "unlock_read" t ~writes:false
let unlock_write t = unlock_of "unlock_write" t ~writes:true

(* An asynchronous exception on the way out finds the duty in its cell. *)
let protect fn t ~writes f =
  let duty = ref (Duty.Step (leaving fn ~writes)) and go_out duty = Duty.fulfil t duty in
  lock_of fn t ~writes;
  Outcome.finally go_out duty f

let protect_read t f = protect "protect_read" t ~writes:false f
let protect_write t f = protect "protect_write" t ~writes:true f
