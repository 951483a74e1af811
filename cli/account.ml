(* Two clocks run: a ring's own, which charges the time since its last event to what its worker did,
   and that of all, which asks at each event how many workers were at work until then.

   The longest chain is found on the way. Each task has a strand: the longest chain of work up to
   this moment, with its parts by place. A fork hands the parent's strand to the child; at a join the
   parent goes on with the longest of its own and of those of its children that have ended. Work
   that no fork shows counts as one piece, so the span is an upper bound. *)

open Recording

type strand = { span : int; path : (int * int) list }

type task = {
  site : int;
  parent : task option;
  mutable base : strand;
  mutable own : int;  (** ns since [base] *)
  mutable best : strand;  (** of the children that have ended *)
  every : int;  (** it stands for so many *)
  mutable begun : bool;
  mutable forks : int;
  mutable wait_every : int;  (** its wait stands for so many *)
  mutable work : int;
}

type mode = Out | Busy | Idle | Park

type ring = {
  number : int;
  mutable mode : mode;
  mutable phases : phase list;  (** the innermost first *)
  mutable runs : task option;
  mutable since : int;
  mutable thread : int;
  mutable sure : bool;  (** no event was lost since the mode was told *)
  mutable every : int;
  mutable place : int * int;  (** pool and worker *)
  mutable minors : int;
  mutable regions : bool list;  (** open ones, the innermost first: are they for all CPUs? *)
  mutable asleep : (string * int * int) option;
      (** it was seen asleep, in that call, for so many ns; until when that may have been *)
}

type counts = { ran : int; handed_out : int; stolen : int }

type thread = { thread : int; cpu : int; queue : int; sleeps : string option }
type sum = { mutable n : int; mutable ns : int; mutable most : int }

type t = {
  cpus : float;
  root : task;  (** the code outside all pools *)
  tasks : (int, task) Hashtbl.t;  (** that have not ended *)
  rings : ring option array;  (** by number *)
  names : (int, string) Hashtbl.t;
  times : int array;  (** by [working] and so on *)
  missing : int array;  (** by class, or [no_worker], [no_task], [untold] *)
  open_waits : int array;  (** by class *)
  few_waits : int array;  (** ns of those that stand for many, by class *)
  mutable sparse : int;  (** rings that trace one of many; or some waits had begun before *)
  counts : (int * int, counts * counts) Hashtbl.t;  (** by pool and worker: the first, the last *)
  attached : bool;
  began : int;
  sites : (int, sum) Hashtbl.t;
  waits : (string, sum) Hashtbl.t;
  wait_places : (string * string, sum) Hashtbl.t;
  blocked_in : (string, sum) Hashtbl.t;
  forced : (string, sum) Hashtbl.t;
  queues : (int, int) Hashtbl.t;  (** by thread, as of the last sample *)
  grains : int array;
  mutable now : int;
  mutable last_sample : int;
  mutable busy : int;
  mutable ready : int;  (** tasks that have not begun *)
  mutable shared : int;  (** regions for all CPUs that are open *)
  mutable unsure : int;  (** rings that are not sure *)
  mutable lost : bool;  (** events, since workers have told any *)
  mutable workers : int;
  mutable told : bool;
  mutable sampled : bool;
  mutable alone : (task * int * int) option;  (** a piece: since when, until when *)
  mutable straggler : (int * int * int) option;
}

let nothing = { span = 0; path = [] }

let new_task ?parent ?(every = 1) site base =
  { site; parent; base; own = 0; best = nothing; every; begun = false; forks = 0; wait_every = 1;
    work = 0 }

(* {2 Times} *)

let working = 0
let minor = 1
let major = 2
let stop = 3
let idle = 4
let outside = 5
let unknown = 6
let traced = 7
let promoted = 8
let allocated = 9
let queued = 10
let[@inline] spend t which ns = t.times.(which) <- t.times.(which) + ns
let classes = Array.of_list Rules.classes
let no_worker = Array.length classes
let no_share = no_worker + 1
let no_task = no_share + 1
let untold = no_task + 1  (* while one of many waits is traced *)

