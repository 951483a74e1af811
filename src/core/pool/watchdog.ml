(* Code that waits for a task by a flag, a condition of the stdlib's or a pipe keeps its worker,
   and the pool does not see that it waits. So a task may lie in a deque or in the inbox while
   every worker that could take it waits for it. The watchdog looks for such tasks in four
   places:

   - the inbox of every pool, which only residents serve;
   - the deques that callers have left, as they leave tasks to the residents;
   - the deques of a pool that has fewer residents at work than it promises its tasks
     ([Sleep.promised]);
   - the deques of a pool in which a worker sleeps that stands back ([Search.stands_back]).

   A task is stuck if it is the oldest of its deque or inbox at two looks, [period_ms] apart, and
   - the process used no CPU in between: everybody waits; or
   - for [calm_ns] no worker of a pool that is short of promised residents has begun anything, and
     collections are so rare that one domain more costs little; or
   - [patience] has passed. It doubles from help to help: the oldest task of a recursion lies
     there for as long as the workers compute, and a domain beyond the CPUs holds up all of them
     at each collection.

   The watchdog then calls one more resident, be it a dismissed one, for a while ([Sleep.need]).
   If no resident can come, a thread of its own enters the pool as a caller and does what it
   finds.

   The watchdog's thread belongs to the program's first domain, so no further domain takes part in
   collections. (Beside a domain that sleeps, a program that allocates took 1.4 times as long on
   two CPUs, and 2 to 3 times on one.) It starts when something may be stuck, and ends when
   nothing was for [idle_ns].

   Protocol. [Place.is_watched] is true while the thread is there. A publisher writes its task, a
   caller lets go of its place, a worker that stands back announces its sleep; then each of them
   reads [is_watched], and starts the thread if that is false. The thread, before it ends, writes
   false, and looks at all pools once more. If something is to be watched it takes the flag back; a
   publisher that was faster has started another thread. All these are sequentially consistent
   atomics: so either the publisher has read false, or the last look has seen its task. *)

module P = Place

let period_ms = 20
let ms = 1_000_000
let calm_ns = 2 * period_ms * ms
let first_patience_ns = 500 * ms
let longest_patience_ns = 4 * first_patience_ns

(* How long a called resident may work: less where it is a guess that it is needed. *)
let call_ms = 200
let guess_ms = 50

