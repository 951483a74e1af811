(* Code that waits for a task by a flag, a condition of the stdlib's or a pipe keeps its worker, and
   the pool does not see that it waits. So a task may lie in a deque or in the inbox while every
   worker that could take it waits for it. The watchdog looks for such tasks in four places:

   - the inbox of every pool;
   - the deques that callers have left, as they leave tasks to the residents;
   - the deques of a pool that has fewer residents at work than it promises its tasks
     (Budget);
   - the deques of a pool in which a worker sleeps that stands back ([Search.stands_back]).

   A task is stuck if it is the oldest of its deque or inbox at two looks, [period_ms] apart, and
   - the process used no CPU in between: everybody waits; or
   - for [calm_ns] no worker of a pool that is short of promised residents has begun anything, and
     collections are rare; or
   - [patience_ns] has passed. This is a guess: the oldest task of a recursion lies there for as
     long as the workers compute, and a domain beyond the CPUs holds up all of them.

   The watchdog then calls one more resident, be it a dismissed one, for a while ([Budget.need]).
   If no resident can come, a thread or domain of its own enters the pool as a caller and does what
   it finds.
   Where a task waits and no caller helps, the watchdog asks for a resident in a caller's stead.

   The watchdog's thread belongs to the program's first domain, so no further domain takes part in
   collections. It starts when something may be stuck, and ends when nothing was for [idle_ns].

   Protocol. [Place.is_watched] is true while the thread is there. A publisher writes its task, a
   caller lets go of its slot, a worker that stands back announces its sleep; then each reads
   [is_watched], and starts the thread if that is false. The thread, before it ends, writes false,
   and looks at all pools once more. If something is to be watched it takes the flag back, unless a
   publisher was faster. All these are sequentially consistent atomics: so either the publisher has
   read false, or the last look has seen its task. *)

module P = Place

let period_ms = 20
let ms = 1_000_000
let calm_ns = 2 * period_ms * ms
let patience_ns = 2000 * ms

(* How long a called resident may work: less where it is a guess that it is needed. *)
let call_ms = 200
let guess_ms = 50