let none_zero = { ran = 0; handed_out = 0; stolen = 0 }

let make ~cpus ~attached ~since : t =
  let table () = Hashtbl.create 16 in
  {
    cpus;
    root = new_task 0 nothing;
    tasks = Hashtbl.create 1024;
    rings = Array.make 1024 None;
    times = Array.make 11 0;
    missing = Array.make (untold + 1) 0;
    counts = table ();
    attached;
    names = table ();
    sites = table ();
    waits = table ();
    wait_places = table ();
    blocked_in = table ();
    forced = table ();
    queues = table ();
    open_waits = Array.make (Array.length classes) 0;
    few_waits = Array.make (untold + 1) 0;
    sparse = Bool.to_int attached;
    grains = Array.make 48 0;
    began = since;
    now = since;
    last_sample = since;
    busy = 0;
    ready = 0;
    shared = 0;
    unsure = 0;
    lost = false;
    workers = 0;
    told = false;
    sampled = false;
    alone = None;
    straggler = None;
  }

let add ?(n = 1) table key ns =
  let sum =
    match Hashtbl.find_opt table key with
    | Some sum -> sum
    | None ->
      let sum = { n = 0; ns = 0; most = 0 } in
      Hashtbl.add table key sum;
      sum
  in
  sum.n <- sum.n + n;
  sum.ns <- sum.ns + (n * ns);
  sum.most <- Int.max sum.most ns

let name t ~id text = Hashtbl.replace t.names id text
let name_of (t : t) id = Option.value (Hashtbl.find_opt t.names id) ~default:"?"
let has_muster t = t.told

(* {2 The clock of all} *)

let end_piece (t : t) =
  let keep ((task : task), since, until) =
    let like = Option.fold (Hashtbl.find_opt t.sites task.site) ~none:0 ~some:(fun { n; _ } -> n) in
    let kin = Int.max task.forks like in
    match t.straggler with
    | Some (_, ns, _) when ns >= until - since -> ()
    | _ -> if kin > 0 then t.straggler <- Some (task.site, until - since, kin)
  in
  Option.iter keep t.alone;
  t.alone <- None

(* A parked worker that wakes for a moment ends no piece. *)
let moment = 1_000_000

let note_alone t task ~since ~until =
  match t.alone with
  | Some (it, from, last) when it == task && since - last < moment ->
    t.alone <- Some (it, from, until)
  | _ ->
    end_piece t;
    t.alone <- Some (task, since, until)

let ring_that t holds =
  let holds = Option.fold ~none:false ~some:holds in
  Option.join (Array.find_opt holds t.rings)

let is_outside t =
  t.busy = 0 && t.unsure = 0 && match t.rings.(0) with Some r -> r.mode = Out | None -> true

(* Why a CPU is not used: for lack of a worker, if tasks have not begun that nobody takes; else the
   first class of which a task waits; else for lack of a share in a region that is under way. *)
let class_of_missing (t : t) =
  let rec from i =
    if i < no_worker then if t.open_waits.(i) > 0 then i else from (i + 1)
    else if t.shared > 0 then no_share
    else if t.sparse > 0 then untold
    else no_task
  in
  if t.ready > 0 then no_worker else from 0

(* Once events were lost, tasks or waits may be under way of which nobody knows. *)
let note_missing (t : t) ~used dt =
  let missing = t.cpus -. float used in
  if missing > 0. && t.told then begin
    let ns = int_of_float (missing *. float dt) in
    let it = class_of_missing t in
    if t.lost && it >= no_task then spend t unknown ns else t.missing.(it) <- t.missing.(it) + ns
  end

let advance (t : t) at =
  let dt = at - t.now in
  if dt > 0 then begin
    let is_outside = is_outside t in
    if is_outside then spend t outside dt;
    note_missing t ~used:(t.busy + t.unsure + Bool.to_int is_outside) dt;
    (if t.busy = 1 && t.unsure = 0 then
       match ring_that t (fun r -> r.mode = Busy) with
       | Some { runs = Some task; _ } -> note_alone t task ~since:t.now ~until:at
       | _ -> ());
    t.now <- at
  end