(* How long a task waits before the watchdog's own caller comes, and how long that one works. *)
let relief_ns = 200 * ms

(* How long the thread stays while nothing waits. *)
let idle_ns = 150 * ms

type suspect = { task : Promise.any; since : int  (** when it was seen first, in ns *) }

type watch = {
  pool : P.pool;
  mutable suspects : suspect list;
  mutable begun : int;  (** tasks and forks of all workers *)
  mutable steady_since : int;  (** when that changed last *)
  mutable helped_at : int;
  mutable relieved_at : int;
  mutable patience : int;
}

let new_watch pool now =
  {
    pool;
    suspects = [];
    begun = 0;
    steady_since = now;
    helped_at = now;
    relieved_at = 0;
    patience = first_patience_ns;
  }

(* The process as a whole, between two looks. *)
type pace = { at : int; cpu : int; collections : int }

let pace () =
  { at = Machine.now (); cpu = Machine.process_cpu (); collections = Machine.collections () }

let is_idle ~before now = 10 * (now.cpu - before.cpu) < now.at - before.at
let is_calm ~before now = now.collections - before.collections <= 1

(* {2 What waits} *)

let is_short (pool : P.pool) =
  Int.min (Atomic.get pool.allowed) (Atomic.get pool.residents) < Sleep.promised pool

let stands_back_asleep (w : P.t) =
  P.is_taken w && Parking.is_asleep w.pool.parking w.index && Search.stands_back w

let has_stand_back (pool : P.pool) = Array.exists stands_back_asleep (P.workers pool)

let oldest_tasks (pool : P.pool) =
  let all = is_short pool || has_stand_back pool in
  let watched = List.filter (fun w -> all || not (P.is_taken w)) (Array.to_list (P.workers pool)) in
  let in_deques = List.map Sleep.oldest_ready watched in
  List.filter (fun task -> task != P.none) (Inbox.oldest pool.inbox :: in_deques)

let is_to_be_watched pool = has_stand_back pool || oldest_tasks pool <> []

let look_at_tasks w now =
  let suspect task =
    match List.find_opt (fun suspect -> suspect.task == task) w.suspects with
    | Some suspect -> suspect
    | None -> { task; since = now }
  in
  w.suspects <- List.map suspect (oldest_tasks w.pool)

let look_at_pace w now =
  let begun = P.begun w.pool in
  if begun <> w.begun then w.steady_since <- now;
  w.begun <- begun

(* [now] if nothing waits. *)
let waits_since w now =
  List.fold_left (fun least { since; _ } -> Int.min least since) now w.suspects

(* {2 Help} *)

(* The watchdog's own caller, for tasks that no resident can come for. *)
let relieve pool () =
  let until = Machine.now () + relief_ns in
  let rec serve w =
    if Machine.now () < until && Worker.execute_next w Search.find_what_is_stuck then serve w
  in
  match Caller.try_enter pool with Some visit -> Caller.visiting visit serve | None -> ()

(* A pool in which something waits cannot have closed. *)
let help w ~ms now =
  let { Slot.residents; size; _ } = w.pool in
  let before = Atomic.get residents in
  let most = Int.max (Sleep.promised w.pool) (Atomic.get size - 1) in
  let call () =
    if Sleep.a_task_waits w.pool then begin
      Sleep.need w.pool (Int.max 1 (Int.min most (before + 1))) ~ms;
      Sleep.hire w.pool
    end
  in
  Publish.kept_open w.pool call;
  w.helped_at <- now;
  let is_late = now - Int.max w.relieved_at (waits_since w now) >= relief_ns in
  if is_late && Atomic.get residents <= before then begin
    w.relieved_at <- now;
    ignore (Machine.start_thread (relieve w.pool))
  end

let help_if_stuck w ~before now =
  let waited = now.at - Int.max w.helped_at (waits_since w now.at) in
  let is_steady = is_short w.pool && now.at - w.steady_since >= calm_ns in
  let is_sure =
    (waited > 0 && is_idle ~before now)
    || (waited >= calm_ns && is_steady && is_calm ~before now)
  in
  if is_sure || waited >= w.patience then begin
    w.patience <-
      (if is_sure then first_patience_ns else Int.min longest_patience_ns (2 * w.patience));
    help w ~ms:(if is_sure then call_ms else guess_ms) now.at
  end

let look ~before now w =
  look_at_tasks w now.at;
  look_at_pace w now.at;
  help_if_stuck w ~before now

(* {2 The thread} *)

let watch_of watches now pool =
  match List.find_opt (fun w -> w.pool == pool) watches with
  | Some w -> w
  | None -> new_watch pool now

(* Whether the thread may end. *)
let leave () =
  Atomic.set P.is_watched false;
  let pools = Atomic.get P.open_pools in
  not
    (List.exists is_to_be_watched pools && Atomic.compare_and_set P.is_watched false true)

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
  match
    let before = pace () in
    watch_on [] ~before ~needed_at:before.at
  with
  | () -> ()
  | exception exn ->
    Uncaught.complain exn;
    run ()

(* In ns; 0: never. *)
let failed_at = Atomic.make 0

let may_start () =
  let failed_at = Atomic.get failed_at in
  failed_at = 0 || Machine.now () - failed_at > Resident.refusal_ns

(* No exception strikes between taking the flag and the start: nothing allocates. *)
let start () =
  if may_start () && Atomic.compare_and_set P.is_watched false true then
    if not (Machine.start_thread run) then begin
      Atomic.set P.is_watched false;
      Atomic.set failed_at (Machine.now ())
    end
