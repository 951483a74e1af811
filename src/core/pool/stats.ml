(* Each figure is exact, but they are read one after the other, not at one moment. *)

include Figures

(* A caller's place counts where no caller is there, too, but for a resident in its stead. *)
let callers (pool : Place.pool) ~least = Int.max least (Place.count_places pool Place.is_caller)

let heaps (pool : Place.pool) =
  let of_place (w : Place.t) =
    match (Atomic.get w.published).heap with
    | 0 when w.index = 0 -> Some (Heap.words ())
    | 0 -> None
    | words -> if w.index = 0 || Place.is_taken w then Some words else None
  in
  List.filter_map of_place (Array.to_list (Place.workers pool))

let decisions pool now =
  let tell { Slot.at; what; why; _ } =
    { seconds_ago = float (Int.max 0 (now - at)) /. 1e9; what; why }
  in
  List.rev_map tell (Load.decisions pool)

let publish_own (pool : Place.pool) =
  let w = Place.current () in
  if w.pool == pool && Place.owned w then begin
    Counts.note_heap w.own.counts;
    Place.publish_counts w
  end

let sum (pool : Place.pool) part =
  Array.fold_left (fun n (w : Place.t) -> n + part w) 0 (Place.workers pool)

let each_worker (pool : Place.pool) =
  let now = Machine.ticks () in
  let tell (w : Place.t) =
    let counts = Atomic.get w.published in
    let busy, idle = Counts.until now counts in
    if busy + idle + counts.tasks = 0 then None
    else
      Some
        {
          worker = w.index;
          is_caller = not w.resident;
          ran = counts.tasks;
          stole = counts.steals;
          busy_seconds = Machine.seconds_of_ticks busy;
          idle_seconds = Machine.seconds_of_ticks idle;
        }
  in
  List.filter_map tell (Array.to_list (Place.workers pool))

let waits (pool : Place.pool) =
  let of_worker (w : Place.t) = (Atomic.get w.published).waits in
  let all = List.concat_map of_worker (Array.to_list (Place.workers pool)) in
  let of_call call =
    let those = List.filter (fun (wait : Counts.wait) -> wait.call = call) all in
    let sum part = List.fold_left (fun n wait -> n + part wait) 0 those in
    let total_seconds = Machine.seconds_of_ticks (sum (fun { Counts.ticks; _ } -> ticks)) in
    { call; times = sum (fun { Counts.times; _ } -> times); total_seconds }
  in
  List.map of_call (List.sort_uniq String.compare (List.map (fun { Counts.call; _ } -> call) all))

let residents (pool : Place.pool) = Atomic.get pool.residents
let ended (pool : Place.pool) = Atomic.get pool.history.ended

let present (pool : Place.pool) =
  let residents = residents pool in
  residents + callers pool ~least:(Bool.to_int (residents < Atomic.get pool.size))

let figures (pool : Place.pool) ~now ~for_cpu ~task_waits =
  let total part = sum pool (fun w -> part (Atomic.get w.published)) in
  {
    seconds = float (now - pool.history.since) /. 1e9;
    size = Atomic.get pool.size;
    tasks = total (fun { Counts.tasks; _ } -> tasks);
    forks = total (fun { Counts.forks; _ } -> forks);
    steals = total (fun { Counts.steals; _ } -> steals);
    parks = total (fun { Counts.parks; _ } -> parks);
    regions = total (fun { Counts.regions; _ } -> regions);
    cpus = Cpus.usable ();
    cpus_yielded = (Atomic.get Load.governor).lent;
    each_worker = each_worker pool;
    workers = present pool;
    allowed = callers pool ~least:1 + Atomic.get pool.allowed;
    minor_heap_words = heaps pool;
    domains_started = residents pool + ended pool;
    domains_ended = ended pool;
    waits = for_cpu.times;
    waited_seconds = for_cpu.total_seconds;
    task_waits;
    minor_collections = sum pool (fun w -> Atomic.get w.collected);
    minor_gc_seconds = Machine.seconds_of_ticks (sum pool (fun w -> Atomic.get w.collecting));
    decisions = decisions pool now;
  }

let stats (pool : Place.pool) =
  Counts.start_timing ();
  publish_own pool;
  let is_for_cpu wait = wait.call = Counts.cpu and waits = waits pool in
  let none = { call = Counts.cpu; times = 0; total_seconds = 0. } in
  figures pool ~now:(Machine.now ())
    ~for_cpu:(Option.value (List.find_opt is_for_cpu waits) ~default:none)
    ~task_waits:(List.filter (fun wait -> not (is_for_cpu wait)) waits)
