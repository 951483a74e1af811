(* One atomic with an immutable state, changed as a whole by compare-and-set: who is inside, and a
   queue of who waits, in the order of arrival.

   Every change ends with [admit]: from the head of the queue it lets in what may go in now, a run
   of readers or one writer. They are inside with that step, and granted their waits after it. One
   whose grant fails is dead (its task was cancelled), and is let out again by who let it in. So at
   the head of the queue there is always somebody who has to wait for those inside; and those will
   leave. A waiter that is cancelled looks whether its going lets others in: dead ones at the head
   do not count.

   [writer] is the strand that writes; [in_transit] until a writer that was let in has run. (It may
   be dead and its task do other things meanwhile, so its number would not do.) *)

open Muster_core

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
let misuse fn what = invalid_arg ("Muster.Rwlock." ^ fn ^ ": the lock is " ^ what)
let is_live e = Waiter.is_waiting e.waiter
let enter_writer s writer = { s with inside = -1; writer }
let enter_reader s = { s with inside = s.inside + 1 }

let let_out ~writes s =
  if writes then { s with inside = 0; writer = 0 } else { s with inside = s.inside - 1 }

(* Who goes in is returned latest first. *)
let rec admit s admitted =
  match Fifo.pop s.queue with
  | Some (e, queue) when not (is_live e) -> admit { s with queue } admitted
  | Some (({ writes = false; _ } as e), queue) when s.inside >= 0 ->
    admit (enter_reader { s with queue }) (e :: admitted)
  | Some (({ writes = true; _ } as e), queue) when s.inside = 0 ->
    (enter_writer { s with queue } in_transit, e :: admitted)
  | Some _ | None -> (s, admitted)

let rec change t f =
  let seen = Atomic.get t in
  let state, admitted = admit (f seen) [] in
  if Atomic.compare_and_set t seen state then List.iter (grant t) (List.rev admitted)
  else change t f

and grant t { writes; waiter } =
  if not (Waiter.grant waiter) then change t (let_out ~writes)

(* {2 Lock} *)

let rec try_lock_read t =
  let seen = Atomic.get t in
  seen.inside >= 0 && Fifo.is_empty seen.queue
  && (Atomic.compare_and_set t seen (enter_reader seen) || try_lock_read t)

let rec try_lock_write t =
  let seen = Atomic.get t in
  seen.inside = 0 && Fifo.is_empty seen.queue
  && (Atomic.compare_and_set t seen (enter_writer seen (Strand.current ())) || try_lock_write t)

let wait t ~writes =
  let register waiter =
    change t (fun s -> { s with queue = Fifo.push ~is_live s.queue { writes; waiter } })
  in
  Outcome.on_failure (fun () -> Waiter.wait register) (fun _ -> change t Fun.id)

let refuse_writer fn t =
  if (Atomic.get t).writer = Strand.current () then
    misuse fn "already locked for writing by this task or thread"

let lock_read t =
  if not (try_lock_read t) then begin
    refuse_writer "lock_read" t;
    wait t ~writes:false
  end

let rec accept t me =
  let seen = Atomic.get t in
  if not (Atomic.compare_and_set t seen { seen with writer = me }) then accept t me

let lock_write t =
  if not (try_lock_write t) then begin
    refuse_writer "lock_write" t;
    wait t ~writes:true;
    accept t (Strand.current ())
  end

(* {2 Unlock} *)

let rec leave_fast t seen ~writes =
  Fifo.is_empty seen.queue
  &&
  let state = let_out ~writes seen in
  let state = if state.inside = 0 then free else state in
  Atomic.compare_and_set t seen state || leave_fast t (Atomic.get t) ~writes

let leave t seen ~writes = if not (leave_fast t seen ~writes) then change t (let_out ~writes)

let unlock_read t =
  let seen = Atomic.get t in
  if seen.inside <= 0 then misuse "unlock_read" "not locked for reading";
  leave t seen ~writes:false

let unlock_write t =
  let seen = Atomic.get t in
  if seen.writer = 0 then misuse "unlock_write" "not locked for writing";
  if seen.writer <> Strand.current () then
    misuse "unlock_write" "locked for writing by another task or thread";
  leave t seen ~writes:true

(* {2 Protect} *)

let protect_read t f = lock_read t; Outcome.finally unlock_read t f
let protect_write t f = lock_write t; Outcome.finally unlock_write t f
