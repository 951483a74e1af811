type worker = {
  lane : Spans.lane;
  name : string;
  tasks : int;
  ran : int;
  code : int;
  looking : int;
  parked : int;
  away : int;
  unknown : int;
  minor : int;
  major : int;
  stop : int;
  no_cpu : int;
}

type site = { site : int; name : string; count : int; total : int; longest : int }
type flame = { at : string; own : int; all : int; below : flame list }
type bucket = { least : int; most : int; number : int; sum : int }
type load = { from : int; upto : int; cpus : float; waiting : float; busy : float }

type t = {
  workers : worker list;
  sites : site list;
  flame : flame list;
  grain : bucket list;
  latency : bucket list;
  waits : bucket list;
  queues : bucket list;
  loads : load list;
}

let list_of tasks = Hashtbl.fold (fun _ (task : Spans.task) all -> task :: all) tasks []

(* {2 Histograms} *)

(* 0, then 1, 2 and 5 times the powers of ten. *)
let edges =
  let times power = List.map (fun n -> n * power) [ 1; 2; 5 ] in
  let rec powers n power = if n = 0 then [] else times power @ powers (n - 1) (10 * power) in
  Array.of_list (0 :: powers 18 1)

let bucket_of value =
  let rec within low high =
    if high - low = 1 then low
    else
      let mid = (low + high) / 2 in
      if value >= edges.(mid) then within mid high else within low mid
  in
  within 0 (Array.length edges - 1)

let histogram values =
  let numbers = Array.map (fun _ -> 0) edges and sums = Array.map (fun _ -> 0) edges in
  let note n =
    let i = bucket_of n in
    numbers.(i) <- numbers.(i) + 1;
    sums.(i) <- sums.(i) + n
  in
  List.iter note values;
  let all = List.init (Array.length edges) Fun.id in
  match List.filter (fun i -> numbers.(i) > 0) all with
  | [] -> []
  | first :: _ as used ->
    let last = List.fold_left Int.max first used in
    let bucket i =
      { least = edges.(i); most = edges.(i + 1); number = numbers.(i); sum = sums.(i) }
    in
    List.init (last - first + 1) (fun i -> bucket (first + i))

