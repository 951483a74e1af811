(* A worker is active, searching, or asleep. An active worker runs a task. One that finds nothing is
   counted in [searching], and looks again for a while: some pauses of the CPU, then [patience] with
   a yield to the kernel after each look. Then it announces its sleep (Parking), takes itself off
   [searching], looks once more, and sleeps. A resident that nobody wakes for [idle_ms] leaves
   (Resident). A caller wakes every [signal_ms], as a signal does not end its sleep by itself.

   A publisher wakes one sleeper, and only if nobody is searching: a searcher finds the task. When a
   worker takes a task and more are left, it wakes the next one. So a burst of tasks wakes workers
   one after the other, and a single task wakes one.

   Nothing is lost between the two rules. The last worker to stop searching, for whatever reason,
   looks at all deques after it has taken itself off the count, and wakes a sleeper for a task that
   it finds: a publisher that still saw it searching published before that. A worker that was woken
   for a task and has no time for it wakes another ([pass_on]).

   If nobody sleeps, the publisher asks for one more resident, or starts the watchdog, where one is
   missing (Budget).

   A sender wakes a resident, or else a caller. A dismissed resident sleeps aside, where
   [Parking.wake_one] does not find it. A pool's only resident serves the inbox, even if dismissed.

   No task is overlooked. A publisher first writes the task (Deque.push, Inbox.push), then reads the
   counts of sleepers ([sleepers]) and residents ([residents], [allowed]) and whether the watchdog
   is there ([is_watched]). The other party first writes its word, then looks for tasks:
   - a worker announces its sleep, and looks again before it sleeps (Parking has the proof);
   - a resident that leaves takes itself off [residents], looks, and calls another (Resident);
   - the load controller writes [allowed], and wakes all sleepers, which look (Load);
   - the watchdog writes [is_watched], and looks once more (Watchdog).
   All these are sequentially consistent atomics. So either the publisher reads the word that the
   other party has written, and wakes or hires; or its task comes before that write, and the other
   party finds it. *)

module P = Place

(* {2 What waits} *)

let some_deque_has_work pool =
  Array.exists (fun (w : P.t) -> not (Deque.is_empty w.deque)) (P.workers pool)

let something_is_left (p : P.pool) = (not (Inbox.is_empty p.inbox)) || some_deque_has_work p

(* Stale entries may lie above it. *)
let oldest_ready (v : P.t) = Deque.oldest_such Promise.is_ready v.deque

let a_task_waits (pool : P.pool) =
  (not (Inbox.is_empty pool.inbox))
  || Array.exists (fun v -> oldest_ready v != P.none) (P.workers pool)

(* {2 More residents} *)

type help = { hire : P.pool -> unit; watch : unit -> unit }

let help = ref { hire = ignore; watch = ignore }
let hire pool = !help.hire pool

let watch () = if not (Atomic.get P.is_watched) then !help.watch ()
let call_ms = 200

let[@inline never] ask_for_one (pool : P.pool) =
  Budget.need pool 1 ~ms:call_ms;
  hire pool

(* Where there is no CPU for the one that is missing, fewer may be allowed afterwards. *)
let hire_for_work ?(is_missing = Budget.is_missing) pool =
  if is_missing pool then hire pool;
  if Budget.lacks_watch pool then watch ()

(* {2 Wakes} *)

let wake_for_work (pool : P.pool) =
  if Parking.sleepers pool.parking = 0 then hire_for_work pool
  else if Atomic.get pool.searching = 0 then ignore (Parking.wake_one pool.parking)

(* A worker that takes one of several items wakes the next (Search); one that searches asks again if
   it may have found something else. *)
let wake_for_inbox (pool : P.pool) =
  watch ();
  let { Slot.parking; _ } = pool in
  if not (Parking.wake_one parking ~from:1 || Parking.wake_one parking) then
    match Atomic.get pool.residents with
    | 0 -> if Atomic.get pool.searching = 0 then ask_for_one pool
    | residents ->
      if Atomic.get pool.searching = 0 && Budget.is_missing pool then hire pool;
      if residents > Budget.allowed pool then Parking.wake_all parking

let stop_searching (w : P.t) =
  let { Slot.parking; searching; inbox; _ } = w.pool in
  if Atomic.fetch_and_add searching (-1) = 1 && some_deque_has_work w.pool then
    if not (Inbox.is_empty inbox) then wake_for_inbox w.pool
    else ignore (Parking.wake_one parking)

