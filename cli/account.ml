(* Two clocks run: a ring's own, which charges the time since its last event to what its worker did,
   and that of all, which asks at each event how many workers were at work until then. *)

open Recording

type mode = Out | Busy | Idle | Park

let rings = 1024

type ring = {
  number : int;
  mutable mode : mode;
  mutable phases : phase list;  (** the innermost first *)
  mutable runs : Chain.task option;
  mutable since : int;
  spent : int array;  (** until then, since the last sample *)
  mutable thread : int;
  mutable sure : bool;  (** no event was lost since the mode was told *)
  mutable every : int;
  mutable place : int * int;  (** pool and worker *)
  mutable stretch : int;  (** since when it does what it does: a task, or what follows a wait *)
  mutable handed_out : int;  (** when it last handed out a task *)
  mutable ended : int;  (** when it last had work that ended: a task, or what it did beside one *)
  mutable minors : int;
  mutable regions : bool list;  (** open ones, the innermost first: are they for all CPUs? *)
  mutable stopped : int;  (** since when it waits for others to stop, if that is its innermost phase *)
  mutable late : (int * int) list;  (** since the last sample, others waited for it: its site, ns *)
  mutable asleep : (string * int * int) option;
      (** it was seen asleep, in that call, for so many ns; until when that may have been *)
}

type thread = { thread : int; cpu : int; queue : int; sleeps : string option }

(* A time in which one worker alone was at work, in one stretch, for lack of other tasks. *)
type piece = { by : ring; began : int; site : int; from : int; until : int }

