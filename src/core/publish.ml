(* Handing out work, and who is woken or called for it.

   The owner offers tasks in its deque, and takes them back; whoever is no worker of the pool
   sends them to the inbox. The task is there first, then the wake: Parking and Resident have the
   proofs that somebody sees it. *)

open Place

let set_quiet w v = Atomic.set (Compat.first_word w) v
let rouse w = if Atomic.get (Compat.first_word w) <> 0 && not (alone w) then set_quiet w 0

(* What has a deadline, or may have (some task has), is not quiet: it looks at every fork, ... *)
let watches_clock w = w.own.context != uncancelled && Timer.are_set ()

(* To look costs ten forks. But who forks that densely allocates, too: the next collection is some
   40,000 forks away, and calls the worker up (if it knows where to find the worker). So it may be
   quiet until then. Fewer would not tell: the way down a tree is dense until the first leaf. *)
let few_forks = 256
let dense = Machine.ticks_of_us few_forks

let forks_densely w =
  w.own.watched <- w.own.watched + 1;
  index_in_state >= 0
  && w.own.watched land (few_forks - 1) = 0
  &&
  let since = w.own.watched_since in
  w.own.watched_since <- Machine.ticks ();
  w.own.watched_since - since < dense

(* ... as has who may be the first to see that the pool need not be short of workers any more
   (Staff). *)
let keeps_looking w = watches_clock w || is_short w.pool

(* Looks again after the write: thieves may have emptied the deque meanwhile, or somebody has
   called the worker up, and what they wrote came too early. *)
let[@inline never] hush w =
  w.own.filling <- false;
  set_quiet w 1;
  if Atomic.get w.look <> 0 || (keeps_looking w && not (forks_densely w)) then set_quiet w 0
  else if Deque.size w.deque <= low then rouse w

let wants_tasks w =
  let size = Deque.size w.deque in
  if size <= low then w.own.filling <- true;
  (w.own.filling && not (alone w))
  ||
  (hush w;
   false)

let publish_backtrace flag =
  let status = Machine.backtrace_status () in
  if Atomic.get flag <> status then Atomic.set flag status

(* Others may be able to leave now, or to finish closing. *)
let announce_leave pool =
  Parking.wake_all pool.parking;
  List.iter Machine.Sleeper.wake (Atomic.get pool.leaving)

(* A resident may have found the count up, and gone to sleep until somebody is through. *)
let no_longer_suspended pool =
  ignore (Atomic.fetch_and_add pool.suspended (-1));
  if Atomic.get pool.closing then announce_leave pool

(* Who acts on a pool in which it has no place counts itself in [suspended] meanwhile: closing
   waits for that. *)
let kept_open pool f =
  ignore (Atomic.fetch_and_add pool.suspended 1);
  match f () with
  | () -> no_longer_suspended pool
  | exception exn ->
    no_longer_suspended pool;
    raise exn

let still_needed pool =
  let needed = Atomic.get pool.needed in
  if needed > 0 && Machine.now () < Atomic.get pool.needed_until then needed else 0

(* Allows so many residents for the next [ms] milliseconds, whatever the budget says. Dismissed ones
   sleep aside, where [wake_one] does not find them: so all are woken. *)
let need pool residents ~ms =
  let needed = still_needed pool in
  let may_work = Int.max (Atomic.get pool.allowed) needed in
  let residents = Int.max residents needed in
  Atomic.set pool.needed residents;
  Atomic.set pool.needed_until (Machine.now () + (ms * 1_000_000));
  let raised = Int.min residents (Atomic.get pool.size - 1) in
  if Atomic.get pool.allowed < raised then Atomic.set pool.allowed raised;
  if residents > may_work then Parking.wake_all pool.parking

(* Even where the caller is the only worker: something has come that no caller waits for. *)
let[@inline never] ask_for_one pool =
  need pool 1 ~ms:200;
  pool.hire pool

let[@inline] is_one_missing pool residents =
  residents < Atomic.get pool.allowed || Atomic.get pool.refused <> 0

let hire_if_missing pool = if is_one_missing pool (Atomic.get pool.residents) then pool.hire pool

