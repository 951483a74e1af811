type what = Working | Minor | Major | Stop | Held | Looking | Parked | Outside | Unknown | Traced | Queued | Spun | Beside | Quiet
type lack = Waits of int | Worker | Lent | Share | Parallelism | Untold | Asleep
type counts = { ran : int; handed_out : int; stolen : int }
type sum = { mutable n : int; mutable ns : int }

let classes = Array.of_list Rules.classes

let index_of = function
  | Working -> 0
  | Minor -> 1
  | Major -> 2
  | Stop -> 3
  | Looking -> 4
  | Parked -> 5
  | Outside -> 6
  | Unknown -> 7
  | Traced -> 8
  | Queued -> 9
  | Spun -> 10
  | Beside -> 11
  | Quiet -> 12
  | Held -> 13

let index_of_lack = function
  | Worker -> 0
  | Share -> 1
  | Parallelism -> 2
  | Untold -> 3
  | Lent -> 4
  | Asleep -> 5
  | Waits i -> 6 + i

let empty () = Array.make 14 0

type t = {
  names : (int, string) Hashtbl.t;
  times : int array;  (** by [index_of] *)
  missing : int array;  (** by [index_of_lack] *)
  before : int array;  (** [missing], as it was at the last {!settle} *)
  few_waits : int array;  (** ns of those that stand for many: the same *)
  counts : (int * int, counts * counts) Hashtbl.t;  (** by worker: the first, the last *)
  waits : (string, sum) Hashtbl.t;
  wait_places : (string * string, sum) Hashtbl.t;
  blocked_in : (string, sum) Hashtbl.t;
  asleep_in : (string, sum) Hashtbl.t;
  forced : (string, sum) Hashtbl.t;
  late : (string, sum) Hashtbl.t;
  mutable job_at : int;  (** when the last job of a service began *)
  mutable job_before : int;  (** ns that parallelism was [missing] until then *)
  mutable outside_before : int;  (** the same of [Outside] *)
  mutable promoted : int;
  mutable allocated : int;
}

let make () =
  let table () = Hashtbl.create 16 and zeros () = Array.make (6 + Array.length classes) 0 in
  {
    names = table ();
    times = empty ();
    missing = zeros ();
    before = zeros ();
    few_waits = zeros ();
    counts = table ();
    waits = table ();
    wait_places = table ();
    blocked_in = table ();
    asleep_in = table ();
    forced = table ();
    late = table ();
    job_at = 0;
    job_before = 0;
    outside_before = 0;
    promoted = 0;
    allocated = 0;
  }

(* {2 Adding} *)

let plus array i ns = array.(i) <- array.(i) + ns
let charge times what ns = plus times (index_of what) ns
let spend t = charge t.times

(* The system does not say what a worker was at when it had no CPU: that is a part of all. *)
let settle_worker t spent ~queued ~others =
  let all = Array.fold_left ( + ) 0 spent - spent.(index_of Parked) in
  let queued = Int.min queued all in
  let on_cpu i ns =
    if i = index_of Parked then ns
    else ns - int_of_float (float ns *. float queued /. float (Int.max 1 all))
  in
  let held = Int.min others (on_cpu (index_of Stop) spent.(index_of Stop)) in
  Array.iteri (fun i ns -> plus t.times i (on_cpu i ns)) spent;
  spend t Queued queued;
  spend t Stop (-held);
  spend t Held held;
  Array.fill spent 0 (Array.length spent) 0
let miss t lack ns = plus t.missing (index_of_lack lack) ns

let add ?(n = 1) table key ns =
  let sum =
    match Hashtbl.find_opt table key with
    | Some sum -> sum
    | None ->
      let sum = { n = 0; ns = 0 } in
      Hashtbl.add table key sum;
      sum
  in
  sum.n <- sum.n + n;
  sum.ns <- sum.ns + (n * ns)

let name t ~id text = Hashtbl.replace t.names id text
let name_of t id = Option.value (Hashtbl.find_opt t.names id) ~default:"?"
let class_of t reason = Array.find_index (Rules.is_of_class (name_of t reason)) classes

let wait t ~reason ~times ~few ns =
  add t.waits (name_of t reason) ns ~n:times;
  let lack = Option.fold (class_of t reason) ~none:Parallelism ~some:(fun i -> Waits i) in
  if few then plus t.few_waits (index_of_lack lack) ns

let wait_place t ~reason ~place = add t.wait_places (name_of t reason, name_of t place) 0
let blocked t call ns = add t.blocked_in call ns

let late t ~site ns = add t.late (name_of t site) ns

(* The CPUs that were free while a job waited for its turn lacked that. Several may have waited for
   the same time, which counts once. *)
let job t ~at ~queued =
  let parallelism = index_of_lack Parallelism and name = "Workers.post" in
  let since = Int.max 1 (at - t.job_at) in
  let missed = Int.max 0 (t.missing.(parallelism) - t.job_before) in
  let missed = int_of_float (float missed *. float (Int.min queued since) /. float since) in
  miss t Parallelism (-missed);
  let turn = Array.find_index (Rules.is_of_class name) classes in
  Option.iter (fun i -> miss t (Waits i) missed) turn;
  add t.waits name queued;
  t.job_at <- at;
  t.job_before <- t.missing.(parallelism)

