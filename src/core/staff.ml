(* How many residents each pool may have at the moment, and who finds out.

   Residents in places 1 to [allowed] may work; those above are dismissed. A pool whose user insists
   on its number has all of them allowed. For the others there is one budget for the process, shared
   out among the pools in use: the CPUs that it may use (Cpu), less those it lends to other
   programs (Governor), less one for each caller that is in some pool.

   Nobody keeps watch. A worker looks up when it may matter and costs little: about every
   [every], told by the collector while it forks (Machine.look_up_every) or between two chunks of
   a loop, and before it waits for long. It asks the kernel how long it stood in the run queue,
   lets the Governor decide, and tells all pools. What it reads of other workers may be a
   little old; the next look mends it.

   Dismissal. A resident leaves when it is at the bottom of its stack: at once if its task can
   move (Run.step_aside), else after it. Its domain ends, for a parked one would still have to
   be run by the machine at each minor collection. [hire] brings one back (Resident). *)

open Place
open Publish

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
  let pool = Option.map (fun (pool : Place.pool) -> pool.number) pool in
  (* The time is read with the others at hand, so that they are in its order. *)
  change decisions (fun old ->
      { at = Machine.now (); pool; what; why } :: List.filteri (fun i _ -> i < kept - 1) old)

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

(* {2 The budget} *)

(* The tests have the numbers flip at random, of insisting pools too. *)
type mode = On | Off | Random of int  (** its seed *)

let mode, ignored_mode =
  match Sys.getenv_opt "MUSTER_GOVERNOR" with
  | None | Some ("" | "on") -> (On, None)
  | Some "off" -> (Off, None)
  | Some text when String.starts_with ~prefix:"random" text -> (Random (Hashtbl.hash text), None)
  | ignored -> (On, ignored)

(* For any number of domains, as [Random.State] is not. *)
let drawn = Atomic.make 0
let draw seed n = Hashtbl.hash (seed, Atomic.fetch_and_add drawn 1) mod n
let is_random = match mode with Random _ -> true | On | Off -> false
let is_bound pool = is_random || not pool.insists
let online = Int.max 1 (Machine.online_cpus ())
let cpus = Atomic.make (Cpu.available ())
let read_at = Atomic.make (Machine.now ())
let governor = Atomic.make Governor.start
let halts = Atomic.make Halts.start

(* Who is late leaves it to whoever was first. *)
let often_halted () =
  let before = Atomic.get halts and cpus = Atomic.get cpus in
  let running = Int.max 1 (cpus - (Atomic.get governor).lent) in
  let cpu = Machine.process_cpu () and collections = Machine.collections () in
  let after = Halts.observe ~cpus ~running before ~cpu ~collections in
  if after != before then ignore (Atomic.compare_and_set halts before after);
  after.often

(* A thread that works in several pools is a caller of the innermost. Nor does a caller count that has slept for long,
   as what it called has moved to a resident, or waits itself: when it wakes it looks. (For a moment all callers
   sleep now and then: residents would come and go with that.) *)
let is_here v =
  (not v.resident) && Atomic.get v.owner <> 0 && not (Atomic.get v.away || Atomic.get v.dormant)

let visitors pool =
  let present v = is_here v && Atomic.get v.on_domain in
  if has_one_caller pool then Bool.to_int (present (workers pool).(0))
  else count_places pool present

(* The share of a pool that has as many callers. *)
let share ~cpus ~callers ~pools ~rank = function
  | 0 -> Int.max 1 (cpus / pools)
  | _ ->
    let spare = Int.max 0 (cpus - callers) in
    (spare / pools) + Bool.to_int (rank < spare mod pools)

(* Awake, and not in another pool. *)
let is_at_work v =
  v.resident
  && Atomic.get v.owner <> 0
  && not (Atomic.get v.away || Parking.is_asleep v.pool.parking v.index)

let is_in_use pool = Array.exists (fun v -> is_here v || is_at_work v) (workers pool)
let most pool = Atomic.get pool.size - 1

