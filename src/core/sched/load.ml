(* The load controller.

   Residents in slots 1 to [allowed] may work; those above are over the budget. A pool whose user
   insists on its number has all of them allowed. For the others there is one budget for the
   process, shared out among the pools in use: the CPUs that it may use (Cpu), less those it lends
   to other programs (Governor), less one for each caller that is in some pool.

   Who looks: the workers, when it may matter and costs little. A worker looks about every
   [every], told by the collector while it forks (Machine.look_up_every) or between two chunks of
   a loop; before it waits for long; and at each checkpoint while its pool has fewer workers than
   its size. A look asks the kernel how long the worker stood in the run queue, lets the Governor
   decide, and tells all pools. What it reads of other workers may be a little old; the next look
   mends it. (The watchdog's thread does not look: it shares the first domain's lock, and beside a
   busy neighbour each of its turns would hold up that domain for some milliseconds.)

   Over the budget. A resident leaves when it is at the bottom of its stack: at once if its task can
   move (Run.step_aside), else after it. Its domain ends, for a parked one would still have to
   be run by the machine at each minor collection. [hire] brings one back (Resident).

   What is shared, and who writes it: [decisions], [governor], [collection_rate], each by
   any worker that looks, by compare-and-set of the whole; [allowed] and [size] of a pool by any
   worker that looks, and again if what it went by has changed meanwhile. *)

module P = Place

let every = Machine.ticks_of_us 2000
let ms = 1_000_000

(* {2 What was decided, and why} *)

type decision = {
  at : int;  (** ns *)
  pool : int option;  (** its number; all pools, if none *)
  what : string;
  why : string;
}

let kept = 32
let decisions : decision list Atomic.t = Atomic.make []

let decide ?pool what why =
  let pool = Option.map (fun (pool : P.pool) -> pool.number) pool in
  (* The time is read with the others at hand, so that they are in its order. *)
  P.change decisions (fun old ->
      { at = Machine.now (); pool; what; why } :: List.filteri (fun i _ -> i < kept - 1) old)

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

(* {2 The budget} *)

type mode = On | Off

let mode, ignored_mode =
  match Sys.getenv_opt "MUSTER_GOVERNOR" with
  | None | Some ("" | "on") -> (On, None)
  | Some "off" -> (Off, None)
  | Some _ when Option.is_some Flips.draw -> (On, None)
  | ignored -> (On, ignored)

let is_bound (pool : P.pool) =
  match pool.wanted with Exactly _ -> Option.is_some Flips.draw | At_most _ -> true

let online = Int.max 1 (Machine.online_cpus ())

let cpus = Cpus.usable
let governor = Atomic.make Governor.start
let lent () = (Atomic.get governor).lent
let collection_rate = Atomic.make Collection_rate.start

(* Of two workers that look at once the later leaves it to the earlier. *)
let often_halted () =
  let before = Atomic.get collection_rate and cpus = cpus () in
  let running = Int.max 1 (cpus - lent ()) in
  let cpu = Machine.process_cpu () and collections = Machine.collections () in
  let after = Collection_rate.observe ~cpus ~running before ~cpu ~collections in
  if after != before then ignore (Atomic.compare_and_set collection_rate before after);
  after.often

(* A thread that works in several pools is a caller of the innermost. Nor does a caller count that
   has slept for long, as its function has moved to a resident, or waits itself: the caller looks
   when it wakes. (For a moment all callers sleep now and then: residents would come and go with
   that.) *)
let is_here (w : P.t) =
  (not w.resident) && Atomic.get w.owner <> 0 && not (Atomic.get w.away || Atomic.get w.dormant)

let callers pool =
  let present (w : P.t) = is_here w && Atomic.get w.on_domain in
  if P.has_one_caller pool then Bool.to_int (present (P.workers pool).(0))
  else P.count_places pool present

(* The share of a pool that has as many callers. *)
let share ~cpus ~callers ~pools ~rank = function
  | 0 -> Int.max 1 (cpus / pools)
  | _ ->
    let spare = Int.max 0 (cpus - callers) in
    (spare / pools) + Bool.to_int (rank < spare mod pools)

(* Awake, and not in another pool. *)
let is_at_work (w : P.t) =
  w.resident
  && Atomic.get w.owner <> 0
  && not (Atomic.get w.away || Parking.is_asleep w.pool.parking w.index)

let is_in_use pool = Array.exists (fun w -> is_here w || is_at_work w) (P.workers pool)
let most (pool : P.pool) = Atomic.get pool.size - 1

(* Again, if that has changed meanwhile: so the thread that wrote last has seen the last change. *)
let rec note_shortage () =
  let is_there () = List.exists P.is_short (Atomic.get P.open_pools) in
  let noted = is_there () in
  P.attend P.shortage noted;
  if is_there () <> noted then note_shortage ()

