(* Where a worker finds work: its own deque, the others' deques, the inbox. Every so often the
   inbox, the oldest of its own deque or another's deque comes first. (Run.serve looks at the
   mailbox.)

   A caller whose domain works for another thread stands back: a task that it took of others would
   wait for that thread. A dismissed resident does, too, but for the inbox of a pool that has no
   other. Where no worker takes a task for these reasons, the watchdog helps (Watchdog).

   A worker that takes a task says so in its own part at once, before anything at which an
   asynchronous exception may strike: the task is in no deque any more (Worker.execute_next). *)

module P = Place

let none = P.none

let found (w : P.t) task backtrace =
  if task != none then begin
    w.own.task <- task;
    w.own.records <- Atomic.get backtrace
  end

let put_back (w : P.t) task = w.own.task <- task

(* An owner may have counted entries that had been taken: so it is roused in any case. A worker that
   finds something wakes the next one (Sleep). *)
let steal_from (w : P.t) (victim : P.t) =
  let task = Deque.steal victim.deque in
  found w task victim.backtrace;
  Publish.rouse victim;
  if task != none then begin
    Counts.add_steal w.own.counts;
    Tell.steal victim;
    if not (Deque.is_empty victim.deque) then Sleep.wake_for_work w.pool
  end;
  task

(* Begins with the last victim that had something. *)
let steal_from_on (w : P.t) first =
  let workers = P.workers w.pool in
  let n = Array.length workers in
  let rec from left i =
    if left = 0 then none
    else
      let i = if i >= n then 0 else i in
      let task = if i = w.index then none else steal_from w workers.(i) in
      if task != none then (
        w.own.victim <- i;
        task)
      else from (left - 1) (i + 1)
  in
  from n first

let steal (w : P.t) = steal_from_on w w.own.victim

let take_from_inbox (w : P.t) =
  let { Slot.inbox; inherited; _ } = w.pool in
  let task = Inbox.pop inbox in
  found w task inherited;
  if task != none && Atomic.get w.pool.residents > 0 && not (Inbox.is_empty inbox) then
    Sleep.wake_for_inbox w.pool;
  task

let stands_back (w : P.t) =
  if w.resident then Load.is_over_budget w
  else (not (Atomic.get w.on_domain)) && Atomic.get w.pool.residents > 0

let serves_inbox (w : P.t) =
  (not (stands_back w))
  || (w.resident && (Atomic.get w.pool.residents = 1 || Machine.domain_must_stay ()))

let from_inbox w = if serves_inbox w then take_from_inbox w else none

let pop (w : P.t) =
  let task = Deque.pop w.deque in
  found w task w.backtrace;
  if task != none && Deque.size w.deque <= P.low then Publish.rouse w;
  task

let steal_own (w : P.t) =
  let task = Deque.steal w.deque in
  found w task w.backtrace;
  if task != none then Publish.rouse w;
  task

(* Two tasks that answer each other's messages always leave one of them at the bottom of the
   deque. So that they keep nobody waiting for ever, every so often the oldest comes first. *)
let turns = 32

let out_of_turn (w : P.t) =
  let { Counts.tasks; _ } = w.own.counts in
  if tasks land (turns - 1) < turns - 1 then none
  else
    match tasks / turns mod 3 with
    | 0 -> from_inbox w
    | 1 -> steal_own w
    | _ -> steal_from_on w (w.own.victim + 1)

let or_else w task next = if task != none then task else next w

let from_where_it_is_due w =
  let task = or_else w (out_of_turn w) pop in
  or_else w task steal

(* A caller that stands back takes its own tasks all the same. *)
let find (w : P.t) =
  let task =
    if not (stands_back w) then from_where_it_is_due w else if w.resident then none else pop w
  in
  or_else w task from_inbox

(* In its own deque too: there a task may have left others when it began to wait. *)
let find_what_is_stuck w =
  let task = or_else w (take_from_inbox w) pop in
  or_else w task steal

let inbox_has_work (w : P.t) = serves_inbox w && not (Inbox.is_empty w.pool.inbox)

let has_work (w : P.t) =
  Mailbox.is_posted w.mailbox
  || ((not (stands_back w)) && Sleep.some_deque_has_work w.pool)
  || (not (w.resident || Deque.is_empty w.deque))
  || inbox_has_work w