(* Again, if that has changed meanwhile: so who wrote last has seen the last change. *)
let rec note_shortage () =
  let is_there () = List.exists is_short (Atomic.get open_pools) in
  let noted = is_there () in
  attend shortage noted;
  if is_there () <> noted then note_shortage ()

let set_allowed pool n ~tell =
  if Atomic.get pool.allowed <> n then begin
    tell n;
    Atomic.set pool.allowed n;
    see_unfenced pool;
    Array.iter call_up (workers pool);
    (* Those who sleep have to be told as well: to leave, or that they may work again. *)
    Parking.wake_all pool.parking
  end

let tell_of_share pool ~cpus ~callers ~pools n =
  if pools > 1 || callers > 1 then
    let share =
      Printf.sprintf "%s beside %s" (plural n "domain") (plural (visitors pool) "caller")
    in
    decide ~pool share
      (Printf.sprintf "%s with %s in all share %s" (plural pools "pool") (plural callers "caller")
         (plural cpus "CPU"))

let share_all ~cpus =
  match List.filter is_bound (Atomic.get open_pools) with
  | [] -> ()
  | bound ->
    let in_use = List.filter is_in_use bound in
    let callers = List.fold_left (fun n pool -> n + visitors pool) 0 in_use in
    let pools = Int.max 1 (List.length in_use) in
    let give rank pool =
      let mine = visitors pool in
      let share =
        match mode with
        | Random seed -> draw seed (most pool + 1)
        | On | Off -> share ~cpus ~callers ~pools ~rank mine
      in
      let allowed = Int.min (most pool) (Int.max (Sleep.still_needed pool) share) in
      set_allowed pool allowed ~tell:(tell_of_share pool ~cpus ~callers ~pools)
    in
    List.iteri give (if in_use = [] then bound else in_use);
    note_shortage ()

(* Tells all pools how many residents they may have; again, if what it went by has changed meanwhile. *)
let rec share_out () =
  let governed = Atomic.get governor and available = Atomic.get cpus in
  share_all ~cpus:(Int.max 1 (available - governed.lent));
  if Atomic.get governor != governed || Atomic.get cpus <> available then share_out ()

let affinity = Atomic.make (Cpu.affinity ())

(* Who opens a pool looks at the number again afterwards: so it is there before the list is read. *)
let resize pool =
  if not pool.insists then begin
    let size = Int.min (Int.min pool.wanted (Atomic.get cpus)) pool.regulars in
    Atomic.set pool.size size;
    change pool.reach (Int.max size)
  end

(* A container may be resized, which is read from files in half a millisecond, or the process
   bound to other CPUs, which a system call tells in 1 us. *)
let refresh_cpus ?(files = true) now =
  let bound_to = Cpu.affinity () in
  if (files && now - Atomic.get read_at > 1000 * ms) || bound_to <> Atomic.get affinity then begin
    Atomic.set read_at now;
    Atomic.set affinity bound_to;
    let before = Atomic.get cpus in
    let available = Cpu.available_now ~before in
    if available <> before then begin
      Atomic.set cpus available;
      List.iter resize (Atomic.get open_pools);
      decide
        (Printf.sprintf "use %s" (plural available "CPU"))
        (Printf.sprintf "the process may use as many now, and might use %d before" before);
      share_out ()
    end
  end

