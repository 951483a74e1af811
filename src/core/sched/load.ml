(* The load controller writes [allowed]: how many residents may work beside a caller (Budget has who
   else may). A pool that insists on its number has all allowed. The others share one budget for the
   process: the CPUs that it may use (Cpus), less those that it lends (Governor), less one for each
   caller, or for a caller's stand-in.

   The workers look, each about every [every]: between two chunks of a loop, before they sleep, and
   at each checkpoint while their pool is short of workers. The collector reminds a worker that only
   forks (Machine.look_up_every). A look may read old values of others' fields; the next mends that.

   A resident over the budget leaves when it is at the bottom of its stack: at once if its task can
   move (Yield.step_aside), else after the task. Its domain ends, since the machine would have to
   run a parked one at each minor collection. [Resident.hire_one] brings one back.

   Any worker that looks writes [of_all], [governor] and [collection_rate], by compare-and-set of
   the whole, and [allowed] and [size] of every pool, again if the facts have changed meanwhile. *)

module P = Place

let every = Machine.ticks_of_us 2000

(* {2 What was decided, and why} *)

let of_all : Slot.decision list Atomic.t = Atomic.make []
let kept = 8

let with_decision kind what why log =
  let keep (left, kept) (decision : Slot.decision) =
    if decision.kind <> kind then (left, decision :: kept)
    else if left = 0 then (left, kept)
    else (left - 1, decision :: kept)
  in
  let _, older = List.fold_left keep (kept - 1, []) log in
  (* The time is read with the others at hand, so that they are in its order. *)
  { Slot.at = Machine.now (); kind; what; why } :: List.rev older

let decide ?pool kind what why =
  let log = Option.fold pool ~none:of_all ~some:(fun (pool : P.pool) -> pool.history.log) in
  P.change log (with_decision kind what why)

let decisions (pool : P.pool) =
  let later_first (a : Slot.decision) (b : Slot.decision) = Int.compare b.at a.at in
  List.merge later_first (Atomic.get pool.history.log) (Atomic.get of_all)

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

(* {2 The budget} *)

type mode = On | Off | Random of (int -> int)

(* Another number at each call, on any domain, as [Random.State] does not allow. *)
let draw seed =
  let drawn = Atomic.make 0 in
  fun n -> Hashtbl.hash (seed, Atomic.fetch_and_add drawn 1) mod n

let mode, ignored_mode =
  match Sys.getenv_opt "MUSTER_GOVERNOR" with
  | None | Some ("" | "on") -> (On, None)
  | Some "off" -> (Off, None)
  | Some text when String.starts_with ~prefix:"random" text ->
    (Random (draw (Hashtbl.hash text)), None)
  | ignored -> (On, ignored)

(* Once, as the program starts. *)
let () =
  let tell name = Printf.eprintf "Muster: %s=%S is ignored: it is not %s\n%!" name in
  try
    (match Cpu.override () with
    | Ignored it -> tell "MUSTER_DOMAINS" it "a number from 1"
    | _ -> ());
    Option.iter (fun it -> tell "MUSTER_GOVERNOR" it "on or off") ignored_mode;
    Option.iter (fun it -> tell "MUSTER_STATS" it "1 or 0") Waiting.ignored
  with Sys_error _ -> ()

let is_random = match mode with Random _ -> true | On | Off -> false

let is_bound (pool : P.pool) =
  match pool.settings.wanted with Exactly _ -> is_random | At_most _ -> true

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

(* A thread that works in several pools is a caller of the innermost. A caller that has slept for
   long does not count, but looks when it wakes. (All callers sleep for a moment now and then.) *)
let is_here (w : P.t) = P.is_caller w && not (Atomic.get w.away || Atomic.get w.dormant)
let callers pool = P.count_places pool (fun w -> P.helps w && not (Atomic.get w.dormant))

let share ~cpus ~callers ~pools ~rank =
  let spare = Int.max 0 (cpus - callers) in
  (spare / pools) + Bool.to_int (rank < spare mod pools)

let is_at_work (w : P.t) =
  w.resident && P.is_taken w
  && not (Atomic.get w.away || Parking.is_asleep w.pool.parking w.index)

let is_in_use pool = Array.exists (fun w -> is_here w || is_at_work w) (P.workers pool)
let most (pool : P.pool) = Atomic.get pool.size - 1

(* Again, if that has changed meanwhile: so the thread that wrote last has seen the last change. *)
let rec note_shortage () =
  let is_there () = List.exists Budget.wants_more (Atomic.get P.open_pools) in
  let noted = is_there () in
  P.attend P.shortage noted;
  if is_there () <> noted then note_shortage ()

(* Sleepers are told, too: to leave, or that they may work again. *)
let tell_all (pool : P.pool) =
  Array.iter Publish.call_up (P.workers pool);
  Parking.wake_all pool.parking

let set_allowed (pool : P.pool) n =
  if Budget.allowed pool <> n then begin
    Budget.allow pool n;
    tell_all pool
  end

let end_stand_in (pool : P.pool) =
  if Budget.is_over pool (Atomic.get pool.residents) then tell_all pool

let share_among pools ~cpus =
  let all = List.fold_left (fun n pool -> n + Int.max 1 (callers pool)) 0 pools in
  let give rank pool =
    let share =
      match mode with
      | Random draw -> draw (most pool + 1)
      | On | Off -> share ~cpus ~callers:all ~pools:(List.length pools) ~rank
    in
    set_allowed pool (Int.min (most pool) (Int.max (Budget.needed pool) share))
  in
  List.iteri give pools