let pass_on (w : P.t) =
  if not (Inbox.is_empty w.pool.inbox) then wake_for_inbox w.pool
  else if some_deque_has_work w.pool then ignore (Parking.wake_one w.pool.parking)

(* A woken worker takes some task, and others may lie elsewhere: nobody was woken for those while
   somebody was searching. *)
let wake_next (w : P.t) =
  let count n (v : P.t) = n + Deque.size v.deque in
  if Array.fold_left count 0 (P.workers w.pool) > 1 then wake_for_work w.pool

(* {2 The way to sleep} *)

let patience = Machine.ticks_of_us 60
let signal_ms = 20
let idle_ms = 150

(* Regions end, and the next one comes, within microseconds: while a worker yields it sees neither
   for half a microsecond. So it pauses longer after a region. *)
let pauses (pool : P.pool) =
  if Atomic.get pool.size > Cpus.usable () then 0 else Machine.search_pauses

let region_pauses pool = 4 * pauses pool
let search_pauses pool ~served = if served then 16 * pauses pool else pauses pool

let rec spin_since ~found pauses since =
  found ()
  ||
  if pauses > 0 then (
    Domain.cpu_relax ();
    spin_since ~found (pauses - 1) since)
  else
    Machine.ticks () - since < patience
    &&
    (Machine.yield ();
     spin_since ~found 0 since)

let spin ~found pauses = spin_since ~found pauses (Machine.ticks ())

let rec sleep_as_caller (w : P.t) ~disturbed =
  if not (Parking.sleep w.pool.parking w.index ~limit_ms:(Timer.at_most signal_ms)) then begin
    ignore (Timer.look ());
    if not (Atomic.get w.dormant) then Atomic.set w.dormant true;
    if not (disturbed ()) then sleep_as_caller w ~disturbed
  end

(* Whether something ended the sleep before so many milliseconds were over. *)
let nap (w : P.t) ms =
  let limit_ms = Timer.at_most ms in
  Parking.doze w.pool.parking w.index ~limit_ms || Timer.look () || limit_ms < ms

(* A signal's handler or a finaliser on top of this wait may have slept here itself, and so used up
   our announcement and wake-up, or done what we wait for. *)
let disturbance (w : P.t) =
  let counts = w.own.counts in
  let { Counts.parks; tasks; _ } = counts in
  fun () -> counts.parks <> parks || counts.tasks <> tasks

let end_sleep (w : P.t) =
  Parking.cancel w.pool.parking w.index;
  if Atomic.get w.dormant then Atomic.set w.dormant false;
  Tell.busy w;
  P.publish_counts w

let arrive (w : P.t) = w.own.bored <- false

(* [found] is asked once more after the announcement: Parking has the proof. *)
let park (w : P.t) ~announce ~found =
  Counts.add_park w.own.counts;
  Tell.idle w Park;
  let disturbed = disturbance w in
  let sleep () =
    announce ();
    if not (found () || disturbed ()) then begin
      P.publish_counts w;
      if w.resident then w.own.bored <- not (nap w idle_ms) else sleep_as_caller w ~disturbed
    end
  in
  Outcome.finally end_sleep w sleep ()

(* For something of its own: it takes no tasks, so wakes for work are for others. *)
let pause (w : P.t) ~found ~settle =
  if not (spin ~found (region_pauses w.pool)) then begin
    ignore (settle w);
    park w ~found ~announce:(fun () -> Parking.announce_aside w.pool.parking w.index)
  end

let announce_search (w : P.t) ~aside =
  if aside then begin
    Parking.announce_aside w.pool.parking w.index;
    watch ()
  end
  else Parking.announce w.pool.parking w.index

let spin_idle (w : P.t) ~found pauses =
  Tell.idle w Idle;
  let found = spin ~found pauses in
  if found then Tell.busy w;
  found

(* Unbroken from the count to the handler. *)
let search (w : P.t) ~pauses ~until ~found ~settle =
  let counted = ref true in
  let stop () =
    if !counted then begin
      counted := false;
      stop_searching w
    end
  in
  let announce aside () =
    announce_search w ~aside;
    stop ()
  in
  let go () =
    if spin_idle w ~found pauses then stop ()
    else begin
      park w ~announce:(announce (settle w)) ~found;
      if until () then pass_on w else wake_next w
    end
  and give_up _ =
    stop ();
    pass_on w
  in
  ignore (Atomic.fetch_and_add w.pool.searching 1);
  Outcome.on_failure go give_up
