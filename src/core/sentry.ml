(* Who notices that tasks wait for each other in a way that the pool does not see.

   Code that waits for a task of its own by a flag, a condition of the stdlib's or a pipe keeps its worker. Where all
   workers do so, nobody within is awake to see that a task waits which one more worker would begin. A pool promises
   so many residents to its tasks ([promised]), whatever the machine has. While it may have fewer ([allowed]) and has
   tasks that may count on running beside each other, this thread looks at it every [watch_ms], and
   calls one more resident (Publish.need) when the oldest task of some place, or of the inbox, waits on and on:

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
let longest_patience = 4 * first_patience

(* How long a called resident works as any other does: less where it is a guess that it is needed. *)
let call_ms = 200
let guess_ms = 50

(* How long a pool without tasks that wait is watched. *)
let idle_ns = 150 * ms

type suspect = { task : Promise.any; since : int  (** when it was seen first, in ns *) }

type watch = {
  pool : pool;
  mutable suspects : suspect list;  (** the oldest tasks of places, each of another one *)
  mutable served : int;  (** from the inbox, ... *)
  mutable unserved_since : int;  (** ... since then, while something lay there; 0: nothing does *)
  mutable called_at : int;
  mutable begun : int;  (** tasks and forks of all workers, ... *)
  mutable steady_since : int;  (** ... when that changed last *)
  mutable last_seen : int;  (** when a task waited last *)
  mutable patience : int;
}

let new_watch pool now =
  {
    pool;
    suspects = [];
    served = 0;
    unserved_since = 0;
    called_at = now;
    begun = 0;
    steady_since = now;
    last_seen = now;
    patience = first_patience;
  }

(* The process as a whole, between two looks. *)
type pace = { at : int; cpu : int; collections : int }

let pace () =
  { at = Machine.now (); cpu = Machine.process_cpu (); collections = Machine.collections () }

let is_idle ~before now = 10 * (now.cpu - before.cpu) < now.at - before.at
let is_calm ~before now = now.collections - before.collections <= 1

(* {2 One pool} *)

(* More may be allowed meanwhile, and nobody publish anything for which they would be hired. *)
let is_needed pool = Int.min (Atomic.get pool.allowed) (Atomic.get pool.residents) < pool.promised

(* A pool in which something waits cannot have closed. *)
let call pool ~ms =
  kept_open pool (fun () ->
      if a_task_waits pool then begin
        need pool (Int.min pool.promised (Atomic.get pool.residents + 1)) ~ms;
        pool.hire pool
      end)

(* The oldest task of each place, and since when it has been that. *)
let look_into_deques w now =
  let add v suspects =
    let task = oldest_ready v in
    if task == none then suspects
    else
      let is_it suspect = suspect.task == task in
      let suspect = { task; since = now } in
      Option.value (List.find_opt is_it w.suspects) ~default:suspect :: suspects
  in
  w.suspects <- Array.fold_right add (workers w.pool) []

let look_into_inbox w now =
  let served = Atomic.get w.pool.served in
  if Inbox.is_empty w.pool.inbox then w.unserved_since <- 0
  else if w.unserved_since = 0 || served <> w.served then w.unserved_since <- now;
  w.served <- served

let look_at_pace w now =
  let begun = begun w.pool in
  if begun <> w.begun then w.steady_since <- now;
  w.begun <- begun

(* Since when what waits longest has done so; [now]: nothing does. *)
let waits_since w now =
  let least = List.fold_left (fun least { since; _ } -> Int.min least since) now w.suspects in
  if w.unserved_since = 0 then least else Int.min least w.unserved_since

let call_if_stuck w ~before now =
  let since = Int.max w.called_at (waits_since w now.at) in
  let waited = now.at - since and steady = now.at - w.steady_since in
  let at_once = waited > 0 && is_idle ~before now in
  let soon = Int.min waited steady >= calm_ns && is_calm ~before now in
  if at_once || soon || waited >= w.patience then begin
    let is_guess = not (at_once || soon) in
    w.patience <- (if is_guess then Int.min longest_patience (2 * w.patience) else first_patience);
    call w.pool ~ms:(if is_guess then guess_ms else call_ms);
    w.called_at <- now.at
  end

(* Whether it is to be watched further. *)
let goes_on w ~before now =
  look_into_deques w now.at;
  look_into_inbox w now.at;
  look_at_pace w now.at;
  if w.suspects <> [] || w.unserved_since <> 0 then w.last_seen <- now.at;
  call_if_stuck w ~before now;
  is_needed w.pool && now.at - w.last_seen < idle_ns

let is_watched pool = Atomic.get pool.sentry = on_watch

let give_up pool =
  Atomic.set pool.sentry wanted;
  see_unfenced pool;
  if is_needed pool && a_task_waits pool then
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

(* One that has a domain of its own leaves when there is nothing to watch. *)
type post = { in_own_domain : bool; mutable has_left : bool }

let takes_it_again post =
  if Atomic.compare_and_set thread Absent Here then post.has_left <- false;
  not post.has_left

(* Who has made a pool watched looks afterwards whether the sentry is gone ([watch]), and it looks for such pools after it has
   said so. *)
let stays post =
  (not post.in_own_domain) || !watches <> []
  || begin
    post.has_left <- true;
    Atomic.set thread Absent;
    List.exists is_watched (Atomic.get open_pools) && takes_it_again post
  end

let rest_ms post =
  if !watches <> [] then watch_ms else if post.in_own_domain then idle_ns / ms else -1

let rec keep_watch post before =
  let now = watch_all before in
  let called = Sleeper.doze sleeper (rest_ms post) in
  if called || stays post then keep_watch post now

(* What a finaliser of the program's raises here goes to a thread that waits. *)
let rec stay post =
  try keep_watch post (pace ())
  with exn ->
    (try Uncaught.protect (fun () -> raise exn) with exn -> Worker.raise_anywhere exn);
    if (not post.has_left) || takes_it_again post then stay post

(* After a start that failed. *)
let failed_at = Atomic.make 0

let failed () =
  Atomic.set failed_at (Machine.now ());
  Atomic.set thread Absent;
  let is_unwatched pool = ignore (Atomic.compare_and_set pool.sentry on_watch wanted) in
  List.iter is_unwatched (Atomic.get open_pools)

(* A thread inherits that signals are blocked. An asynchronous exception may strike who starts it: one exchange decides who
   has the call, the thread or nobody. *)
let start_thread ~in_own_domain call =
  let begin_it () =
    if Atomic.exchange call false then begin
      Atomic.set thread Here;
      stay { in_own_domain; has_left = false }
    end
  in
  if in_own_domain then ignore (Machine.spawn begin_it : unit Domain.t)
  else ignore (Thread.create begin_it ())

(* Nothing is allocated between the claim and the handler. *)
let start () =
  let call = Atomic.make true and in_own_domain = not (Domain.is_main_domain ()) in
  Machine.hold_signals ();
  if not (Atomic.compare_and_set thread Absent Coming) then Machine.release_signals ()
  else
    match start_thread ~in_own_domain call with
    | () -> Machine.release_signals ()
    | exception exn -> (
      if Atomic.exchange call false then failed ();
      Machine.release_signals ();
      match exn with Failure _ | Sys_error _ | Out_of_memory -> () | _ -> raise exn)

let may_start () =
  let failed_at = Atomic.get failed_at in
  failed_at = 0 || Machine.now () - failed_at > Staff.refusal_ns

let is_there () =
  Atomic.get thread <> Absent
  ||
  (if may_start () then start ();
   Atomic.get thread <> Absent)

(* By who makes a pool that may need it soon: a domain of the sentry's own would have nothing to do yet. *)
let prepare () = if Domain.is_main_domain () then ignore (is_there ())

(* By who publishes, after that. Where the system has no thread for it, one resident is called at once. *)
let watch pool =
  if not (is_there ()) then
    begin if Atomic.get pool.residents = 0 && Atomic.get pool.refused = 0 then ask_for_one pool
    end
  else if Atomic.compare_and_set pool.sentry wanted on_watch then begin
    Sleeper.wake sleeper;
    ignore (is_there ())
  end