(* {2 A ring's clock} *)

let strand task =
  if task.own > 0 then begin
    let until = Option.value (List.assoc_opt task.site task.base.path) ~default:0 in
    let path = (task.site, until + task.own) :: List.remove_assoc task.site task.base.path in
    task.base <- { span = task.base.span + task.own; path };
    task.own <- 0
  end;
  task.base

let join task = if task.best.span > (strand task).span then task.base <- task.best

let run task ns =
  task.own <- task.own + ns;
  task.work <- task.work + ns

let of_phase = function Minor -> minor | Major -> major | Stop -> stop

let charge (t : t) r at =
  let ns = at - r.since in
  r.since <- at;
  if not r.sure then spend t unknown ns
  else
    match (r.mode, r.phases) with
    | Busy, [] ->
      spend t working ns;
      Option.iter (fun task -> run task ns) r.runs
    | Busy, phase :: _ -> spend t (of_phase phase) ns
    | (Idle | Park), _ -> if t.busy > 0 then spend t idle ns
    | Out, [] -> if r.number = 0 then run t.root ns
    | Out, _ -> ()

let ring t number at =
  match t.rings.(number) with
  | Some r -> r
  | None ->
    let since = if number = 0 then t.began else at in
    let r =
      { number; mode = Out; phases = []; runs = None; since; thread = 0; sure = true; every = 1;
        place = (0, 0); minors = 0; regions = []; asleep = None }
    in
    t.rings.(number) <- Some r;
    r
[@@ocamlformat "disable"]

let turn (t : t) r mode =
  t.busy <- t.busy + Bool.to_int (mode = Busy) - Bool.to_int (r.mode = Busy);
  t.workers <- Int.max t.workers t.busy;
  r.mode <- mode;
  if not r.sure then t.unsure <- t.unsure - 1;
  r.sure <- true

let end_region (t : t) r =
  match r.regions with
  | [] -> ()
  | for_all :: outer ->
    t.shared <- t.shared - Bool.to_int for_all;
    r.regions <- outer

let begin_region (t : t) r workers =
  let for_all = float workers >= t.cpus in
  t.shared <- t.shared + Bool.to_int for_all;
  r.regions <- for_all :: r.regions

(* Which tasks and waits are under way is known again of those that begin from now on. *)
let rec forget (t : t) r =
  if r.regions <> [] then begin
    end_region t r;
    forget t r
  end
  else begin
    turn t r Out;
    r.sure <- false;
    t.unsure <- t.unsure + 1;
    r.phases <- [];
    r.runs <- None;
    t.lost <- true;
    t.ready <- 0;
    Array.fill t.open_waits 0 no_worker 0;
    Hashtbl.reset t.tasks
  end

(* {2 Events} *)

(* Beyond that, tasks that are handed out are not followed. *)
let most_tasks = 100_000

let task t id = if id = 0 then None else Hashtbl.find_opt t.tasks id

let fork (t : t) r id ~parent ~site =
  if r.every > 1 || Hashtbl.length t.tasks >= most_tasks then t.sampled <- true;
  if Hashtbl.length t.tasks < most_tasks then begin
    let parent = Option.value (task t parent) ~default:t.root in
    parent.forks <- parent.forks + r.every;
    Hashtbl.replace t.tasks id (new_task ~parent ~every:r.every site (strand parent));
    t.ready <- t.ready + 1
  end

let start (t : t) r id =
  r.runs <- task t id;
  match r.runs with
  | Some it when not it.begun ->
    it.begun <- true;
    t.ready <- t.ready - 1
  | _ -> ()

let rec log2 n = if n < 2 then 0 else 1 + log2 (n / 2)

let finish (t : t) r id ~back =
  let note ({ parent; work; site; every; _ } as it) =
    join it;
    let parent = Option.value parent ~default:t.root in
    if it.base.span > parent.best.span then parent.best <- it.base;
    add t.sites site work ~n:every;
    let grain = Int.min 47 (log2 work) in
    t.grains.(grain) <- t.grains.(grain) + every;
    spend t traced work;
    Hashtbl.remove t.tasks id
  in
  Option.iter note (task t id);
  r.runs <- task t back;
  Option.iter join r.runs

let class_of t reason =
  let is_it = Rules.is_of_class (name_of t reason) in
  Option.value (Array.find_index is_it classes) ~default:no_task

let count_wait (t : t) reason n =
  let i = class_of t reason in
  if i < no_worker then t.open_waits.(i) <- Int.max 0 (t.open_waits.(i) + n)

let wait (t : t) r id reason place =
  count_wait t reason 1;
  Option.iter (fun it -> it.wait_every <- r.every) (task t id);
  if place <> 0 then add t.wait_places (name_of t reason, name_of t place) 0;
  r.runs <- None

let resume (t : t) r id reason ns =
  count_wait t reason (-1);
  r.runs <- task t id;
  let n = Option.fold r.runs ~none:r.every ~some:(fun it -> it.wait_every) in
  add t.waits (name_of t reason) ns ~n;
  let it = class_of t reason in
  if n > 1 || t.attached then t.few_waits.(it) <- t.few_waits.(it) + ns;
  Option.iter join r.runs

let count (t : t) r last =
  let first =
    match Hashtbl.find_opt t.counts r.place with
    | Some (first, _) -> first
    | None -> if t.attached then last else none_zero
  in
  Hashtbl.replace t.counts r.place (first, last)

let muster (t : t) r : Muster_trace.Trace.event -> unit = function
  | Fork { task; parent; site } -> fork t r task ~parent ~site
  | Begin { task = id } -> start t r id
  | End { task; back } -> finish t r task ~back
  | Busy { thread; pool; worker } ->
    r.thread <- thread;
    r.place <- (pool, worker);
    turn t r Busy
  | Idle -> turn t r Idle
  | Park -> turn t r Park
  | Leave ->
    turn t r Out;
    r.runs <- None;
    if r.number = 0 then join t.root
  | Wait { task; reason; name } -> wait t r task reason name
  | Resume { task; reason; ns } -> resume t r task reason ns
  | Counts { tasks; forks; steals } ->
    count t r { ran = tasks; handed_out = forks; stolen = steals }
  | Sampling { every } ->
    t.sparse <- t.sparse + Bool.to_int (every > 1) - Bool.to_int (r.every > 1);
    r.every <- every
  | Name { id; text } -> name t ~id text
  | Region { workers } -> begin_region t r workers
  | Region_end -> end_region t r
  | Steal _ | Job _ -> ()  (* for the report alone *)

let begin_phase r phase =
  if phase = Minor && not (List.mem Minor r.phases) then r.minors <- r.minors + 1;
  r.phases <- phase :: r.phases

(* An end without a beginning: that came before the recording, or was lost. *)
let end_phase r phase =
  match r.phases with it :: rest when it = phase -> r.phases <- rest | _ -> r.phases <- []

(* A state that was read while the ring told something may be that of another step: the wait for
   all domains in a collection is a sleep, too. *)
let note_sleep (t : t) r at =
  let note (call, ns, until) = if at > until then add t.blocked_in call ns in
  Option.iter note r.asleep;
  r.asleep <- None

let event (t : t) ~ring:number ~at it =
  advance t at;
  let r = ring t number at in
  note_sleep t r at;
  charge t r at;
  match it with
  | Muster event ->
    t.told <- true;
    muster t r event
  | Gc phase -> begin_phase r phase
  | Gc_end phase -> end_phase r phase
  | Lost _ -> if t.told then forget t r else r.phases <- []

let counter (t : t) name n =
  match name with
  | "minor_promoted" -> spend t promoted n
  | "minor_allocated" -> spend t allocated n
  | _ -> if n > 0 then add t.forced name 0

(* {2 What the system says} *)

let sample (t : t) ~at ~until threads =
  advance t at;
  let ns = at - t.last_sample in
  t.last_sample <- at;
  let note { thread; queue; sleeps; _ } =
    let before = Option.value (Hashtbl.find_opt t.queues thread) ~default:queue in
    Hashtbl.replace t.queues thread queue;
    match ring_that t (fun r -> r.thread = thread) with
    | Some ({ mode = Busy; sure = true; phases; _ } as r) ->
      spend t queued (queue - before);
      note_sleep t r at;
      if phases = [] then r.asleep <- Option.map (fun call -> (call, ns, until)) sleeps
    | _ -> ()
  in
  List.iter note threads

let close (t : t) ~at =
  advance t at;
  let close_ring r = note_sleep t r at; charge t r at in
  Array.iter (Option.iter close_ring) t.rings;
  Hashtbl.iter (fun _ (it : task) -> spend t traced it.work) t.tasks;
  end_piece t;
  join t.root

(* {2 The figures} *)

let seconds ns = float ns /. 1e9

let listed table tell ~by =
  let all = Hashtbl.fold (fun key sum all -> (key, sum) :: all) table [] in
  List.sort (fun (_, a) (_, b) -> Int.compare (by b) (by a)) all |> List.map tell

let measures (t : t) =
  let time which = seconds t.times.(which) in
  let total part =
    Hashtbl.fold (fun _ (first, last) n -> n + part last - part first) t.counts 0
  in
  let by_ns { ns; _ } = ns and by_n { n; _ } = n in
  let missing it =
    let few = Array.fold_left ( + ) 0 t.few_waits in
    let part = if few > 0 then float t.few_waits.(it) /. float few else if it = no_task then 1. else 0. in
    seconds t.missing.(it) +. (part *. seconds t.missing.(untold))
  in
  let by_class = List.mapi (fun i it -> (it, missing i)) Rules.classes in
  let in_seconds (name, { ns; _ }) = (name, seconds ns) in
  let of_site (id, { n; ns; most }) =
    { Measures.place = name_of t id; tasks = n; seconds = seconds ns; longest = seconds most }
  in
  let of_part (id, ns) = ((if id = 0 then "outside all pools" else name_of t id), seconds ns) in
  let chain = List.sort (fun (_, a) (_, b) -> Int.compare b a) (strand t.root).path in
  {
    Measures.wall = seconds (t.now - t.began);
    workers = t.workers;
    working = time working;
    minor = time minor;
    major = time major;
    stop = time stop;
    idle = time idle;
    outside = time outside;
    unknown = time unknown;
    missing =
      ("parallelism", missing no_task)
      :: ("a share", seconds t.missing.(no_share))
      :: ("a worker", seconds t.missing.(no_worker))
      :: by_class;
    straggler = Option.map (fun (id, ns, kin) -> (name_of t id, seconds ns, kin)) t.straggler;
    tasks = total (fun { ran; _ } -> ran);
    forks = total (fun { handed_out; _ } -> handed_out);
    steals = total (fun { stolen; _ } -> stolen);
    grains = t.grains;
    sampled = t.sampled;
    sites = listed t.sites of_site ~by:by_ns;
    work = seconds (t.times.(traced) + t.root.work);
    span = seconds t.root.base.span;
    chain = List.map of_part chain;
    waits = listed t.waits (fun (name, { n; ns; _ }) -> (name, n, seconds ns)) ~by:by_ns;
    wait_places = listed t.wait_places (fun (it, { n; _ }) -> (it, n)) ~by:by_n;
    minors =
      Array.fold_left (fun n r -> Int.max n (Option.fold r ~none:0 ~some:(fun r -> r.minors))) 0 t.rings;
    promoted = t.times.(promoted);
    allocated = t.times.(allocated);
    forced = listed t.forced (fun (name, { n; _ }) -> (name, n)) ~by:by_n;
    queue = time queued;
    blocked = seconds (Hashtbl.fold (fun _ { ns; _ } n -> n + ns) t.blocked_in 0);
    blocked_in = listed t.blocked_in in_seconds ~by:by_ns;
  }