let asleep t call ns =
  let parallelism = index_of_lack Parallelism in
  let outside = Int.min ns (t.times.(index_of Outside) - t.outside_before) in
  let missed = t.missing.(parallelism) - t.before.(parallelism) in
  let missed = int_of_float (float missed *. float outside /. float (Int.max 1 ns)) in
  miss t Parallelism (-missed);
  spend t Outside (-outside);
  spend t Quiet outside;
  miss t Asleep (missed + outside);
  add t.asleep_in call outside;
  outside

let settle t ~cpu ~queued =
  spend t Beside cpu;
  spend t Queued queued;
  t.outside_before <- t.times.(index_of Outside);
  let since = Array.map2 ( - ) t.missing t.before in
  let all = Array.fold_left ( + ) 0 since in
  let used = Float.min 1. (float (cpu + queued) /. float (Int.max 1 all)) in
  Array.iteri (fun i ns -> plus t.missing i (-int_of_float (used *. float ns))) since;
  Array.blit t.missing 0 t.before 0 (Array.length t.before)

let counter t name n =
  match name with
  | "minor_promoted" -> t.promoted <- t.promoted + (n / 8)  (* It comes in bytes. *)
  | "minor_allocated" -> t.allocated <- t.allocated + n
  | _ -> if n > 0 then add t.forced name 0

let count t ~worker ~attached last =
  let first =
    match Hashtbl.find_opt t.counts worker with
    | Some (first, _) -> first
    | None -> if attached then last else { ran = 0; handed_out = 0; stolen = 0 }
  in
  Hashtbl.replace t.counts worker (first, last)

(* {2 The figures} *)

type rest = {
  wall : int;
  workers : int;
  minors : int;
  shares : int;
  sampled : bool;
  straggling : int;
  straggler : (int * int) option;
  root : Chain.task;
}

let seconds ns = float ns /. 1e9

let listed table tell ~by =
  let all = Hashtbl.fold (fun key sum all -> (key, sum) :: all) table [] in
  List.sort (fun (_, a) (_, b) -> Int.compare (by b) (by a)) all |> List.map tell

let by_ns { ns; _ } = ns
let by_n { n; _ } = n

(* What is not told goes to the classes by the waits that were; where tasks are sampled they may be
   too small to be shared, or too few. *)
let missing t ~sampled =
  let few = Array.fold_left ( + ) 0 t.few_waits in
  let part lack =
    if few > 0 then float t.few_waits.(index_of_lack lack) /. float few
    else if lack = Parallelism then 1.
    else 0.
  in
  let told lack = seconds t.missing.(index_of_lack lack) in
  let untold lack = part lack *. told Untold in
  let of_lack name lack = (name, told lack +. untold lack) in
  let small = if sampled then untold Parallelism else 0. in
  [
    ("parallelism", told Parallelism +. untold Parallelism -. small);
    ("larger tasks", small);
    of_lack "a share" Share;
    of_lack "a worker" Worker;
    of_lack "a CPU" Lent;
    of_lack "the end of a call" Asleep;
  ]
  @ List.mapi (fun i name -> of_lack name (Waits i)) Rules.classes

let chain t root =
  let tell (id, ns) = ((if id = 0 then "outside all tasks" else name_of t id), seconds ns) in
  let longest (_, a) (_, b) = Int.compare b a in
  List.map tell (List.sort longest (Chain.strand root).path)

let measures t { wall; workers; minors; shares; sampled; straggling; straggler; root } =
  let time what = seconds t.times.(index_of what) in
  let total part =
    Hashtbl.fold (fun _ (first, last) n -> n + part last - part first) t.counts 0
  in
  let in_seconds (name, { ns; _ }) = (name, seconds ns) in
  {
    Measures.wall = seconds wall;
    workers;
    working = time Working;
    minor = time Minor;
    major = time Major;
    stop = time Stop;
    held = time Held;
    looking = time Looking;
    parked = time Parked;
    outside = time Outside;
    unknown = time Unknown;
    missing = missing t ~sampled;
    straggling = seconds straggling;
    straggler = Option.map (fun (id, ns) -> (name_of t id, seconds ns)) straggler;
    tasks = total (fun { ran; _ } -> ran);
    (* Those that come from outside are counted when they run. *)
    forks = Int.max (total (fun { handed_out; _ } -> handed_out)) (total (fun { ran; _ } -> ran));
    steals = total (fun { stolen; _ } -> stolen);
    shares;
    sampled;
    work = seconds (t.times.(index_of Traced) + root.work);
    span = seconds root.base.span;
    chain = chain t root;
    waits = listed t.waits (fun (name, { n; ns }) -> (name, n, seconds ns)) ~by:by_ns;
    wait_places = listed t.wait_places (fun (it, { n; _ }) -> (it, n)) ~by:by_n;
    minors;
    promoted = t.promoted;
    allocated = t.allocated;
    late = listed t.late in_seconds ~by:by_ns;
    forced = listed t.forced (fun (name, { n; _ }) -> (name, n)) ~by:by_n;
    queue = time Queued;
    beside = time Beside;
    quiet = time Quiet;
    asleep_in = listed t.asleep_in in_seconds ~by:by_ns;
    spun = time Spun;
    blocked = seconds (Hashtbl.fold (fun _ { ns; _ } n -> n + ns) t.blocked_in 0);
    blocked_in = listed t.blocked_in in_seconds ~by:by_ns;
  }
