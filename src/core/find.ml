(* Where a worker finds work: the own deque, the others' deques, the inbox; every so often the inbox, the
   oldest of the own deque or another's comes first. (The mailbox is not looked for: Run.serve.)

   The inbox is for residents: an outside item can last for ever, and a visitor has its own caller to return
   to. A visitor serves it where there is no resident, or where it sleeps and nobody
   has taken what lay in the inbox for 200 ms (Worker.relief_ms): all residents may be blocked by what only an item in
   the inbox would do. A visitor whose domain works for another thread stands back: what it took of others
   would wait for that thread.

   Who has taken a task says so in [found] at once, before anything at which an asynchronous exception may strike:
   it is in no deque any more (Worker.execute_next). *)

open Place
open Publish

let[@inline] keep w task ~records =
  w.own.found <- task;
  w.own.records <- Atomic.get records

let steal_from w victim =
  let task = Deque.steal victim.deque in
  if task != none then begin
    keep w task ~records:victim.backtrace;
    rouse victim;
    w.own.counts.steals <- w.own.counts.steals + 1;
    (* Whoever finds something wakes the next one (Publish). *)
    if not (Deque.is_empty victim.deque) then wake_for_work w.pool
  end
  else (* Its owner may have counted what had been taken before, and was back within the ends. *)
    rouse victim;
  task

(* So often in a row, tasks of one victim: who waits for another's may do so in a way that the pool does not
   see, while this one has always more. *)
let most_of_one = 8

(* Turns to the victim that follows. *)
let turn_away w =
  let next = w.own.victim + 1 in
  w.own.victim <- (if next < places_in_use w.pool then next else 0)

(* Begins with the last victim that had something. *)
let steal w =
  let n = places_in_use w.pool in
  let workers = workers w.pool in
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

(* A visitor stands in for residents until one of them takes something. *)
let take_on_inbox w = w.own.stands_in <- Inbox.moment w.pool.inbox

let stands_in w =
  let since = w.own.stands_in in
  since != Inbox.never
  && (since == Inbox.moment w.pool.inbox
     ||
     (w.own.stands_in <- Inbox.never;
      false))

let serves_inbox w = w.resident || stands_in w || Atomic.get w.pool.residents = 0

let from_inbox w =
  if not (serves_inbox w) then none
  else begin
    let goes_on = stands_in w in
    let task = Inbox.pop w.pool.inbox in
    if task != none then begin
      keep w task ~records:w.pool.inherited;
      ignore (Atomic.fetch_and_add w.pool.served 1);
      if goes_on then take_on_inbox w;
      w.own.from_inbox <- true
    end;
    task
  end

let watch_ms = 20

(* A resident's watch begins with one place after the other. The number is read once: callers come
   meanwhile. *)
let oldest w =
  let n = places_in_use w.pool in
  let workers = workers w.pool in
  let rec from left i =
    if left = 0 then none
    else
      let i = if i >= n then 0 else i in
      let task = Deque.oldest workers.(i).deque in
      if task != none then task else from (left - 1) (i + 1)
  in
  from n (if w.resident then w.own.victim else 0)

(* Takes from the others' deques only what it was called for, by its own watch. *)
let stands_back w =
  if w.resident then Staff.dismissed w
  else (not (Atomic.get w.on_domain)) && Atomic.get w.pool.residents > 0

let helps_others w = w.own.called || not (stands_back w)

(* Having taken one task, a resident goes on for a moment: there may be many, or two that answer each other's
   messages, and each would wait for its watch. The moment doubles from watch to watch while nobody else
   begins a task or hands one out: then what it leaves is left. A visitor goes on until somebody else
   takes something, for perhaps nobody will. *)
let shortest_moment = Machine.ticks_of_us 1000
let longest_moment = 128 * shortest_moment
let done_by_others w = begun w.pool - begun_by w

let set_moment w task =
  let others = done_by_others w in
  if task == none || others <> w.own.others then w.own.moment <- shortest_moment
  else if w.own.called then
    w.own.moment <- Int.min longest_moment (Int.max shortest_moment (2 * w.own.moment));
  w.own.others <- others

(* After a sleep of [watch_ms] that nobody ended. So does whoever stands back and cannot leave, because
   what it waits for may lie in a deque where nobody else looks. Where the oldest is another one each time,
   another place may have one that nobody takes. *)
let keep_watch w =
  let task = oldest w in
  w.own.called <- task != none && task == w.own.suspect;
  w.own.called_at <- 0;
  if w.resident then set_moment w task;
  if w.resident && not w.own.called then begin
    turn_away w;
    w.own.suspect <- oldest w
  end
  else w.own.suspect <- task

let has_taken w =
  if not w.resident then w.own.suspect <- oldest w
  else if w.own.called_at = 0 then w.own.called_at <- Machine.ticks ()

let is_called_no_longer w =
  if not w.resident then oldest w != w.own.suspect
  else w.own.called_at <> 0 && Machine.ticks () - w.own.called_at > w.own.moment

let is_called w = w.own.called && not (is_called_no_longer w)
let look_who_takes w = if w.own.called && is_called_no_longer w then w.own.called <- false

let pop w =
  let task = Deque.pop w.deque in
  if task != none then begin
    keep w task ~records:w.backtrace;
    if Deque.size w.deque <= low then rouse w
  end
  else w.own.nested <- 0;
  task

let from_deques w =
  let task = pop w in
  if task != none then task else steal w

(* Two tasks that answer each other's messages always leave one of them at the bottom of the deque. So
   that they keep nobody waiting for ever, every so often what came first is next: from outside, from
   the top of the deque, or from another's. *)
let turns = 32

let steal_own w =
  let task = Deque.steal w.deque in
  if task != none then begin
    keep w task ~records:w.backtrace;
    rouse w
  end;
  task

let steal_elsewhere w =
  turn_away w;
  steal w

let what_came_first w =
  let task =
    match w.own.turn / turns mod 3 with
    | 0 -> from_inbox w
    | 1 -> steal_own w
    | _ -> steal_elsewhere w
  in
  if task != none then task else from_deques w

let from_where_it_is_due w =
  w.own.turn <- w.own.turn + 1;
  if w.own.turn mod turns = 0 then what_came_first w else from_deques w

(* One who is dismissed takes nothing more, but for what nobody else would do. *)
let find w =
  w.own.from_inbox <- false;
  look_who_takes w;
  if not (helps_others w) then begin
    let task = if w.resident then none else pop w in
    if task != none then task else from_inbox w
  end
  else begin
    let task = from_where_it_is_due w in
    (* A stale one may lie above the one for which it was called. *)
    if w.own.called then
      if task == none then w.own.called <- false else if is_ready task then has_taken w;
    if task != none then task else from_inbox w
  end

let rec some_have_work workers n =
  n > 0 && ((not (Deque.is_empty workers.(n - 1).deque)) || some_have_work workers (n - 1))

let some_deque_has_work pool =
  let n = places_in_use pool in
  some_have_work (workers pool) n

let rec some_have_several workers n ~found =
  found > 1
  || (n > 0 && some_have_several workers (n - 1) ~found:(found + Deque.size workers.(n - 1).deque))

(* More than one, as far as one look can tell. *)
let several_tasks_wait pool =
  let n = places_in_use pool in
  some_have_several (workers pool) n ~found:0

let inbox_has_work w = serves_inbox w && not (Inbox.is_empty w.pool.inbox)

let has_work w =
  Mailbox.is_posted w.mailbox
  || (helps_others w && some_deque_has_work w.pool)
  || (not (w.resident || Deque.is_empty w.deque))
  || inbox_has_work w