(* How long a task waits before the watchdog's own caller comes, and how long that one works. *)
let relief_ns = 200 * ms

(* How long the thread stays while nothing waits. *)
let idle_ns = 150 * ms

type watch = {
  pool : P.pool;
  mutable suspects : (Promise.any * int) list;  (** each with the time when it was seen first *)
  mutable begun : int;  (** tasks and forks of all workers *)
  mutable steady_since : int;  (** when that changed last *)
  mutable helped_at : int;
  mutable relieved_at : int;
}

let new_watch pool now =
  { pool; suspects = []; begun = 0; steady_since = now; helped_at = now; relieved_at = 0 }

(* The process as a whole, between two looks. *)
type pace = { at : int; cpu : int; collections : int }

let pace () =
  { at = Machine.now (); cpu = Machine.process_cpu (); collections = Machine.collections () }

let is_idle ~before now = 10 * (now.cpu - before.cpu) < now.at - before.at
let is_calm ~before now = now.collections - before.collections <= 1

(* {2 What waits} *)

let has_stand_back (pool : P.pool) =
  let is_one (w : P.t) =
    P.is_taken w && Parking.is_asleep pool.parking w.index && Search.stands_back w
  in
  Array.exists is_one (P.workers pool)

let oldest_tasks (pool : P.pool) =
  let all = Budget.breaks_promise pool || has_stand_back pool in
  let watched = List.filter (fun w -> all || not (P.is_taken w)) (Array.to_list (P.workers pool)) in
  let in_deques = List.map Sleep.oldest_ready watched in
  List.filter (fun task -> task != P.none) (Inbox.oldest pool.inbox :: in_deques)

let is_to_be_watched pool =
  has_stand_back pool
  || oldest_tasks pool <> []
  || (Budget.lacks_stand_in pool && Sleep.a_task_waits pool)

(* [now] if nothing waits. *)
let waits_since w now = List.fold_left (fun least (_, since) -> Int.min least since) now w.suspects

(* {2 Help} *)

(* The watchdog's own caller, for tasks that no resident can come for. *)
let relieve pool () =
  let until = Machine.now () + relief_ns in
  let rec serve w =
    if Machine.now () < until && Worker.execute_next w Search.find_what_is_stuck then serve w
  in
  Caller.with_worker Here Stay pool serve

(* Where a scheduler of fibers runs in the first domain, a caller there would replace its way to
   wait (Dla), and hold up its loop: so the caller gets a domain of its own. *)
let relieve_apart pool () =
  relieve pool ();
  while Machine.domain_must_stay () do
    Machine.sleep_ms period_ms
  done

let send_relief pool =
  let in_thread () = ignore (Machine.start_thread (relieve pool)) in
  if not (Fiber.is_elsewhere ()) then in_thread ()
  else
    try ignore (Machine.spawn (relieve_apart pool) : unit Domain.t)
    with Failure _ | Sys_error _ | Out_of_memory -> in_thread ()

let help w ~ms now =
  let { Slot.residents; size; _ } = w.pool in
  let before = Atomic.get residents in
  let most = Int.max (Budget.promised w.pool) (Atomic.get size - 1) in
  let call pool =
    Budget.need pool (Int.max 1 (Int.min most (before + 1))) ~ms;
    Sleep.hire pool
  in
  Publish.while_a_task_waits w.pool call;
  w.helped_at <- now;
  let is_late = now - Int.max w.relieved_at (waits_since w now) >= relief_ns in
  if is_late && Atomic.get residents <= before then begin
    w.relieved_at <- now;
    send_relief w.pool
  end

let help_if_stuck w ~before now =
  let waited = now.at - Int.max w.helped_at (waits_since w now.at) in
  let is_steady = Budget.breaks_promise w.pool && now.at - w.steady_since >= calm_ns in
  let is_sure =
    (waited > 0 && is_idle ~before now)
    || (waited >= calm_ns && is_steady && is_calm ~before now)
  in
  if is_sure then help w ~ms:call_ms now.at
  else if waited >= patience_ns then help w ~ms:guess_ms now.at

let look ~before now w =
  let since task = Option.value (List.assq_opt task w.suspects) ~default:now.at in
  w.suspects <- List.map (fun task -> (task, since task)) (oldest_tasks w.pool);
  let begun = P.begun w.pool in
  if begun <> w.begun then w.steady_since <- now.at;
  w.begun <- begun;
  Load.stand_in w.pool;
  help_if_stuck w ~before now

(* {2 The thread} *)

let watch_of watches now pool =
  let known = List.find_opt (fun w -> w.pool == pool) watches in
  Option.value known ~default:(new_watch pool now)

(* Whether the thread may end. *)
let leave () =
  Atomic.set P.is_watched false;
  let pools = Atomic.get P.open_pools in
  not (List.exists is_to_be_watched pools && Atomic.compare_and_set P.is_watched false true)

let sleeper = Machine.Sleeper.create ()

let rec watch_on watches ~before ~needed_at =
  ignore (Machine.Sleeper.doze sleeper period_ms);
  let now = pace () in
  let watches = List.map (watch_of watches now.at) (Atomic.get P.open_pools) in
  List.iter (look ~before now) watches;
  let is_needed w = is_to_be_watched w.pool in
  let needed_at = if List.exists is_needed watches then now.at else needed_at in
  if now.at - needed_at < idle_ns || not (leave ()) then watch_on watches ~before:now ~needed_at

(* A finaliser of the program's may raise here. *)
let rec run () =
  try
    let before = pace () in
    watch_on [] ~before ~needed_at:before.at
  with exn ->
    Uncaught.complain "a finaliser" exn;
    run ()

let start_thread () = Machine.start_thread run
let call_off _ = Atomic.set P.is_watched false

(* Unbroken from taking the flag to the handler. A thread that has started though an exception came
   out of this may watch beside the next one. *)
let start () =
  if Atomic.compare_and_set P.is_watched false true then
    if not (Outcome.on_failure start_thread call_off) then call_off ()
