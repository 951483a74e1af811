(* Each figure is right for itself; together they are of no one moment. *)

type decision = { seconds_ago : float; what : string; why : string }

type stats = {
  size : int;
  tasks : int;
  forks : int;
  steals : int;
  parks : int;
  regions : int;
  workers : int;
  allowed : int;
  cpus : int;
  cpus_yielded : int;
  minor_heap_words : int list;
  domains_started : int;
  domains_ended : int;
  waits : int;
  waited_seconds : float;
  minor_collections : int;
  minor_gc_seconds : float;
  decisions : decision list;
}

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

let decisions (pool : Place.pool) =
  let now = Machine.now () in
  let tell { Load.at; what; why; _ } =
    { seconds_ago = float (Int.max 0 (now - at)) /. 1e9; what; why }
  in
  let { Slot.number; _ } = pool.settings in
  let concerns { Load.pool = whose; _ } = Option.value whose ~default:number = number in
  List.rev_map tell (List.filter concerns (Atomic.get Load.decisions))

let publish_own (pool : Place.pool) =
  let w = Place.current () in
  if w.pool == pool && Place.owned w then begin
    Counts.note_heap w.own.counts;
    Place.publish_counts w
  end

let sum (pool : Place.pool) part =
  Array.fold_left (fun n (w : Place.t) -> n + part w) 0 (Place.workers pool)

let stats (pool : Place.pool) =
  publish_own pool;
  let total part = sum pool (fun w -> part (Atomic.get w.published)) in
  let residents = Atomic.get pool.residents and domains_ended = Atomic.get pool.ended in
  let cpus = Load.cpus () and { Governor.lent; _ } = Atomic.get Load.governor in
  {
    size = Atomic.get pool.size;
    tasks = total (fun { Counts.tasks; _ } -> tasks);
    forks = total (fun { Counts.forks; _ } -> forks);
    steals = total (fun { Counts.steals; _ } -> steals);
    parks = total (fun { Counts.parks; _ } -> parks);
    regions = total (fun { Counts.regions; _ } -> regions);
    cpus;
    cpus_yielded = lent;
    workers = callers pool ~least:(Bool.to_int (residents < Atomic.get pool.size)) + residents;
    allowed = callers pool ~least:1 + Atomic.get pool.allowed;
    minor_heap_words = heaps pool;
    domains_started = residents + domains_ended;
    domains_ended;
    waits = total (fun { Counts.waits; _ } -> waits);
    waited_seconds = float (total (fun { Counts.waited; _ } -> waited)) /. 1e9;
    minor_collections = sum pool (fun w -> Atomic.get w.collected);
    minor_gc_seconds = Machine.seconds_of_ticks (sum pool (fun w -> Atomic.get w.collecting));
    decisions = decisions pool;
  }
