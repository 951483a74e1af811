(* Who notices that tasks wait for each other in a way that the pool does not see.

   Code that waits for a task of its own by a flag, a condition of the stdlib's or a pipe keeps its worker. Where all
   workers do so, nobody within is awake to see that a task waits which one more worker would begin. A pool promises
   so many residents to its tasks ([promised]), whatever the machine has. While it may have fewer ([allowed]) and has
   tasks that may count on running beside each other, this thread looks at it every [watch_ms], and
   calls one more resident (Publish.need) when the oldest task that waits has not changed:

   - at once, if the process uses no CPU: all wait;
   - after [calm_ns], if no worker has begun anything, and collections are so rare that one domain more costs little;
   - else after a time that doubles from call to call: the oldest task of a recursion lies there as long as the others
     compute, and each domain beyond the CPUs holds up all at each collection.

   The thread is a systhread of the program's first domain, so it takes part in no collection. A domain that sleeps does: a
   program that allocates took 1.4 times as long on two CPUs beside one, and 2 to 3 times on one CPU. Only the first domain
   can start it. Where it is needed before code of that one has come by, it has a domain of its own after
   all, which ends when there is nothing to watch.

   Protocol. [pool.sentry] is [unwanted], [wanted] or [on_watch]. Who publishes and finds [wanted] makes it [on_watch],
   then wakes the thread (or starts it). The thread makes it [wanted] again, then looks once more whether a task waits: so
   the publisher of the last task has seen [wanted], or the thread sees the task. *)

open Place
open Publish
module Sleeper = Machine.Sleeper

let ms = 1_000_000
let watch_ms = 20
let calm_ns = 2 * watch_ms * ms
let first_patience = 500 * ms
let longest_patience = 128 * first_patience

(* How long a called resident works as any other does, and a pool without tasks that wait is watched. *)
let call_ms = 200
let idle_ns = 150 * ms

type watch = {
  pool : pool;
  mutable suspect : Promise.any;
  mutable since : int;  (** when it was seen first, or the last resident was called *)
  mutable begun : int;  (** tasks and forks of all workers at that time *)
  mutable last_seen : int;  (** when a task waited last *)
  mutable patience : int;
}

let new_watch pool now =
  { pool; suspect = none; since = now; begun = 0; last_seen = now; patience = first_patience }

(* The process as a whole, between two looks. *)
type pace = { at : int; cpu : int; collections : int }

let pace () =
  { at = Machine.now (); cpu = Machine.process_cpu (); collections = Machine.collections () }

let is_idle ~before now = 10 * (now.cpu - before.cpu) < now.at - before.at
let is_calm ~before now = now.collections - before.collections <= 1

(* {2 One pool} *)

let first_waiting pool =
  let rec from i =
    if i = Array.length pool.workers then none
    else
      let task = Deque.oldest_such is_ready pool.workers.(i).deque in
      if task != none then task else from (i + 1)
  in
  from 0

let begun pool =
  let add n v =
    let { tasks; forks; _ } = Atomic.get v.published in
    n + tasks + forks
  in
  Array.fold_left add 0 pool.workers

let is_needed pool = Atomic.get pool.allowed < pool.promised

let call w =
  let pool = w.pool in
  kept_open pool (fun () ->
      need pool (Int.min pool.promised (Atomic.get pool.residents + 1)) ~ms:call_ms;
      pool.hire pool)

let suspect w task now =
  w.suspect <- task;
  w.since <- now;
  w.begun <- begun w.pool

let call_if_stuck w ~before now =
  let waited = now.at - w.since and steady = begun w.pool = w.begun in
  let at_once = is_idle ~before now in
  let soon = steady && is_calm ~before now && waited >= calm_ns in
  if at_once || soon || waited >= w.patience then begin
    w.patience <-
      (if at_once || soon then first_patience else Int.min longest_patience (2 * w.patience));
    call w;
    suspect w none now.at
  end

