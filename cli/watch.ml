module Trace = Muster_trace.Trace

type seen = Nothing | Rings | Muster

type run = {
  outcome : Recording.outcome;
  seen : seen;
  measures : Measures.t;
  cpu : float;
  kernel : float;
  room : Procfs.room;
  throttled : float;
  pace : float option;
  lost : int;
  interrupted : bool;
  recording : Recording.t Lazy.t;
}

type t = {
  dir : string;
  since : int;
  attached : bool;
  mutable pid : int;  (** of the process that has the rings, once they are there *)
  mutable room : Procfs.room;
  mutable account : Account.t;
  mutable rings : Rings.t option;
  gauge : Gauge.t option;
  mutable tried : int list;
  mutable others : (int * Account.t * Rings.t) list;  (** of other processes, which have told nothing of Muster yet *)
  mutable next_look : int;
  mutable samples : Recording.sample list;  (** those that are kept *)
  mutable ends : (Recording.sample * Recording.sample) option;  (** the first and the last of all *)
  mutable kernel : (float * float) option;  (** at the first sample and at the last *)
}

let account ~attached ~since ~pid { Procfs.cpus; _ } =
  Account.make ~cpus ~main:pid ~attached ~since

let make ?(gauged = false) ~attached ~dir ~since pid =
  let room = Procfs.room pid in
  let account = account ~attached ~since ~pid room in
  { dir; since; attached; pid; room; account; rings = None; gauge = if gauged then Some (Gauge.make ()) else None; tried = []; others = [];
    next_look = 0; samples = []; ends = None; kernel = None }
[@@ocamlformat "disable"]

let has_begun w = Account.has_muster w.account

let is_replaced w = Option.fold w.rings ~none:false ~some:Rings.is_replaced

let ring_owners dir =
  let owner file =
    if Filename.check_suffix file ".events" then int_of_string_opt (Filename.chop_extension file)
    else None
  in
  let files = try Array.to_list (Sys.readdir dir) with Sys_error _ -> [] in
  List.filter_map owner files

let turn_to w (pid, account, rings) =
  let set_aside = Option.map (fun it -> (w.pid, w.account, it)) w.rings in
  w.others <- Option.to_list set_aside @ List.filter (fun (it, _, _) -> it <> pid) w.others;
  w.pid <- pid;
  w.account <- account;
  w.rings <- Some rings

let try_new w pid =
  match Rings.open_ ~dir:w.dir ~pid ~since:w.since with
  | Error _ -> ()
  | Ok rings ->
    w.tried <- pid :: w.tried;
    w.room <- Procfs.room pid;
    turn_to w (pid, account ~attached:w.attached ~since:w.since ~pid w.room, rings)

(* The program may be started by another one (a shell, dune), or have children, and each of OCaml has
   a ring: the one that counts is the first that tells of Muster. *)
let look_for_rings w ~now =
  let is_new pid = (not (List.mem pid w.tried)) && ((not w.attached) || pid = w.pid) in
  let tells (_, account, rings) =
    Rings.poll rings account ~now;
    Account.has_muster account
  in
  if not (has_begun w) then begin
    Option.iter (try_new w) (List.find_opt is_new (ring_owners w.dir));
    Option.iter (turn_to w) (List.find_opt tells w.others)
  end

let sample_every = 20_000_000
let prompt = 2_000_000

(* What threads have used since the last sample that is kept: a quarter of that may be of another time. *)
let is_kept w ~now ~until =
  let since = match w.samples with last :: _ -> now - last.at | [] -> sample_every in
  4 * (until - now) <= since

let take_sample w now =
  w.next_look <- now + sample_every;
  let threads = Procfs.threads w.pid in
  let until = Trace.now () in
  (* Of a sample that took long nobody knows when each thread slept. *)
  let awake it = { it with Account.sleeps = None } in
  let told = if until - now > prompt then List.map awake threads else threads in
  Option.iter (fun rings -> Rings.sample rings ~at:now ~until told) w.rings;
  let short { Account.thread; cpu; queue; _ } = { Recording.thread; cpu; queue } in
  let threads = List.map short threads in
  let sample = { Recording.at = now; threads; throttled = Procfs.throttled w.room } in
  if threads <> [] && (not (is_replaced w)) && (has_begun w || not w.attached) then begin
    if is_kept w ~now ~until then w.samples <- sample :: w.samples;
    w.ends <- Some (Option.fold w.ends ~none:sample ~some:fst, sample);
    let note until = w.kernel <- Some (Option.fold w.kernel ~none:until ~some:fst, until) in
    Option.iter note (Procfs.in_kernel w.pid)
  end

let poll w now =
  look_for_rings w ~now;
  Option.iter (fun rings -> Rings.poll rings w.account ~now) w.rings;
  if now >= w.next_look then take_sample w now;
  if has_begun w then Option.iter (Gauge.look ~cpus:w.room.allowed) w.gauge

(* A look takes a CPU from a worker, for which the others wait in each collection. The end of a child
   interrupts the pause. *)
let pause = 0.02
let rest () = try ignore (Unix.select [] [] [] pause) with Unix.Unix_error (EINTR, _, _) -> ()

let rec until w ~over =
  let now = Trace.now () in
  match over now with
  | Some it -> it
  | None ->
    poll w now;
    rest ();
    until w ~over

(* {2 The end} *)

let between ends part =
  let seconds (first, last) = Float.max 0. (float (part last - part first) /. 1e9) in
  Option.fold ends ~none:0. ~some:seconds

let cpu w =
  let total { Recording.threads; _ } =
    List.fold_left (fun n (it : Recording.thread) -> n + it.cpu) 0 threads
  in
  between w.ends total

let lost w = Option.fold w.rings ~none:0 ~some:Rings.lost

let recording w ~program ~outcome ~seen ~now =
  Gc.set { (Gc.get ()) with space_overhead = 80 };
  let since = Account.began w.account in
  let timelines, names, left_out =
    Option.fold w.rings ~none:([], [], 0) ~some:(Rings.recorded ~since)
  in
  let of_start (it : Recording.sample) = { it with at = it.at - since } in
  {
    Recording.program;
    outcome;
    ocaml_rings = seen <> Nothing;
    duration = now - since;
    cpus = w.room.cpus;
    names;
    timelines;
    samples = List.rev_map of_start w.samples;
    lost = lost w;
    left_out;
    measures = [];
    causes = [];
    verdict = [];
  }

let run w ~program ~outcome ~cpu ~interrupted =
  let now = Trace.now () in
  look_for_rings w ~now;
  Option.iter (fun rings -> Rings.drain rings w.account ~now) w.rings;
  let seen =
    if w.rings = None then Nothing else if Account.has_muster w.account then Muster else Rings
  in
  {
    outcome;
    seen;
    measures = Account.measures w.account;
    cpu;
    kernel = Option.fold w.kernel ~none:0. ~some:(fun (first, last) -> last -. first);
    room = w.room;
    throttled = between w.ends (fun { throttled; _ } -> Option.value throttled ~default:0);
    pace = Option.bind w.gauge Gauge.mean;
    lost = lost w;
    interrupted;
    recording = lazy (recording w ~program ~outcome ~seen ~now);
  }