type t = {
  cpus : float;
  attached : bool;
  mutable began : int;
  sums : Sums.t;
  root : Chain.task;
  tasks : (int, Chain.task) Hashtbl.t;  (** that have not ended *)
  rings : ring option array;  (** by number *)
  open_waits : int array;  (** by class *)
  mutable sparse : int;  (** rings that trace one of many; or some waits had begun before *)
  main : int;  (** the program's first thread *)
  members : (int, unit) Hashtbl.t;  (** threads that have worked in a pool *)
  last_of : (int, thread) Hashtbl.t;  (** by thread, as of the last sample *)
  mutable now : int;
  mutable last_sample : int;
  mutable busy : int;
  mutable size : int;  (** of the largest pool *)
  mutable lent : int;  (** CPUs, to other programs *)
  mutable shared : int;  (** regions for all CPUs that are open *)
  mutable shares : int;  (** of calls of [Team] *)
  mutable unsure : int;  (** rings that are not sure *)
  mutable lost : bool;  (** events, since workers have told any *)
  at_work : int array;  (** ns, by the number of workers that were at work *)
  mutable told : bool;
  mutable sampled : bool;
  mutable outside_since : int;  (** nobody was at work but the code outside *)
  mutable alone : piece option;
  mutable straggling : int;  (** ns, of all pieces of stragglers *)
  mutable straggler : (int * int) option;  (** the longest: its site, ns *)
}

let make ~cpus ~main ~attached ~since : t =
  {
    cpus;
    attached;
    began = since;
    sums = Sums.make ();
    root = Chain.root ();
    tasks = Hashtbl.create 1024;
    rings = Array.make rings None;
    open_waits = Array.make (List.length Rules.classes) 0;
    sparse = Bool.to_int attached;
    main;
    members = Hashtbl.create 16;
    last_of = Hashtbl.create 16;
    now = since;
    last_sample = since;
    busy = 0;
    size = 0;
    lent = 0;
    shared = 0;
    shares = 0;
    unsure = 0;
    lost = false;
    at_work = Array.make (rings + 1) 0;
    told = false;
    sampled = false;
    outside_since = since;
    alone = None;
    straggling = 0;
    straggler = None;
  }

let name t ~id text = Sums.name t.sums ~id text
let has_muster t = t.told
let began (t : t) = t.began
let counter t name n = Sums.counter t.sums name n

(* {2 The clock of all} *)

(* Before a worker of a running program tells something nobody knows what it does. *)
let has_begun (t : t) = t.told || not t.attached

let moment = 1_000_000

(* Others had tasks that ended while it went on: it is a straggler. Code after a wait, or a join, is
   a stretch of its own, and none. *)
let is_straggler (t : t) { by; began; from; until; _ } =
  let ended_beside = function Some r -> r != by && r.ended > began | None -> false in
  until - from >= moment && Array.exists ended_beside t.rings

let end_piece ?(is_straggler = is_straggler) (t : t) =
  let count ({ site; from; until; _ } as piece) =
    if is_straggler t piece then begin
      t.straggling <- t.straggling + (until - from);
      match t.straggler with
      | Some (_, ns) when ns >= until - from -> ()
      | _ -> t.straggler <- Some (site, until - from)
    end
  in
  Option.iter count t.alone;
  t.alone <- None

(* A parked worker that wakes for a moment ends no piece. *)
let note_alone t r ~since ~until =
  match t.alone with
  | Some it when it.by == r && it.began = r.stretch && since - it.until < moment ->
    t.alone <- Some { it with until }
  | _ ->
    end_piece t;
    let site = Option.fold r.runs ~none:0 ~some:(fun (it : Chain.task) -> it.site) in
    t.alone <- Some { by = r; began = r.stretch; site; from = since; until }

let ring_that t holds =
  let holds = Option.fold ~none:false ~some:holds in
  Option.join (Array.find_opt holds t.rings)

let is_outside t =
  t.busy = 0 && t.unsure = 0 && match t.rings.(0) with Some r -> r.mode = Out | None -> true

(* The first iterations of a loop, beside which the others could have run: stragglers at its start. *)
let note_first (t : t) r ~ns ~site =
  let alone_since =
    match t.alone with
    | Some it when it.by == r -> it.from
    | Some _ -> t.now
    | None when is_outside t && r.number = 0 -> t.outside_since
    | None -> t.now
  in
  let from = Int.max alone_since (t.now - ns) in
  if t.now - from >= moment then begin
    t.alone <- Some { by = r; began = from; site; from; until = t.now };
    end_piece t ~is_straggler:(fun _ _ -> true)
  end

(* The code outside does, so it may be at nothing else. *)
let hands_out_many (t : t) = Option.fold t.rings.(0) ~none:false ~some:(fun r -> r.every > 1)

(* Why a worker does not use its CPU: the first class of which a task waits, or for lack of a share
   in a region that is under way. *)
let lack (t : t) ~is_outside : Sums.lack =
  match Array.find_index (fun n -> n > 0) t.open_waits with
  | Some i -> Waits i
  | None ->
    if t.shared > 0 then Share
    else if t.sparse > 0 && (hands_out_many t || not is_outside) then Untold
    else Parallelism

(* While a pool is at work its CPUs that are lent lack by that, and those for which it has no worker.
   Once events were lost, tasks or waits may be under way of which nobody knows. What ran before the
   first event of a program that was started has used one CPU. *)
let note_missing (t : t) ~is_outside ~(lack : Sums.lack) dt =
  let missing = t.cpus -. float (t.busy + t.unsure + Bool.to_int is_outside) in
  if missing > 0. then begin
    let knows = t.busy > 0 && t.size > 0 in
    let none = if knows then Float.min missing (Float.max 0. (t.cpus -. float t.size)) else 0. in
    let lent = if knows then Float.min (missing -. none) (float t.lent) else 0. in
    let ns part = int_of_float (part *. float dt) in
    Sums.miss t.sums Worker (ns none);
    Sums.miss t.sums Lent (ns lent);
    let rest = ns (missing -. none -. lent) in
    match lack with
    | (Untold | Parallelism) when t.lost -> Sums.spend t.sums Unknown rest
    | lack -> Sums.miss t.sums lack rest
  end

let advance (t : t) at =
  let dt = at - t.now in
  if dt > 0 && not (has_begun t) then t.now <- at
  else if dt > 0 then begin
    let is_outside = is_outside t in
    if not is_outside then t.outside_since <- at;
    if is_outside then Sums.spend t.sums Outside dt
    else if t.busy + t.unsure = 0 then Sums.spend t.sums Quiet dt;
    let lack = lack t ~is_outside in
    note_missing t ~is_outside ~lack dt;
    t.at_work.(t.busy) <- t.at_work.(t.busy) + dt;
    (if t.busy = 1 && t.unsure = 0 && t.lent = 0 && t.size <> 1 && lack = Parallelism then
       match ring_that t (fun r -> r.mode = Busy) with
       | Some ({ every = 1; _ } as r) -> note_alone t r ~since:t.now ~until:at
       | _ -> ());
    t.now <- at
  end

(* {2 A ring's clock} *)

let of_phase : phase -> Sums.what = function Minor -> Minor | Major -> Major | Stop -> Stop

let charge (t : t) r at =
  let ns = at - r.since and spend = Sums.charge r.spent in
  r.since <- at;
  if not (has_begun t) then ()
  else
    match (r.mode, r.phases) with
    | _, phase :: _ when not r.sure -> spend (of_phase phase) ns
    | _ when not r.sure -> spend Unknown ns
    | Busy, [] ->
      spend Working ns;
      Option.iter (fun task -> Chain.run task ns) r.runs
    | Busy, phase :: _ -> spend (of_phase phase) ns
    | Idle, _ -> if t.busy > 0 then spend Looking ns
    | Park, _ -> if t.busy > 0 then spend Parked ns
    | Out, [] -> if r.number = 0 then Chain.run t.root ns
    | Out, _ -> ()

let ring t number at =
  match t.rings.(number) with
  | Some r -> r
  | None ->
    let since = if number = 0 then t.began else at in
    let r =
      { number; mode = Out; phases = []; runs = None; since; spent = Sums.empty (); thread = 0; sure = true; every = 1;
        place = (0, 0); stretch = at; handed_out = 0; ended = 0; minors = 0; regions = []; stopped = 0; late = []; asleep = None }
    in
    t.rings.(number) <- Some r;
    r
[@@ocamlformat "disable"]

let turn (t : t) r mode =
  t.busy <- t.busy + Bool.to_int (mode = Busy) - Bool.to_int (r.mode = Busy);
  if mode <> r.mode then r.stretch <- r.since;
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
  t.shares <- t.shares + workers;
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
    Array.fill t.open_waits 0 (Array.length t.open_waits) 0;
    Hashtbl.reset t.tasks
  end

(* {2 Events} *)

(* Beyond that, tasks that are handed out are not followed. *)
let most_tasks = 100_000

let task t id = if id = 0 then None else Hashtbl.find_opt t.tasks id

let fork (t : t) r id ~parent ~site =
  r.handed_out <- r.since;
  if Hashtbl.length t.tasks >= most_tasks then t.sampled <- true
  else
    let parent = Option.value (task t parent) ~default:t.root in
    (* That it had been handed out before is what the others lacked. *)
    (match t.alone with Some { by; _ } when by == r -> t.alone <- None | _ -> ());
    Hashtbl.replace t.tasks id (Chain.fork ~parent ~every:r.every ~site)

let goes_on (t : t) r id =
  r.runs <- task t id;
  r.stretch <- r.since

let finish (t : t) r id ~back =
  let note (it : Chain.task) =
    Chain.finish it ~parent:(Option.value it.parent ~default:t.root);
    Sums.spend t.sums Traced it.work;
    Hashtbl.remove t.tasks id
  in
  Option.iter note (task t id);
  r.ended <- r.since;
  goes_on t r back;
  Option.iter Chain.join r.runs

let count_wait (t : t) reason n =
  let count i = t.open_waits.(i) <- Int.max 0 (t.open_waits.(i) + n) in
  Option.iter count (Sums.class_of t.sums reason)

(* What follows a fork is work beside the task, which ends where it waits. *)
let note_end_beside r =
  if r.handed_out >= r.stretch && r.since - r.handed_out >= moment then r.ended <- r.since

let wait (t : t) r id reason place =
  note_end_beside r;
  count_wait t reason 1;
  Option.iter (fun (it : Chain.task) -> it.wait_every <- r.every) (task t id);
  if place <> 0 then Sums.wait_place t.sums ~reason ~place;
  r.runs <- None

let resume (t : t) r id reason ns =
  if ns > 0 then count_wait t reason (-1);
  goes_on t r id;
  let every (it : Chain.task) = it.wait_every in
  let times = Option.fold r.runs ~none:r.every ~some:every in
  if ns > 0 then Sums.wait t.sums ~reason ~times ~few:(times > 1 || t.attached) ns;
  Option.iter Chain.join r.runs

let count (t : t) r counts = Sums.count t.sums ~worker:r.place ~attached:t.attached counts

let muster (t : t) r : Muster_trace.Trace.event -> unit = function
  | Fork { task; parent; site } -> fork t r task ~parent ~site
  | Begin { task = id } -> goes_on t r id
  | End { task; back } -> finish t r task ~back
  | Busy { thread; pool; worker } ->
    r.thread <- thread;
    Hashtbl.replace t.members thread ();
    r.place <- (pool, worker);
    turn t r Busy
  | Idle -> turn t r Idle
  | Park -> turn t r Park
  | Leave ->
    turn t r Out;
    r.runs <- None;
    if r.number = 0 then Chain.join t.root
  | Wait { task; reason; name } -> wait t r task reason name
  | Resume { task; reason; ns } -> resume t r task reason ns
  | Counts { tasks; forks; steals } ->
    count t r { ran = tasks; handed_out = forks; stolen = steals }
  | Sampling { every } ->
    t.sparse <- t.sparse + Bool.to_int (every > 1) - Bool.to_int (r.every > 1);
    if every > 1 then t.sampled <- true;
    r.every <- every
  | Spin { ns } -> Sums.spend t.sums Spun (ns * r.every)
  | Budget { size; lent } ->
    t.size <- Int.max t.size size;
    t.lent <- lent
  | Name { id; text } -> name t ~id text
  | Alone { ns; site } -> note_first t r ~ns ~site
  | Region { workers } -> begin_region t r workers
  | Region_end ->
    r.stretch <- r.since;
    end_region t r
  | Job { queued; _ } -> Sums.job t.sums ~at:r.since ~queued
  | Steal _ -> ()  (* for the report alone *)

(* Code of OCaml's stops at once. A domain for which others wait longer is in a call of C, or has no
   CPU: the next sample tells. *)
let note_late (t : t) r =
  let first at = function
    | Some { phases = Stop :: _; stopped; _ } -> Int.min at stopped
    | _ -> at
  in
  let ns = r.since - Array.fold_left first r.since t.rings in
  if ns >= moment then
    r.late <- (Option.fold r.runs ~none:0 ~some:(fun (it : Chain.task) -> it.site), ns) :: r.late

let settle_late (t : t) r ~queued =
  let all = List.fold_left (fun n (_, ns) -> n + ns) 0 r.late in
  let on_cpu ns = int_of_float (float ns *. float (Int.max 0 (all - queued)) /. float all) in
  List.iter (fun (site, ns) -> Sums.late t.sums ~site (on_cpu ns)) r.late;
  r.late <- []

let begin_phase (t : t) r phase =
  if r.phases = [] then note_late t r;
  if phase = Stop then r.stopped <- r.since;
  if phase = Minor && not (List.mem Minor r.phases) then r.minors <- r.minors + 1;
  r.phases <- phase :: r.phases

(* An end without a beginning: that came before the recording, or was lost. *)
let end_phase r phase =
  match r.phases with it :: rest when it = phase -> r.phases <- rest | _ -> r.phases <- []

(* A state that was read while the ring told something may be that of another step: the wait for
   all domains in a collection is a sleep, too. *)
let note_sleep (t : t) r at =
  let note (call, ns, until) = if at > until then Sums.blocked t.sums call ns in
  Option.iter note r.asleep;
  r.asleep <- None

let event (t : t) ~ring:number ~at it =
  advance t at;
  let r = ring t number at in
  note_sleep t r at;
  charge t r at;
  match it with
  | Muster event ->
    if not (has_begun t) then t.began <- at;
    t.told <- true;
    muster t r event
  | Gc phase -> begin_phase t r phase
  | Gc_end phase -> end_phase r phase
  | Lost _ -> if t.told then forget t r else r.phases <- []

(* {2 What the system says} *)

let note_worker (t : t) r ~at ~ns ~until sleeps =
  note_sleep t r at;
  if r.phases = [] then r.asleep <- Option.map (fun call -> (call, ns, until)) sleeps

let note_main (t : t) ~ns sleeps =
  let sleep call = Chain.run t.root (-Sums.asleep t.sums call ns) in
  if is_outside t then Option.iter sleep sleeps

let note_thread (t : t) ~at ~ns ~until ~queued ({ thread; sleeps; _ }, _, own) =
  let ring = ring_that t (fun r -> r.thread = thread) in
  let settle r =
    settle_late t r ~queued:own;
    Sums.settle_worker t.sums r.spent ~queued:own ~others:(queued - own)
  in
  Option.iter settle ring;
  match ring with
  | Some ({ mode = Busy; sure = true; _ } as r) -> note_worker t r ~at ~ns ~until sleeps
  | _ -> if thread = t.main then note_main t ~ns sleeps

(* A thread that the last sample did not have has come since; but the first sample of a program that
   was running. *)
let since_last (t : t) ~is_first ({ thread; cpu; queue; _ } as it) =
  let fresh = if is_first then it else { it with cpu = 0 } in
  let last = Option.value (Hashtbl.find_opt t.last_of thread) ~default:fresh in
  Hashtbl.replace t.last_of thread it;
  (it, cpu - last.cpu, queue - last.queue)

let sample (t : t) ~at ~until threads =
  advance t at;
  Array.iter (Option.iter (fun r -> charge t r at)) t.rings;
  let ns = at - t.last_sample in
  t.last_sample <- at;
  let is_first = t.attached && Hashtbl.length t.last_of = 0 in
  let all = List.map (since_last t ~is_first) threads in
  let times threads =
    List.fold_left (fun (cpu, queued) (_, c, q) -> (cpu + c, queued + q)) (0, 0) threads
  in
  List.iter (note_thread t ~at ~ns ~until ~queued:(snd (times all))) all;
  let is_beside ({ thread; _ }, _, _) = thread <> t.main && not (Hashtbl.mem t.members thread) in
  let cpu, queued = times (List.filter is_beside all) in
  if has_begun t then Sums.settle t.sums ~cpu ~queued

let close (t : t) ~at =
  advance t at;
  let close_ring r =
    note_sleep t r at;
    charge t r at;
    Sums.settle_worker t.sums r.spent ~queued:0 ~others:0
  in
  Array.iter (Option.iter close_ring) t.rings;
  Hashtbl.iter (fun _ (it : Chain.task) -> Sums.spend t.sums Traced it.work) t.tasks;
  end_piece t;
  Chain.join t.root

(* So many were at work at a time for a seventh of the time in which any was. *)
let workers (t : t) =
  let rec least n beyond ~felt =
    let beyond = beyond + t.at_work.(n) in
    if n = 1 || float beyond >= felt then n else least (n - 1) beyond ~felt
  in
  let all = Array.fold_left ( + ) (-t.at_work.(0)) t.at_work in
  if all = 0 then 0 else least rings 0 ~felt:(Rules.felt *. float all)

let measures (t : t) =
  let minors n r = Int.max n (Option.fold r ~none:0 ~some:(fun r -> r.minors)) in
  Sums.measures t.sums
    {
      wall = t.now - t.began;
      workers = workers t;
      minors = Array.fold_left minors 0 t.rings;
      shares = t.shares;
      sampled = t.sampled;
      straggling = t.straggling;
      straggler = t.straggler;
      root = t.root;
    }