(* Whether it is to be watched further. *)
let goes_on w ~before now =
  let task = first_waiting w.pool in
  if task != none then w.last_seen <- now.at;
  if task == none || task != w.suspect then suspect w task now.at else call_if_stuck w ~before now;
  is_needed w.pool && now.at - w.last_seen < idle_ns

let is_watched pool = Atomic.get pool.sentry = on_watch

let give_up pool =
  Atomic.set pool.sentry wanted;
  see_unfenced pool;
  if is_needed pool && first_waiting pool != none then
    ignore (Atomic.compare_and_set pool.sentry wanted on_watch)

let look_at w ~before now = if not (goes_on w ~before now) then give_up w.pool

(* {2 The thread} *)

let sleeper = Sleeper.create ()

(* Its own. *)
let watches : watch list ref = ref []

let watch_of pool now =
  match List.find_opt (fun w -> w.pool == pool) !watches with
  | Some w -> w
  | None -> new_watch pool now

let watch_all before =
  let now = pace () in
  let pools = List.filter is_watched (Atomic.get open_pools) in
  watches := List.map (fun pool -> watch_of pool now.at) pools;
  List.iter (fun w -> look_at w ~before now) !watches;
  now

type thread = Absent | Coming | Here

let thread = Atomic.make Absent

(* Whether the next look comes: a sentry with a domain of its own leaves when there is nothing to watch. Who has made a pool
   watched looks afterwards whether the sentry is gone ([watch]), and it looks for such pools after it has said so. *)
let stays ~in_own_domain =
  (not in_own_domain) || !watches <> []
  || begin
    Atomic.set thread Absent;
    List.exists is_watched (Atomic.get open_pools) && Atomic.compare_and_set thread Absent Here
  end

let rest_ms ~in_own_domain =
  if !watches <> [] then watch_ms else if in_own_domain then idle_ns / ms else -1

let rec keep_watch ~in_own_domain before =
  let now = watch_all before in
  let called = Sleeper.doze sleeper (rest_ms ~in_own_domain) in
  if called || stays ~in_own_domain then keep_watch ~in_own_domain now

(* What a finaliser of the program's raises here goes to a thread that waits. *)
let rec stay ~in_own_domain =
  try keep_watch ~in_own_domain (pace ())
  with exn ->
    (try Uncaught.protect (fun () -> raise exn) with exn -> Worker.raise_anywhere exn);
    stay ~in_own_domain

(* A thread inherits that signals are blocked. An asynchronous exception may strike who starts it: one exchange decides who
   has the call, the thread or nobody. *)
let start () =
  let call = Atomic.make true and in_own_domain = not (Domain.is_main_domain ()) in
  let begin_it () =
    if Atomic.exchange call false then begin
      Atomic.set thread Here;
      stay ~in_own_domain
    end
  in
  Machine.hold_signals ();
  match
    if in_own_domain then ignore (Machine.spawn begin_it : unit Domain.t)
    else ignore (Thread.create begin_it ())
  with
  | () -> Machine.release_signals ()
  | exception exn -> (
    if Atomic.exchange call false then Atomic.set thread Absent;
    Machine.release_signals ();
    match exn with Failure _ | Sys_error _ | Out_of_memory -> () | _ -> raise exn)

let is_there () =
  Atomic.get thread <> Absent
  ||
  (if Atomic.compare_and_set thread Absent Coming then start ();
   Atomic.get thread <> Absent)

(* By who makes a pool that may need it soon: a domain of the sentry's own would have nothing to do yet. *)
let prepare () = if Domain.is_main_domain () then ignore (is_there ())

(* By who publishes, after that. Where the system has no thread for it, one resident is called at once. *)
let watch pool =
  if is_there () then
    begin if Atomic.compare_and_set pool.sentry wanted on_watch then begin
      Sleeper.wake sleeper;
      ignore (is_there ())
    end
    end
  else if Atomic.get pool.residents = 0 then ask_for_one pool