(* On so many residents the pool's tasks may count, whatever the machine does. *)
let promised pool = Int.max pool.promised (Int.min 1 (Atomic.get pool.size - 1))

(* Tasks may wait for each other unseen, and the pool may have too few workers for that
   (Watchdog). *)
let[@inline] is_watch_missing pool =
  (not (Atomic.get is_watched))
  && Atomic.get pool.counted_on
  && Atomic.get pool.allowed < promised pool

let watch pool = if not (Atomic.get is_watched) then pool.watch ()

(* One wake per publication, and none while somebody is searching: a searcher looks at everything
   once more before it sleeps, and wakes the next when it finds something. Where the pool may have
   fewer residents than it has promised, the watchdog looks whether that does harm. *)
let wake_sleeper pool = if Atomic.get pool.searching = 0 then ignore (Parking.wake_one pool.parking)

let[@inline] is_anybody_missing pool =
  is_one_missing pool (Atomic.get pool.residents) || is_watch_missing pool

(* Where there is no CPU for the one that is missing, fewer may be allowed afterwards. *)
let hire_for_work pool =
  hire_if_missing pool;
  if is_watch_missing pool then pool.watch ()

let wake_for_work pool =
  if Parking.sleepers pool.parking > 0 then wake_sleeper pool else hire_for_work pool

let is_ready = Promise.is_ready

(* Stale entries may lie above it. *)
let oldest_ready v = Deque.oldest_such is_ready v.deque

let a_task_waits pool =
  (not (Inbox.is_empty pool.inbox)) || Array.exists (fun v -> oldest_ready v != none) (workers pool)

let[@inline] nth_newest deque ends n = Promise.state (Deque.nth_newest deque ends n)

(* Tasks that were awaited leave their entries behind. What an empty slot holds, [none], is ready
   for ever. Two at a time are usual, and to let go of them in one go takes half of the time. *)
let rec drop_stale deque =
  let ends = Deque.ends deque in
  match nth_newest deque ends 0 with
  | Ready _ -> ()
  | Running _ | Returned _ | Raised _ -> (
    match nth_newest deque ends 1 with
    | Ready _ -> Deque.forget deque ends 1
    | Running _ | Returned _ | Raised _ -> (
      match nth_newest deque ends 2 with
      | Ready _ -> Deque.forget deque ends 2
      | Running _ | Returned _ | Raised _ ->
        Deque.forget deque ends 3;
        if Deque.size_of ends > 3 then drop_stale deque))

let[@inline] forget_stale w =
  w.own.stale <- false;
  drop_stale w.deque

(* Others who awaited tasks of this deque leave entries behind without a word: hence the look when
   it is long, too. To look takes a tenth of the time of a task that is awaited in place, so one
   fork in eight does; spread by Fibonacci hashing (Knuth, The Art of Computer Programming, volume
   3, 6.4), or a program that forks in groups might look at the wrong moment each time, and its
   deque grow. *)
let[@inline] is_sampled forks = (forks * 0x1E3779B97F4A7C15) lsr 60 = 0

(* What was popped stays in its slot, and its result in memory, until something is pushed there. *)
let forks_to_a_sweep = 1024

let[@inline never] tidy w =
  if Deque.size w.deque >= high then forget_stale w;
  if w.own.counts.forks land (forks_to_a_sweep - 1) < 8 then Deque.sweep w.deque

let[@inline] prepare_to_push w =
  let forks = w.own.counts.forks + 1 in
  w.own.counts.forks <- forks;
  if w.own.stale then begin
    forget_stale w;
    if forks land (forks_to_a_sweep - 1) = 0 then Deque.sweep w.deque
  end
  else if is_sampled forks then tidy w

(* Makes its owner look up at the next fork, or between two chunks of a loop. *)
let call_up w =
  Atomic.set w.look 1;
  set_quiet w 0

let[@inline] has_enough w = w.own.filling && Deque.size w.deque >= high

let offer w ~wake task =
  publish_backtrace w.backtrace;
  prepare_to_push w;
  Deque.push w.deque task;
  if has_enough w then hush w;
  if wake then wake_for_work w.pool

let[@inline never] push_with_room w task =
  Room.make ();
  Deque.push w.deque task

let[@inline never] follow_up w =
  Room.make ();
  if has_enough w then hush w;
  if Parking.sleepers w.pool.parking > 0 then begin
    Machine.fence ();
    wake_sleeper w.pool
  end
  else hire_for_work w.pool

(* By one who has sealed its place, for whom each look counts. A sleeper that it does not see has
   yet to look for work, behind a fence for both. For one that it sees it needs a fence after all:
   whoever is searching has to find the task. *)
let[@inline] offer_unfenced w task =
  prepare_to_push w;
  if Deque.has_spare w.deque then Deque.push_to_spare w.deque task else push_with_room w task;
  if has_enough w || Parking.sleepers w.pool.parking > 0 || is_anybody_missing w.pool then
    match follow_up w with
    | () -> ()
    | exception exn ->
      (* For want of room, say: then it is as if the task had never been there, unless somebody
         has it already, and nobody need be woken. No call here needs room. *)
      if Promise.claim_from (Promise.state task) task || exn != Stack_overflow then raise exn

let retract w task =
  Deque.drop w.deque task;
  if Deque.size w.deque <= low then rouse w

(* A resident, as visitors do not serve the inbox: one that searches asks again when it has searched
   (Worker.stop_searching). One that is dismissed and may not leave yet serves it too. *)
let wake_for_inbox pool =
  if Atomic.get pool.residents = 0 then ask_for_one pool;
  watch pool;
  let { parking; _ } = pool and allowed = Atomic.get pool.allowed in
  if Atomic.get pool.residents = 0 || allowed = 0 then Parking.wake_all parking
  else if not (Parking.wake_one parking ~from:1 ~upto:(pool.regulars - 1)) then begin
    if Atomic.get pool.searching = 0 then hire_if_missing pool;
    for i = allowed + 1 to Int.min (Atomic.get pool.reach) pool.regulars - 1 do
      ignore (Parking.wake parking i)
    done
  end

let send pool task =
  publish_backtrace pool.inherited;
  Inbox.push pool.inbox task;
  wake_for_inbox pool

(* To the deque if the calling thread is a worker of that pool, else to the inbox. *)
let submit pool task =
  match owned_place () with
  | Some w when w.pool == pool -> offer w ~wake:true task
  | Some _ | None -> send pool task