(* The machine's number of runnable threads says something about our CPUs only if those are the
   machine's. *)
let runnable () =
  if Atomic.get affinity <> online then None
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
  let cpus = Atomic.get cpus in
  let what = if now.lent > before.lent then "lend a CPU" else "take a CPU back" in
  decide (Printf.sprintf "%s: use %d of %s" what (cpus - now.lent) (plural cpus "CPU")) why

let rec govern ~lending sample =
  let before = Atomic.get governor in
  let cpus = Atomic.get cpus in
  let after, taking =
    match mode with
    | On -> (Governor.observe ~cpus ~online before sample, of_calm)
    | Off -> (before, of_calm)
    | Random seed ->
      ({ before with lent = draw seed (Int.max 2 cpus) }, fun _ -> "MUSTER_GOVERNOR=random")
  in
  if not (Atomic.compare_and_set governor before after) then govern ~lending sample
  else if after.lent > before.lent then explain before after (lending sample)
  else if after.lent < before.lent then explain before after (taking sample)

(* {2 A look} *)

(* Pools or callers, among whom to share. *)
let are_several () =
  match Atomic.get open_pools with [ pool ] -> (not (has_one_caller pool)) && visitors pool > 1 | _ -> true

(* How long the calling worker stood in the run queue since its last look. A gap between wall and
   CPU time may also be a sleep: only the kernel knows. *)
let waited w =
  let glance = w.own.glance in
  let wall = Machine.now () and cpu = Machine.thread_cpu () in
  let first = glance.wall = 0 in
  let gap = wall - glance.wall - (cpu - glance.cpu) in
  glance.wall <- wall;
  glance.cpu <- cpu;
  if not (first || gap >= Governor.noticed) then 0
  else begin
    let queued = Machine.run_queue_wait () in
    let since = queued - glance.queued in
    glance.queued <- queued;
    if first then 0 else Int.min gap since
  end

(* For Pool.stats. *)
let note w waited =
  let counts = w.own.counts in
  counts.heap <- Heap.words ();
  if waited >= Governor.noticed then begin
    counts.waits <- counts.waits + 1;
    counts.waited <- counts.waited + waited
  end;
  publish_counts w

let tell_of_heap (w : Place.t) words survived =
  decide ~pool:w.pool
    (Printf.sprintf "minor heap of worker %d: %d words" w.index words)
    (Printf.sprintf "%.0f %% survived its collections" (100. *. survived))

let heap_for heap (w : Place.t) =
  heap ~chosen:w.pool.minor_heap ~workers:(Atomic.get w.pool.size)

let settle_heap w =
  heap_for Heap.settle w;
  w.own.counts.heap <- Heap.words ()

let begin_to_look w =
  w.own.looked_at <- Machine.ticks ();
  w.own.glance.wall <- 0

(* Of each size; as many as OCaml 5.5 keeps. *)
let spare_stacks = 128
let refusal_ns = 100 * ms

(* After a refused domain: they may be free again. *)
let try_again pool =
  let since = Atomic.get pool.refused in
  if
    since <> 0 && Machine.now () - since > refusal_ns && Atomic.compare_and_set pool.refused since 0
  then
    if is_bound pool then share_out ()
    else begin
      set_allowed pool (most pool) ~tell:ignore;
      note_shortage ()
    end

(* Whoever is there when the pool closes helps to finish; and where one is needed, even by a pool
   whose caller is its only worker, it does all that is left. *)
let dismissed w =
  w.resident
  && w.index > Atomic.get w.pool.allowed
  && (not (Atomic.get w.pool.closing))
  && w.index > Sleep.still_needed w.pool

(* Who is dismissed, and yet looks, is about to sleep. *)
let runnable_beside w =
  let itself = Bool.to_int (dismissed w) in
  Option.map (fun n -> Int.max 0 (n - itself)) (runnable ())

(* A pool's share may have grown, or shrunk, since its last task was published, and nobody may publish or steal another. *)
let hire_for_what_waits pool =
  let is_short = Atomic.get pool.residents < Atomic.get pool.allowed in
  if (is_short || Sleep.is_watch_missing pool) && Sleep.a_task_waits pool then
    kept_open pool (fun () -> if not (Atomic.get pool.closing) then Sleep.hire_for_work pool)

(* Workers of pools that insist on their number note that they have looked, too: a look goes over all open pools. *)
let look w =
  Atomic.set w.look 0;
  try_again w.pool;
  if w.own.looked_at = 0 then begin_to_look w else w.own.looked_at <- Machine.ticks ();
  Machine.free_stacks ~keep:spare_stacks;
  if is_bound w.pool then begin
    let waited = waited w in
    let now = w.own.glance.wall in
    refresh_cpus now;
    if not (alone w) then heap_for Heap.fit w ~tell:(tell_of_heap w);
    note w waited;
    let often_halted = often_halted () and lent = (Atomic.get governor).lent > 0 in
    if (often_halted && waited >= Governor.noticed) || lent || mode <> On then begin
      govern ~lending:of_wait { now; waited; often_halted; runnable = runnable_beside w };
      share_out ()
    end
    else if are_several () || is_short w.pool then share_out ()
  end
  else publish_counts w;
  List.iter hire_for_what_waits (Atomic.get open_pools)

(* Who has just come has seen nothing yet to compare with. *)
let is_due w =
  if w.own.looked_at = 0 then begin_to_look w;
  Atomic.get w.look <> 0 || Machine.ticks () - w.own.looked_at > every

let look_if_due w = if is_due w then look w

(* {2 While workers are missing}

   What sent them home may be over, and only those who are left can find out. Between forks, between chunks and
   before they wait they look anyhow. Who begins the tasks himself that he hands out passes none of these
   points, nor does the caller of regions: so as long as his pool is short of workers he looks at every
   checkpoint (Context).

   Where checkpoints follow each other densely, the clock is not read at each: such code allocates, so
   the collector calls the worker up soon. *)

let few_points = 8
let dense = Machine.ticks_of_us few_points

let measure_density w now =
  w.own.dense <- now - w.own.points_since < dense;
  w.own.points_since <- now

let is_time w =
  w.own.points <- w.own.points + 1;
  if w.own.points land (few_points - 1) = 0 then measure_density w (Machine.ticks ());
  if w.own.dense then Atomic.get w.look <> 0 else is_due w

(* Callers may take turns, each too short a time for a second look. *)
let look_if_short (w : Place.t) =
  if is_short w.pool && (w.own.looked_at = 0 || is_time w) then look w

(* Nobody else works in a pool of one: where it could be larger, who calls regions finds out that there are
   more CPUs. *)
let look_if_alone (w : Place.t) =
  if Atomic.get w.pool.size = 1 && w.pool.wanted > 1 && (w.own.looked_at = 0 || is_time w) then
    look w

(* A thread outside the pool that is short may be the only one that passes checkpoints: those within wait for
   it, or for what it waits for. *)
let looked_outside = Atomic.make 0 (* in ticks; who sets it looks, for all threads *)

let look_around () =
  let now = Machine.now () and pools = Atomic.get open_pools in
  List.iter try_again pools;
  refresh_cpus now;
  if (Atomic.get governor).lent > 0 || mode <> On then
    govern ~lending:of_wait
      { now; waited = 0; often_halted = often_halted (); runnable = runnable () };
  share_out ();
  List.iter hire_for_what_waits pools

let look_from_outside () =
  let before = Atomic.get looked_outside and now = Machine.ticks () in
  if now - before > every && Atomic.compare_and_set looked_outside before now then look_around ()

(* Before a resident comes back: is there a CPU for it, or does it do no harm to share one? A thread that runs
   for a moment is no reason to stay alone. *)
let has_room pool =
  let rec crowded tries =
    match runnable () with
    | Some n when n >= online ->
      tries = 0
      ||
      (Machine.yield ();
       crowded (tries - 1))
    | _ -> false
  in
  (not (is_bound pool))
  || Sleep.still_needed pool > Atomic.get pool.residents
  || mode <> On
  || not (often_halted () && crowded 2)

(* There is none: as if a worker had waited. *)
let lend_for now =
  let runnable = Option.map (Int.max (online + 1)) (runnable ()) in
  let lending _ = "no CPU was free for one more worker" in
  govern ~lending { now; waited = Governor.telling; often_halted = true; runnable };
  share_out ()
