(* One atomic with an immutable state, changed as a whole by compare-and-set: the holders inside,
   and a queue of waiters in the order of arrival.

   Every change ends with [admit]: it lets in a run of readers or one writer from the head of the
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
let misuse fn what = invalid_arg ("Muster.Rwlock." ^ fn ^ ": the lock is " ^ what)
let is_live e = Waiter.is_waiting e.waiter
let enter_writer s writer = { s with inside = -1; writer }
let enter_reader s = { s with inside = s.inside + 1 }

let let_out ~writes s =
  if writes then { s with inside = 0; writer = 0 } else { s with inside = s.inside - 1 }

(* The state after it, and the admitted waiters, the latest first. *)
let rec admit s admitted =
  match Fifo.pop s.queue with
  | Some (e, queue) when not (is_live e) -> admit { s with queue } admitted
  | Some (({ writes = false; _ } as e), queue) when s.inside >= 0 ->
    admit (enter_reader { s with queue }) (e :: admitted)
  | Some (({ writes = true; _ } as e), queue) when s.inside = 0 ->
    (enter_writer { s with queue } in_transit, e :: admitted)
  | Some _ | None -> (s, admitted)

(* A duty is the work that a party still has to do, in a cell, as with Mutex. If an asynchronous
   exception is delivered, the duty is done before the exception goes on. *)
type duty =
  | Change of (state -> state) * entry list  (** and the waiters that were let in before *)
  | Grant of entry list

let rec work_off t duty =
  match !duty with
  | Grant [] -> ()
  | Grant ({ writes; waiter } :: others) ->
    duty := if Waiter.has_granted waiter then Grant others else Change (let_out ~writes, others);
    work_off t duty
  | Change (f, others) ->
    let seen = Atomic.get t in
    let state, admitted = admit (f seen) [] in
    let left = Grant (List.rev_append admitted others) in
    if Atomic.compare_and_set t seen state then duty := left;
    work_off t duty

let change t f = Outcome.firmly work_off t (ref (Change (f, [])))

(* {2 Lock} *)

(* Dead waiters stay in the queue until their fibers run: no newcomer overtakes them. *)
let nobody_waits s = Fifo.is_empty s.queue || not (Fifo.exists is_live s.queue)

let rec try_lock_read t =
  let seen = Atomic.get t in
  seen.inside >= 0 && nobody_waits seen
  && (Atomic.compare_and_set t seen (enter_reader seen) || try_lock_read t)

let rec try_to_write t me =
  let seen = Atomic.get t in
  seen.inside = 0 && nobody_waits seen
  && (Atomic.compare_and_set t seen (enter_writer seen me) || try_to_write t me)

let try_lock_write t = try_to_write t (Fiber.number ())

let wait t ~writes =
  let register waiter =
    change t (fun s -> { s with queue = Fifo.push ~is_live s.queue { writes; waiter } })
  in
  let look_again = ref (Change (Fun.id, [])) in
  Outcome.on_failure
    (fun () -> Waiter.wait register)
    (fun _ -> Outcome.firmly work_off t look_again)

let refuse_writer fn t =
  if (Atomic.get t).writer = Fiber.number () then
    misuse fn "already locked for writing by this task or thread"

let lock_read_of fn t =
  Waiter.need_not_wait ();
  if not (try_lock_read t) then begin
    refuse_writer fn t;
    wait t ~writes:false
  end

let lock_read t = lock_read_of "lock_read" t

let rec accept t me =
  let seen = Atomic.get t in
  if not (Atomic.compare_and_set t seen { seen with writer = me }) then accept t me

let lock_write_of fn t =
  let me = Fiber.number () in
  Waiter.need_not_wait ();
  if not (try_to_write t me) then begin
    refuse_writer fn t;
    wait t ~writes:true;
    match accept t me with
    | () -> ()
    | exception exn ->
      let failure = Outcome.caught exn in
      change t (let_out ~writes:true);
      Outcome.raise failure
  end

let lock_write t = lock_write_of "lock_write" t

(* {2 Unlock} *)

let out_of_reading fn s =
  if s.inside <= 0 then misuse fn "not locked for reading";
  let_out ~writes:false s

let out_of_writing fn s =
  if s.writer = 0 then misuse fn "not locked for writing";
  if s.writer <> Fiber.number () then misuse fn "locked for writing by another task or thread";
  let_out ~writes:true s

let rec leave_fast t out =
  let seen = Atomic.get t in
  Fifo.is_empty seen.queue
  &&
  let state = out seen in
  let state = if state.inside = 0 then free else state in
  Atomic.compare_and_set t seen state || leave_fast t out

let leave t out = if not (leave_fast t out) then change t out
let unlock_read t = leave t (fun s -> out_of_reading "unlock_read" s)
let unlock_write t = leave t (fun s -> out_of_writing "unlock_write" s)

(* {2 Protect} *)

(* An asynchronous exception on the way out finds the duty in its cell. *)
let protect t fn ~lock ~out f =
  let duty = ref (Change (out, [])) and go_out duty = Outcome.firmly work_off t duty in
  lock fn t;
  Outcome.finally go_out duty f

let protect_read t f =
  let fn = "protect_read" in
  protect t fn ~lock:lock_read_of ~out:(fun s -> out_of_reading fn s) f

let protect_write t f =
  let fn = "protect_write" in
  protect t fn ~lock:lock_write_of ~out:(fun s -> out_of_writing fn s) f
