(* Where a worker finds work: its own deque, the others' deques, the inbox. Every so often the
   inbox, the oldest of its own deque or another's deque comes first. (Run.serve looks at the
   mailbox.)

   The inbox is for residents: an outside item can last for ever, and a caller has its own call to
   return to. A caller serves it only where there is no resident. A caller whose domain works for
   another thread stands back: what it took of others would wait for that thread. Where this
   leaves a task to nobody, the watchdog helps (Watchdog).

   A worker that takes a task says so in [finding] at once, before anything at which an asynchronous
   exception may strike: the task is in no deque any more (Worker.execute_next). *)

module P = Place

let none = P.none

let[@inline] keep (w : P.t) task ~records =
  Finding.keep w.own.finding task ~records:(Atomic.get records)

let steal_from (w : P.t) (victim : P.t) =
  let task = Deque.steal victim.deque in
  if task != none then begin
    keep w task ~records:victim.backtrace;
    Publish.rouse victim;
    Counts.add_steal w.own.counts;
    (* A worker that finds something wakes the next one (Sleep). *)
    if not (Deque.is_empty victim.deque) then Sleep.wake_for_work w.pool
  end
  else (* Its owner may have counted what had been taken before, and was back within the ends. *)
    Publish.rouse victim;
  task

(* So often in a row a worker takes tasks of one victim: code may wait for another's in a way that
   the pool does not see, while this victim has always more. *)
let most_of_one = 8

(* Turns to the victim that follows. *)
let turn_away (w : P.t) = Finding.turn_away w.own.finding ~places:(P.places_in_use w.pool)

(* Begins with the last victim that had something. *)
let steal (w : P.t) =
  let n = P.places_in_use w.pool in
  let workers = P.workers w.pool in
  let rec from left i =
    if left = 0 then none
    else
      let i = if i >= n then 0 else i in
      let task = if i = w.index then none else steal_from w workers.(i) in
      if task != none then (
        Finding.turn_to w.own.finding i;
        if w.own.counts.steals land (most_of_one - 1) = 0 then turn_away w;
        task)
      else from (left - 1) (i + 1)
  in
  from n w.own.finding.victim

let take_from_inbox (w : P.t) =
  let task = Inbox.pop w.pool.inbox in
  if task != none then
    Finding.keep_from_inbox w.own.finding task ~records:(Atomic.get w.pool.inherited);
  task

let serves_inbox (w : P.t) = w.resident || Atomic.get w.pool.residents = 0
let from_inbox (w : P.t) = if serves_inbox w then take_from_inbox w else none

let stands_back (w : P.t) =
  if w.resident then Load.is_over_budget w
  else (not (Atomic.get w.on_domain)) && Atomic.get w.pool.residents > 0

let pop (w : P.t) =
  let task = Deque.pop w.deque in
  if task != none then begin
    keep w task ~records:w.backtrace;
    if Deque.size w.deque <= P.low then Publish.rouse w
  end;
  task

let from_deques w =
  let task = pop w in
  if task != none then task else steal w

let steal_own (w : P.t) =
  let task = Deque.steal w.deque in
  if task != none then begin
    keep w task ~records:w.backtrace;
    Publish.rouse w
  end;
  task

let steal_elsewhere w =
  turn_away w;
  steal w

let from_where_it_is_due (w : P.t) =
  let task =
    match Finding.next_turn w.own.finding with
    | Newest -> none
    | From_inbox -> from_inbox w
    | Own_oldest -> steal_own w
    | From_another -> steal_elsewhere w
  in
  if task != none then task else from_deques w

(* A caller that stands back takes its own tasks all the same. *)
let find (w : P.t) =
  Finding.begin_to_look w.own.finding;
  let task =
    if not (stands_back w) then from_where_it_is_due w else if w.resident then none else pop w
  in
  if task != none then task else from_inbox w

(* In its own deque too: there a task may have left others when it began to wait. *)
let find_what_is_stuck w =
  let task = take_from_inbox w in
  if task != none then task else from_deques w

let inbox_has_work (w : P.t) = serves_inbox w && not (Inbox.is_empty w.pool.inbox)

let has_work (w : P.t) =
  Mailbox.is_posted w.mailbox
  || ((not (stands_back w)) && Sleep.some_deque_has_work w.pool)
  || (not (w.resident || Deque.is_empty w.deque))
  || inbox_has_work w