let set_allowed (pool : P.pool) n ~tell =
  if Atomic.get pool.allowed <> n then begin
    tell n;
    Atomic.set pool.allowed n;
    Array.iter Publish.call_up (P.workers pool);
    (* Sleepers have to be told as well: to leave, or that they may work again. *)
    Parking.wake_all pool.parking
  end

let tell_of_share pool ~cpus ~all ~pools n =
  if pools > 1 || all > 1 then
    let share =
      Printf.sprintf "%s beside %s" (plural n "domain") (plural (callers pool) "caller")
    in
    decide ~pool share
      (Printf.sprintf "%s with %s in all share %s" (plural pools "pool") (plural all "caller")
         (plural cpus "CPU"))

let share_among in_use pools ~cpus =
  let all = List.fold_left (fun n pool -> n + callers pool) 0 in_use in
  let count = Int.max 1 (List.length in_use) in
  let give rank pool =
    let share =
      match Flips.draw with
      | Some draw -> draw (most pool + 1)
      | None -> share ~cpus ~callers:all ~pools:count ~rank (callers pool)
    in
    let allowed = Int.min (most pool) (Int.max (Sleep.still_needed pool) share) in
    set_allowed pool allowed ~tell:(tell_of_share pool ~cpus ~all ~pools:count)
  in
  List.iteri give pools

let share_all ~cpus =
  match List.filter is_bound (Atomic.get P.open_pools) with
  | [] -> ()
  | bound ->
    let in_use = List.filter is_in_use bound in
    share_among in_use (if in_use = [] then bound else in_use) ~cpus;
    note_shortage ()

(* Tells all pools how many residents they may have; again, if what it went by has changed
   meanwhile. *)
let rec share_out () =
  let governed = Atomic.get governor and available = cpus () in
  share_all ~cpus:(Int.max 1 (available - governed.lent));
  if Atomic.get governor != governed || cpus () <> available then share_out ()

(* A thread that opens a pool looks at the number again afterwards: so it is there before the list
   is read. *)
let resize (pool : P.pool) =
  match pool.wanted with
  | Exactly _ -> ()
  | At_most most ->
    let size = Int.min (Int.min most (cpus ())) pool.regulars in
    Atomic.set pool.size size;
    P.change pool.reach (Int.max size)

let use_as_many ~before available =
  List.iter resize (Atomic.get P.open_pools);
  decide
    (Printf.sprintf "use %s" (plural available "CPU"))
    (Printf.sprintf "the process may use as many now, and might use %d before" before);
  share_out ()

let refresh_cpus ?(files = true) now =
  match Cpus.refresh ~files now with
  | Same -> ()
  | Changed { before; usable } -> use_as_many ~before usable