(* {2 The system's samples, of stretches that are 1,000 at most} *)

let stretches = 1_000

(* Every so many-th, and the last. *)
let thinned (samples : Recording.sample list) =
  let n = List.length samples in
  let every = 1 + (n / stretches) in
  List.filteri (fun i _ -> i mod every = 0 || i = n - 1) samples

(* A thread that was not there before has begun with nothing. *)
let gained (before : Recording.sample) (now : Recording.sample) =
  let of_thread (it : Recording.thread) =
    let old = List.find_opt (fun (o : Recording.thread) -> o.thread = it.thread) before.threads in
    let cpu, queue =
      Option.fold old ~none:(0, 0) ~some:(fun (o : Recording.thread) -> (o.cpu, o.queue))
    in
    (it.thread, Int.max 0 (it.cpu - cpu), Int.max 0 (it.queue - queue))
  in
  List.map of_thread now.threads

(* The system tells of a wait for a CPU when that is over, though the wait may have been that of
   stretches before. *)
let settled stretches =
  let settle (from, upto, threads) (carried, later) =
    let one (thread, cpu, queue) =
      let ns = queue + Option.value (List.assoc_opt thread carried) ~default:0 in
      let here = Int.min ns (Int.max 0 (upto - from - cpu)) in
      ((thread, cpu, here), (thread, ns - here))
    in
    let threads, carried = List.split (List.map one threads) in
    (carried, (from, upto, threads) :: later)
  in
  snd (List.fold_right settle stretches ([], []))

let rec pairs = function
  | (before : Recording.sample) :: (now :: _ as rest) ->
    if now.at > before.at then (before.at, now.at, gained before now) :: pairs rest else pairs rest
  | _ -> []

let thread_at (lane : Spans.lane) at =
  let rec last found = function
    | (from, thread) :: rest when from <= at -> last (Some thread) rest
    | _ -> found
  in
  last None lane.threads

let queue_share (recording : Recording.t) lane =
  let share (from, upto, threads) =
    let of_thread (it, _, queue) = if thread_at lane upto = Some it then queue else 0 in
    let ns = List.fold_left (fun sum it -> sum + of_thread it) 0 threads in
    (from, upto, Float.min 1. (float_of_int ns /. float_of_int (upto - from)))
  in
  List.map share (settled (pairs (thinned recording.samples)))

(* How long each worker was neither at rest nor away, in each of these stretches. *)
let busy_in lanes stretches =
  let bounds = Array.of_list stretches in
  let sums = Array.make (Array.length bounds) 0 in
  let add i ns = sums.(i) <- sums.(i) + ns in
  let of_lane (lane : Spans.lane) =
    let i = ref 0 in
    let rec note (span : Spans.what Spans.span) =
      if !i < Array.length bounds then begin
        let from, upto = bounds.(!i) in
        let busy = match span.what with Task _ | Code | Region -> true | _ -> false in
        if busy then add !i (Int.max 0 (Int.min upto span.stop - Int.max from span.start));
        if span.stop > upto then begin
          incr i;
          note span
        end
      end
    in
    Array.iter note lane.spans
  in
  List.iter of_lane lanes;
  Array.to_list sums

let loads (recording : Recording.t) lanes =
  let pairs = settled (pairs (thinned recording.samples)) in
  let busy = busy_in lanes (List.map (fun (from, upto, _) -> (from, upto)) pairs) in
  let load (from, upto, threads) busy =
    let part ns = float_of_int ns /. float_of_int (upto - from) in
    let cpu = List.fold_left (fun sum (_, cpu, _) -> sum + cpu) 0 threads in
    let queue = List.fold_left (fun sum (_, _, queue) -> sum + queue) 0 threads in
    { from; upto; cpus = part cpu; waiting = part queue; busy = part busy }
  in
  List.map2 load pairs busy

(* {2 Workers} *)

let name_of (lane : Spans.lane) =
  let several = List.exists (fun (pool, _) -> pool <> fst (List.hd lane.workers)) lane.workers in
  let worker (pool, worker) =
    if several then Printf.sprintf "worker %d of pool %d" worker pool
    else Printf.sprintf "worker %d" worker
  in
  let rec first n = function it :: rest when n > 0 -> it :: first (n - 1) rest | _ -> [] in
  let workers = String.concat ", " (List.map worker (first 3 lane.workers)) in
  let more = if List.length lane.workers > 3 then " ..." else "" in
  if lane.workers = [] then Printf.sprintf "domain %d" lane.ring
  else Printf.sprintf "domain %d: %s%s" lane.ring workers more

let total spans is_it =
  Array.fold_left
    (fun sum (it : _ Spans.span) -> if is_it it.what then sum + it.stop - it.start else sum)
    0 spans

let no_cpu recording lane =
  let ns (from, upto, share) = int_of_float (share *. float_of_int (upto - from)) in
  List.fold_left (fun sum it -> sum + ns it) 0 (queue_share recording lane)

let begun (lane : Spans.lane) (tasks : (int, Spans.task) Hashtbl.t) =
  let begins (span : Spans.what Spans.span) =
    match span.what with
    | Task number -> (
      match Hashtbl.find_opt tasks number with Some it -> it.began = span.start | None -> false)
    | _ -> false
  in
  Array.fold_left (fun n span -> if begins span then n + 1 else n) 0 lane.spans

let worker recording (spans : Spans.t) (lane : Spans.lane) =
  let of_spans is_it = total lane.spans is_it in
  let gc phase = total lane.gc (( = ) phase) in
  {
    lane;
    name = name_of lane;
    tasks = begun lane spans.tasks;
    ran = of_spans (function Spans.Task _ -> true | _ -> false);
    code = of_spans (function Spans.Code | Region -> true | _ -> false);
    looking = of_spans (( = ) Spans.Looking);
    parked = of_spans (( = ) Spans.Parked);
    away = of_spans (( = ) Spans.Away);
    unknown = of_spans (( = ) Spans.Unknown);
    minor = gc Recording.Minor;
    major = gc Recording.Major;
    stop = gc Recording.Stop;
    no_cpu = no_cpu recording lane;
  }

(* {2 Sites} *)

(* A place is told as it stands in a sentence: " at a.ml:1". *)
let name_site names site =
  let name = Option.value (Hashtbl.find_opt names site) ~default:"unknown site" in
  if not (String.starts_with ~prefix:" at " name) then name
  else String.sub name 4 (String.length name - 4)

let sites names tasks =
  let found = Hashtbl.create 64 in
  let note (task : Spans.task) =
    let none =
      { site = task.site; name = name_site names task.site; count = 0; total = 0; longest = 0 }
    in
    let it = Option.value (Hashtbl.find_opt found task.site) ~default:none in
    Hashtbl.replace found task.site
      {
        it with
        count = it.count + 1;
        total = it.total + task.ran;
        longest = Int.max it.longest task.ran;
      }
  in
  List.iter note tasks;
  Hashtbl.fold (fun _ it all -> it :: all) found []
  |> List.sort (fun a b -> compare (b.total, a.name) (a.total, b.name))

(* {2 The flame} *)

type node = {
  site_of : int;
  above : node option;
  children : (int, node) Hashtbl.t;
  mutable ns : int;
}

let node ?above site_of = { site_of; above; children = Hashtbl.create 4; ns = 0 }

let rec on_the_way site node =
  if node.site_of = site && node.above <> None then Some node
  else Option.bind node.above (on_the_way site)

let below parent site =
  match on_the_way site parent with
  | Some node -> node
  | None -> (
    match Hashtbl.find_opt parent.children site with
    | Some node -> node
    | None ->
      let it = node ~above:parent site in
      Hashtbl.add parent.children site it;
      it)

(* By a loop over the tasks that handed each other out: chains may be as long as there are tasks. *)
let place (tasks : (int, Spans.task) Hashtbl.t) places root task =
  let rec up (task : Spans.task) waiting =
    match Hashtbl.find_opt places task.number with
    | Some node -> (node, waiting)
    | None -> (
      (* Where numbers were wrong and went round in a circle, it would end here. *)
      Hashtbl.replace places task.number root;
      match Hashtbl.find_opt tasks task.parent with
      | Some parent -> up parent (task :: waiting)
      | None -> (root, task :: waiting))
  in
  let down parent (task : Spans.task) =
    let node = below parent task.site in
    Hashtbl.replace places task.number node;
    node
  in
  let node, waiting = up task [] in
  List.fold_left down node waiting

(* Parts that nobody could see are left out; they stay in the sums of those around them. *)
let rec shown names ~least node =
  let all = Hashtbl.fold (fun _ child sum -> sum + sum_of child) node.children node.ns in
  let children = Hashtbl.fold (fun _ child all -> child :: all) node.children [] in
  let below = List.filter_map (shown names ~least) children in
  let below = List.sort (fun a b -> compare (b.all, a.at) (a.all, b.at)) below in
  if all < least || all = 0 then None
  else Some { at = name_site names node.site_of; own = node.ns; all; below }

and sum_of node = Hashtbl.fold (fun _ child sum -> sum + sum_of child) node.children node.ns

let least_part = 500

let flame names (tasks : (int, Spans.task) Hashtbl.t) =
  let root = node 0 and places = Hashtbl.create (Hashtbl.length tasks) in
  let note _ (task : Spans.task) =
    let node = place tasks places root task in
    node.ns <- node.ns + task.ran
  in
  Hashtbl.iter note tasks;
  let least = Int.max 1 (sum_of root / least_part) in
  match shown names ~least root with None -> [] | Some it -> it.below

(* {2 All of it} *)

let of_spans (recording : Recording.t) (spans : Spans.t) =
  let names = Hashtbl.create 64 in
  List.iter (fun (id, name) -> Hashtbl.replace names id name) recording.names;
  let tasks = list_of spans.tasks in
  let some f = List.filter_map f tasks in
  let latency (it : Spans.task) =
    if it.forked >= 0 && it.began >= it.forked then Some (it.began - it.forked) else None
  in
  {
    workers = List.map (worker recording spans) spans.lanes;
    sites = sites names tasks;
    flame = flame names spans.tasks;
    grain =
      histogram (some (fun it -> if it.ended >= 0 && it.began >= 0 then Some it.ran else None));
    latency = histogram (some latency);
    waits = histogram spans.waited;
    queues = histogram spans.queued;
    loads = loads recording spans.lanes;
  }
