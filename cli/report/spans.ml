type what = Task of int | Code | Region | Looking | Parked | Away | Unknown
type 'what span = { start : int; stop : int; what : 'what }

type task = {
  number : int;
  mutable site : int;
  mutable parent : int;
  mutable forked : int;
  mutable began : int;
  mutable ended : int;
  mutable ran : int;
  mutable thief_of : int;
}

type lane = {
  ring : int;
  spans : what span array;
  gc : Recording.phase span array;
  threads : (int * int) list;
  workers : (int * int) list;
  steals : int;
}

type t = {
  lanes : lane list;
  tasks : (int, task) Hashtbl.t;
  queued : int list;
  waited : int list;
  sampled : bool;
}

(* {2 One ring's events, in the order of time}

   A worker is in a state, and at work for a task or for none. A task that waits leaves its worker
   without one; [End] and [Resume] say which task goes on. *)

type reader = {
  all : (int, task) Hashtbl.t;
  same : (int, int) Hashtbl.t;  (** of a site, the first of the same name *)
  mutable state : what;  (** beside its tasks *)
  mutable task : int;
  mutable regions : int;  (** open ones *)
  mutable region_since : int;
  mutable regions_found : (int * int) list;
  mutable since : int;
  mutable shown : what;
  mutable found : what span list;  (** backwards, as those below *)
  mutable phases : Recording.phase list;  (** those that are open, the innermost first *)
  mutable gc_since : int;
  mutable gc_found : Recording.phase span list;
  mutable victim : int;  (** of the steal whose task is yet to begin, or -1 *)
  mutable stolen : int;
  mutable its_threads : (int * int) list;
  mutable its_workers : (int * int) list;
  mutable queues : int list;
  mutable waits : int list;
  mutable samples : bool;
  mutable last : int;  (** the time of the event before *)
}

let reader all same =
  {
    all;
    same;
    state = Away;
    task = 0;
    regions = 0;
    region_since = 0;
    regions_found = [];
    since = 0;
    shown = Away;
    found = [];
    phases = [];
    gc_since = 0;
    gc_found = [];
    victim = -1;
    stolen = 0;
    its_threads = [];
    its_workers = [];
    queues = [];
    waits = [];
    samples = false;
    last = 0;
  }

let find r number =
  match Hashtbl.find_opt r.all number with
  | Some task -> task
  | None ->
    let task =
      { number; site = 0; parent = 0; forked = -1; began = -1; ended = -1; ran = 0; thief_of = -1 }
    in
    Hashtbl.add r.all number task;
    task

let close r at =
  if at > r.since then begin
    r.found <- { start = r.since; stop = at; what = r.shown } :: r.found;
    match r.shown with
    | Task number ->
      let task = find r number in
      task.ran <- task.ran + (at - r.since)
    | _ -> ()
  end;
  r.since <- Int.max at r.since

let show r at =
  let now =
    if r.task > 0 then Task r.task else if r.regions > 0 && r.state = Code then Region else r.state
  in
  if now <> r.shown then begin
    close r at;
    r.shown <- now
  end

let rest r state =
  r.state <- state;
  r.task <- 0

let work r number =
  r.state <- Code;
  r.task <- number

let note_begin r at number =
  if number > 0 then begin
    let task = find r number in
    if task.began < 0 then task.began <- at;
    if r.victim >= 0 then task.thief_of <- r.victim
  end;
  r.victim <- -1

let note_worker r at ~pool ~worker ~thread =
  let it = (pool, worker) in
  if not (List.mem it r.its_workers) then r.its_workers <- it :: r.its_workers;
  match r.its_threads with
  | (_, last) :: _ when last = thread -> ()
  | before -> r.its_threads <- (at, thread) :: before

let muster r at : Muster_trace.Trace.event -> unit = function
  | Fork { task; parent; site } ->
    let it = find r task in
    it.forked <- at;
    it.parent <- parent;
    it.site <- Option.value (Hashtbl.find_opt r.same site) ~default:site
  | Begin { task } ->
    note_begin r at task;
    work r task
  | End { task; back } ->
    if task > 0 then (find r task).ended <- at;
    work r back
  | Wait _ -> r.task <- 0
  | Resume { task; ns; _ } ->
    if ns > 0 then r.waits <- ns :: r.waits;
    work r task
  | Steal { victim } ->
    r.victim <- victim;
    r.stolen <- r.stolen + 1
  | Busy { pool; worker; thread } ->
    note_worker r at ~pool ~worker ~thread;
    if r.state <> Code then rest r Code
  | Idle -> rest r Looking
  | Park -> rest r Parked
  | Leave -> rest r Away
  | Region _ ->
    if r.regions = 0 then r.region_since <- at;
    r.regions <- r.regions + 1
  | Region_end ->
    if r.regions = 1 then r.regions_found <- (r.region_since, at) :: r.regions_found;
    r.regions <- Int.max 0 (r.regions - 1)
  | Job { queued; _ } -> r.queues <- queued :: r.queues
  | Sampling { every } -> if every > 1 then r.samples <- true
  | Counts _ | Budget _ | Spin _ | Alone _ | Name _ -> ()

(* {2 The collector} *)

let close_gc r at =
  (match r.phases with
  | what :: _ when at > r.gc_since ->
    r.gc_found <- { start = r.gc_since; stop = at; what } :: r.gc_found
  | _ -> ());
  r.gc_since <- at

let rec without phase = function
  | [] -> []
  | it :: outer -> if it = phase then outer else without phase outer

let gc_begins r at phase =
  close_gc r at;
  r.phases <- phase :: r.phases

(* One that was never seen to begin ends nothing. *)
let gc_ends r at phase =
  if List.mem phase r.phases then begin
    close_gc r at;
    r.phases <- without phase r.phases
  end

(* What was lost lies between the event before and this one. *)
let lost r at =
  let last = Int.max r.last r.since in
  r.regions <- 0;
  r.victim <- -1;
  close_gc r r.last;
  r.phases <- [];
  rest r Unknown;
  show r last;
  r.last <- at

let read r (at, (event : Recording.event)) =
  (match event with
  | Muster event -> muster r at event
  | Gc phase -> gc_begins r at phase
  | Gc_end phase -> gc_ends r at phase
  | Lost _ -> lost r at);
  show r at;
  r.last <- at

let is_muster (_, (event : Recording.event)) = match event with Muster _ -> true | _ -> false

let lane r ~attached ~duration ~known (timeline : Recording.timeline) =
  (* A worker of a running program had been at something. *)
  if attached && Array.exists is_muster timeline.events then begin
    r.state <- Unknown;
    r.shown <- Unknown
  end;
  Array.iter (read r) timeline.events;
  let stop = Int.max duration r.last in
  if known < stop then begin
    rest r Unknown;
    show r known
  end;
  close r stop;
  (* A phase that is open at the last event was left behind by the program's end. *)
  close_gc r r.last;
  {
    ring = timeline.ring;
    spans = Array.of_list (List.rev r.found);
    gc = Array.of_list (List.rev r.gc_found);
    threads = List.rev r.its_threads;
    workers = List.rev r.its_workers;
    steals = r.stolen;
  }

(* {2 Shares of regions}

   A share has no event of its own: it is what other workers do meanwhile, beside their tasks. *)

let rec merged = function
  | (from, upto) :: (from', upto') :: rest when from' <= upto ->
    merged ((from, Int.max upto upto') :: rest)
  | it :: rest -> it :: merged rest
  | [] -> []

let with_shares regions spans =
  let found = ref [] and left = ref regions in
  let put start stop what = if stop > start then found := { start; stop; what } :: !found in
  let rec share from stop =
    match !left with
    | _ when from >= stop -> ()
    | (_, upto) :: rest when upto <= from ->
      left := rest;
      share from stop
    | (since, upto) :: _ when since < stop ->
      let since = Int.max from since and upto = Int.min upto stop in
      put from since Code;
      put since upto Region;
      share upto stop
    | _ -> put from stop Code
  in
  let one span = if span.what = Code then share span.start span.stop else found := span :: !found in
  Array.iter one spans;
  Array.of_list (List.rev !found)

(* Tasks of different code may be handed out at one place. *)
let same_sites names =
  let first = Hashtbl.create 64 and same = Hashtbl.create 64 in
  let note (id, name) =
    if not (Hashtbl.mem first name) then Hashtbl.add first name id;
    Hashtbl.replace same id (Hashtbl.find first name)
  in
  List.iter note names;
  same

(* The first events are kept, of all rings: of the time after the last of them nothing is known. *)
let known_until (recording : Recording.t) =
  let last until (it : Recording.timeline) =
    Array.fold_left (fun until (at, _) -> Int.max until at) until it.events
  in
  if recording.left_out = 0 then max_int else List.fold_left last 0 recording.timelines

let of_recording (recording : Recording.t) =
  let tasks = Hashtbl.create 1024 in
  let same = same_sites recording.names and known = known_until recording in
  let attached = recording.outcome = Still_running || recording.outcome = Ended in
  let one timeline =
    let r = reader tasks same in
    (lane r ~attached ~duration:recording.duration ~known timeline, r)
  in
  let read = List.map one recording.timelines in
  let readers = List.map snd read in
  let regions = merged (List.sort compare (List.concat_map (fun r -> r.regions_found) readers)) in
  {
    lanes = List.map (fun (lane, _) -> { lane with spans = with_shares regions lane.spans }) read;
    tasks;
    queued = List.concat_map (fun r -> r.queues) readers;
    waited = List.concat_map (fun r -> r.waits) readers;
    sampled = List.exists (fun r -> r.samples) readers;
  }