(* The machine's number of runnable threads says something about our CPUs only if those are the
   machine's. *)
let runnable () =
  if Cpus.affinity () <> online then None
  else match Machine.runnable () with -1 -> None | n -> Some n

let load = function
  | Some n -> Printf.sprintf "%s for %s" (plural n "runnable thread") (plural online "CPU")
  | None -> "the machine's load cannot be seen"

let of_wait { Governor.waited; runnable; _ } =
  Printf.sprintf "a worker waited %.1f ms for a CPU: %s" (float waited /. 1e6) (load runnable)

let of_calm { Governor.runnable; often_halted; _ } =
  match runnable with
  | _ when not often_halted -> "collections are too rare for a wait to hold up others"
  | Some _ -> "a CPU was free: " ^ load runnable
  | None -> "a trial, as no worker waited for some time: " ^ load None

let explain (before : Governor.t) (now : Governor.t) why =
  let cpus = cpus () in
  let what = if now.lent > before.lent then "lend a CPU" else "take a CPU back" in
  decide (Printf.sprintf "%s: use %d of %s" what (cpus - now.lent) (plural cpus "CPU")) why

let governed (before : Governor.t) sample =
  let cpus = cpus () in
  match (Flips.draw, mode) with
  | Some draw, _ -> { before with lent = draw (Int.max 2 cpus) }
  | None, On -> Governor.observe ~cpus ~online before sample
  | None, Off -> before

let rec govern ~lending sample =
  let before = Atomic.get governor in
  let after = governed before sample in
  if not (Atomic.compare_and_set governor before after) then govern ~lending sample
  else if after.lent > before.lent then explain before after (lending sample)
  else if after.lent < before.lent then explain before after (of_calm sample)

(* {2 A look} *)

(* Pools or callers, among whom to share. *)
let are_several () =
  match Atomic.get P.open_pools with
  | [ pool ] -> (not (P.has_one_caller pool)) && callers pool > 1
  | _ -> true

(* For Pool.stats. *)
let note (w : P.t) waited =
  let counts = w.own.counts in
  Counts.note_heap counts;
  if waited >= Governor.noticed then Counts.add_wait counts waited;
  P.publish_counts w

let tell_of_heap (w : P.t) words survived =
  decide ~pool:w.pool
    (Printf.sprintf "minor heap of worker %d: %d words" w.index words)
    (Printf.sprintf "%.0f %% survived its collections" (100. *. survived))

let heap_for heap (w : P.t) =
  heap ~chosen:w.pool.minor_heap ~workers:(Atomic.get w.pool.size)

let settle_heap (w : P.t) =
  heap_for Heap.settle w;
  Counts.note_heap w.own.counts

(* Of each size; as many as OCaml 5.5 keeps. *)
let spare_stacks = 128
let refusal_ns = 100 * ms

(* After a refused domain: they may be free again. *)
let try_again (pool : P.pool) =
  let since = Atomic.get pool.refused in
  if
    since <> 0 && Machine.now () - since > refusal_ns && Atomic.compare_and_set pool.refused since 0
  then
    if is_bound pool then share_out ()
    else begin
      set_allowed pool (most pool) ~tell:ignore;
      note_shortage ()
    end

(* A resident that is there when the pool closes helps to finish; and where one is needed, even by
   a pool whose caller is its only worker, it does all the work that lies there. *)
let is_over_budget (w : P.t) =
  w.resident
  && w.index > Atomic.get w.pool.allowed
  && (not (Atomic.get w.pool.closing))
  && w.index > Sleep.still_needed w.pool

(* A worker over the budget that looks is about to sleep. *)
let runnable_beside w =
  let itself = Bool.to_int (is_over_budget w) in
  Option.map (fun n -> Int.max 0 (n - itself)) (runnable ())

(* A pool's share may have grown, or shrunk, since its last task was published, and nobody may
   publish or steal another. *)
let hire_for_what_waits (pool : P.pool) =
  let is_short = Atomic.get pool.residents < Atomic.get pool.allowed in
  if (is_short || Sleep.is_watch_missing pool) && Sleep.a_task_waits pool then
    Publish.kept_open pool (fun () ->
        if not (Atomic.get pool.closing) then Sleep.hire_for_work pool)

let look_as_bound (w : P.t) =
  let waited = Cpu_wait.measure w.own.cpu_wait ~noticed:Governor.noticed in
  let now = w.own.cpu_wait.wall in
  refresh_cpus now;
  if not (P.alone w) then heap_for Heap.fit w ~tell:(tell_of_heap w);
  note w waited;
  let often_halted = often_halted () in
  let may_lend = often_halted && waited >= Governor.noticed in
  if may_lend || lent () > 0 || mode <> On || Option.is_some Flips.draw then begin
    govern ~lending:of_wait { now; waited; often_halted; runnable = runnable_beside w };
    share_out ()
  end
  else if are_several () || P.is_short w.pool then share_out ()

(* Workers of pools that insist on their number note that they have looked, too: a look goes over
   all open pools. *)
let look (w : P.t) =
  Atomic.set w.look 0;
  try_again w.pool;
  Cpu_wait.look w.own.cpu_wait;
  Machine.free_stacks ~keep:spare_stacks;
  if is_bound w.pool then look_as_bound w else P.publish_counts w;
  List.iter hire_for_what_waits (Atomic.get P.open_pools)

(* A worker that has just come has seen nothing yet to compare with. *)
let is_due (w : P.t) =
  let { P.cpu_wait; _ } = w.own in
  if not (Cpu_wait.has_looked cpu_wait) then Cpu_wait.begin_to_look cpu_wait;
  Atomic.get w.look <> 0 || Cpu_wait.ticks_since_look cpu_wait > every

let look_if_due w = if is_due w then look w

(* The reason for which workers are missing may be over, and only those that are there can find
   out. A caller that begins all tasks itself that it hands out passes none of the points above,
   nor does the caller of regions: hence the checkpoints (Fiber). Callers may take turns, each
   too short a time for a second look. *)
let look_if_short (w : P.t) =
  if P.is_short w.pool && ((not (Cpu_wait.has_looked w.own.cpu_wait)) || is_due w) then look w

(* Before a resident comes back: is there a CPU for it, or does it do no harm to share one? A thread
   that runs for a moment is no reason to stay alone. *)
let rec is_crowded tries =
  match runnable () with
  | Some n when n >= online ->
    tries = 0
    || begin
      Machine.yield ();
      is_crowded (tries - 1)
    end
  | Some _ | None -> false

let has_room (pool : P.pool) =
  (not (is_bound pool))
  || Sleep.still_needed pool > Atomic.get pool.residents
  || mode <> On
  || Option.is_some Flips.draw
  || not (often_halted () && is_crowded 2)

(* There is none: as if a worker had waited. *)
let lend_for now =
  let runnable = Option.map (Int.max (online + 1)) (runnable ()) in
  let lending _ = "no CPU was free for one more worker" in
  govern ~lending { now; waited = Governor.telling; often_halted = true; runnable };
  share_out ()
