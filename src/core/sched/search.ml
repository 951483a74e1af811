(* Where a worker finds work: its own deque, the others' deques, the inbox. Every so often the
   inbox, the oldest of its own deque or another's deque comes first. (Run.serve looks at the
   mailbox.)

   The inbox is for residents: an outside item can last for ever, and a caller has its own call to
   return to. A caller serves it only where there is no resident. A caller whose domain works for
   another thread stands back: what it took of others would wait for that thread. Where this
   leaves a task to nobody, the watchdog helps (Watchdog).

   A worker that takes a task says so in [found] at once, before anything at which an asynchronous
   exception may strike: the task is in no deque any more (Worker.execute_next). *)

module P = Place

let none = P.none

let[@inline] keep (w : P.t) task ~records =
  w.own.found <- task;
  w.own.records <- Atomic.get records

let steal_from (w : P.t) (victim : P.t) =
  let task = Deque.steal victim.deque in
  if task != none then begin
    keep w task ~records:victim.backtrace;
    Publish.rouse victim;
    w.own.counts.steals <- w.own.counts.steals + 1;
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
let turn_away (w : P.t) =
  let next = w.own.victim + 1 in
  w.own.victim <- (if next < P.places_in_use w.pool then next else 0)

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
        w.own.victim <- i;
        if w.own.counts.steals land (most_of_one - 1) = 0 then turn_away w;
        task)
      else from (left - 1) (i + 1)
  in
  from n w.own.victim

let take_from_inbox (w : P.t) =
  let task = Inbox.pop w.pool.inbox in
  if task != none then begin
    keep w task ~records:w.pool.inherited;
    w.own.from_inbox <- true
  end;
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

(* Two tasks that answer each other's messages always leave one of them at the bottom of the
   deque. So that they keep nobody waiting for ever, every so often what came first is next: from
   outside, from the top of the deque, or from another's. *)
let turns = 32

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

let what_came_first (w : P.t) =
  let task =
    match w.own.turn / turns mod 3 with
    | 0 -> from_inbox w
    | 1 -> steal_own w
    | _ -> steal_elsewhere w
  in
  if task != none then task else from_deques w

let from_where_it_is_due (w : P.t) =
  w.own.turn <- w.own.turn + 1;
  if w.own.turn mod turns = 0 then what_came_first w else from_deques w

(* A caller that stands back takes its own tasks all the same. *)
let find (w : P.t) =
  w.own.from_inbox <- false;
  let task =
    if not (stands_back w) then from_where_it_is_due w else if w.resident then none else pop w
  in
  if task != none then task else from_inbox w

let find_what_is_stuck w =
  let task = take_from_inbox w in
  if task != none then task else steal w

let inbox_has_work (w : P.t) = serves_inbox w && not (Inbox.is_empty w.pool.inbox)

let has_work (w : P.t) =
  Mailbox.is_posted w.mailbox
  || ((not (stands_back w)) && Sleep.some_deque_has_work w.pool)
  || (not (w.resident || Deque.is_empty w.deque))
  || inbox_has_work w