(* Again, if the facts have changed meanwhile. *)
let rec share_out () =
  let governed = Atomic.get governor and available = cpus () in
  let bound = List.filter is_bound (Atomic.get P.open_pools) in
  let in_use = List.filter is_in_use bound in
  share_among (if in_use = [] then bound else in_use) ~cpus:(Int.max 1 (available - governed.lent));
  note_shortage ();
  if Atomic.get governor != governed || cpus () <> available then share_out ()

(* A thread that opens a pool looks at the number again afterwards: so it is there before the list
   is read. *)
let resize (pool : P.pool) =
  match pool.settings.wanted with
  | Exactly _ -> ()
  | At_most most ->
    P.set_size pool (Int.min (Int.min most (cpus ())) pool.settings.regulars)

let refresh_cpus now =
  let tell before =
    List.iter resize (Atomic.get P.open_pools);
    decide Cpus
      ("use " ^ plural (cpus ()) "CPU")
      (Printf.sprintf "the process may use as many now, and might use %d before" before);
    share_out ()
  in
  Option.iter tell (Cpus.refresh now)

(* The machine's idle time says something about our CPUs only if those are the machine's. *)
let idle () = if Cpus.affinity () <> online then None else Cpu.idle ()

let explain (before : Governor.t) (after : Governor.t) { Governor.often_halted; _ } =
  let cpus = cpus () in
  let what, why =
    if after.lent > before.lent then ("lend a CPU", "workers had to wait for one")
    else
      ( "take a CPU back",
        if not often_halted then "collections are too rare for a wait to hold up others"
        else if before.idle <> None then "one had nothing to run"
        else "a trial: the machine's idle time cannot be seen" )
  in
  decide Cpus (Printf.sprintf "%s: use %d of %s" what (cpus - after.lent) (plural cpus "CPU")) why

let rec govern sample rule =
  let before = Atomic.get governor and cpus = cpus () in
  let after =
    match mode with
    | Random draw -> { before with lent = draw (Int.max 2 cpus) }
    | On -> rule ~cpus before sample
    | Off -> before
  in
  if not (Atomic.compare_and_set governor before after) then govern sample rule
  else if after.lent <> before.lent then explain before after sample

(* {2 A look} *)

let settle_heap (w : P.t) =
  Heap.settle ~chosen:w.pool.settings.minor_heap ~workers:(Atomic.get w.pool.size);
  Counts.note_heap w.own.counts

(* Of each size; as many as OCaml 5.5 keeps. *)
let spare_stacks = 128

(* A resident that is there when the pool closes helps to finish. *)
let is_over_budget (w : P.t) =
  w.resident && Budget.is_over w.pool w.index && not (Atomic.get w.pool.closing)

(* A pool's share may have grown, or shrunk, since its last task was published, and nobody may
   publish or steal another. *)
let hire_for_what_waits ~is_missing (pool : P.pool) =
  if is_missing pool || Budget.lacks_watch pool then
    Publish.while_a_task_waits pool (Sleep.hire_for_work ~is_missing)

let stand_in pool = hire_for_what_waits ~is_missing:Budget.lacks_stand_in pool

let look_as_bound (w : P.t) =
  let now = Machine.now () and noticed = Governor.noticed in
  let waited = Cpu_wait.measure w.own.cpu_wait ~noticed in
  let is_notable = waited >= noticed in
  refresh_cpus now;
  if P.alone w then Counts.note_heap w.own.counts else settle_heap w;
  if is_notable then Counts.add_cpu_wait w.own.counts ~ns:waited;
  let often_halted = often_halted () in
  if (often_halted && is_notable) || Governor.is_watching (Atomic.get governor) || is_random then
    govern { now; waited; often_halted; idle } (Governor.observe ~online);
  share_out ()

let tell_budget (w : P.t) = Tell.budget w ~lent:(if is_bound w.pool then lent () else 0)

(* Workers of pools that insist on their number note that they have looked, too: a look goes over
   all open pools. *)
let look (w : P.t) =
  Publish.heed_call w;
  Trace.look_for_request ();
  Cpu_wait.look w.own.cpu_wait;
  Machine.free_stacks ~keep:spare_stacks;
  if is_bound w.pool then look_as_bound w;
  Tell.busy w;
  Tell.counts w;
  tell_budget w;
  List.iter (hire_for_what_waits ~is_missing:Budget.is_missing) (Atomic.get P.open_pools)

(* A worker that has just come has seen nothing yet to compare with. *)
let is_due (w : P.t) =
  let { Slot.cpu_wait; _ } = w.own in
  if Cpu_wait.is_new cpu_wait then Cpu_wait.look cpu_wait;
  Atomic.get w.look <> 0 || Cpu_wait.ticks_since_look cpu_wait > every

let look_if_due w = if is_due w then look w

(* The reason for which workers are missing may be over, and only the workers that are there can
   find out: also a caller that passes none of the points above, but checkpoints. Callers may take
   turns, each too short a time for a second look. *)
let look_if_short (w : P.t) =
  if Budget.wants_more w.pool && (Cpu_wait.is_new w.own.cpu_wait || is_due w) then look w

(* {2 As a pool opens}

   Its workers have not looked yet. A thread that runs for a moment is no reason to stay alone. *)

let rec is_crowded tries =
  Cpus.affinity () = online
  && Machine.runnable () > online - 1
  && (tries = 0
     || begin
       Machine.yield ();
       is_crowded (tries - 1)
     end)

let has_room pool =
  let is_there = (not (is_bound pool)) || mode <> On || not (often_halted () && is_crowded 2) in
  if not is_there then begin
    let sample = { Governor.now = Machine.now (); waited = 0; often_halted = true; idle } in
    govern sample (fun ~cpus t { now; _ } -> Governor.give_way ~cpus t now)
  end;
  is_there
