(* Handing out work. The owner of a place offers tasks in its deque, and takes them back; any other
   thread sends them to the inbox. The task is there first, then somebody is woken (Sleep). *)

module P = Place

(* {2 The quiet word} *)

let set_quiet (w : P.t) v = Atomic.set (Compat.first_word w) v
let rouse w = if Atomic.get (Compat.first_word w) <> 0 && not (P.alone w) then set_quiet w 0

let call_up (w : P.t) =
  Atomic.set w.look 1;
  set_quiet w 0

let heed_call (w : P.t) = Atomic.set w.look 0

(* Code that may have a deadline is not quiet: it looks at every fork. *)
let watches_clock (w : P.t) = w.own.fiber.context != P.uncancelled && Timer.are_set ()

(* A worker of a pool that is short of workers may be the first to see that the pool need not be
   (Load): it looks at every fork, too, which costs ten forks. But while its code allocates enough
   the collector calls it up every 2 ms: so it may be quiet if the last call was a moment ago. Where
   the code allocates less from then on, the call comes later: so this is no rule for deadlines. *)
let moment = Machine.ticks_of_us 8000

let is_called_up_often () =
  P.index_in_state >= 0 && Machine.ticks () - Machine.called_up_at () < moment

let keeps_looking (w : P.t) =
  watches_clock w || (Budget.wants_more w.pool && not (is_called_up_often ()))

(* Looks again after the write: thieves may have emptied the deque meanwhile, or somebody has called
   the worker up, and their writes came too early. *)
let[@inline never] hush (w : P.t) ~few =
  w.own.filling <- false;
  if not (keeps_looking w) then begin
    set_quiet w 1;
    if Atomic.get w.look <> 0 then set_quiet w 0 else if Deque.size w.deque <= few then rouse w
  end

let wants_tasks (w : P.t) =
  let size = Deque.size w.deque in
  if size <= P.low then w.own.filling <- true;
  (w.own.filling && not (P.alone w))
  ||
  (hush w ~few:P.low;
   false)

(* {2 Tasks} *)

let publish_backtrace flag =
  let status = Machine.backtrace_status () in
  if Atomic.get flag <> status then Atomic.set flag status

let push (w : P.t) ~wake task =
  publish_backtrace w.backtrace;
  Deque.push w.deque task;
  if w.own.filling && Deque.size w.deque >= P.high then hush w ~few:P.low;
  if wake then Sleep.wake_for_work w.pool

let offer (w : P.t) ~wake task =
  Counts.add_fork w.own.counts;
  push w ~wake task

let retract (w : P.t) task =
  Deque.drop w.deque task;
  if Deque.size w.deque <= P.low then rouse w

let send (pool : P.pool) task =
  publish_backtrace pool.inherited;
  Inbox.push pool.inbox task;
  Sleep.wake_for_inbox pool

let submit pool task =
  match P.owned_place () with
  | Some w when w.pool == pool -> push w ~wake:true task
  | Some _ | None -> send pool task

(* {2 Leaving and closing} *)

let announce_leave (pool : P.pool) =
  Parking.wake_all pool.parking;
  List.iter Machine.Sleeper.wake (Atomic.get pool.leaving)

let count_suspended (pool : P.pool) n = ignore (Atomic.fetch_and_add pool.suspended n)

(* A resident may have found the count up, and gone to sleep until it is down. *)
let no_longer_suspended pool =
  count_suspended pool (-1);
  if Atomic.get pool.Slot.closing then announce_leave pool

let kept_open pool f =
  count_suspended pool 1;
  Outcome.finally no_longer_suspended pool f ()

let while_a_task_waits pool f =
  let run () = if Sleep.a_task_waits pool then f pool in
  if Sleep.a_task_waits pool then kept_open pool run
