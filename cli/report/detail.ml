type json = Yojson.Basic.t

let most_spans = 150_000
let most_bytes = 6_000_000
let ints l : json = `List (List.map (fun n -> `Int n) l)

(* Three digits do, and a whole number takes no more than one. *)
let floats l : json =
  let short x = Float.round (1000. *. x) /. 1000. in
  `List
    (List.map (fun x -> if Float.is_integer x then `Int (int_of_float x) else `Float (short x)) l)

(* {2 Which spans are told one by one} *)

let length (span : _ Spans.span) = span.stop - span.start

(* The longest: all above the limit, and so many of those that are as long as it. *)
type choice = { limit : int; mutable left : int }

let all_lengths (lanes : Spans.lane list) =
  let of_lane (lane : Spans.lane) =
    Array.append (Array.map length lane.spans) (Array.map length lane.gc)
  in
  Array.concat (List.map of_lane lanes)

let choose lanes ~most =
  let lengths = all_lengths lanes in
  Array.sort (fun a b -> Int.compare b a) lengths;
  if Array.length lengths <= most then { limit = 0; left = 0 }
  else
    let limit = lengths.(most) in
    let above = Array.fold_left (fun n it -> if it > limit then n + 1 else n) 0 lengths in
    { limit; left = most - above }

let is_told choice span =
  let n = length span in
  n > choice.limit
  || n = choice.limit && choice.left > 0
     && begin
       choice.left <- choice.left - 1;
       true
     end

(* {2 The others, by stretches} *)

type sum = { mutable count : int; mutable ns : int; parts : (int, int) Hashtbl.t }

let most_stretches = 20_000

(* A span is summed where it begins; the sum is of the time from the first to the end of the last. *)
let sums ~stretch ~code spans =
  let found = Hashtbl.create 64 in
  let note span =
    let at = span.Spans.start / stretch in
    let sum, stop =
      match Hashtbl.find_opt found at with
      | Some it -> it
      | None -> ({ count = 0; ns = 0; parts = Hashtbl.create 4 }, 0)
    in
    let n = length span and code = code span.what in
    sum.count <- sum.count + 1;
    sum.ns <- sum.ns + n;
    Hashtbl.replace sum.parts code (n + Option.value (Hashtbl.find_opt sum.parts code) ~default:0);
    Hashtbl.replace found at (sum, Int.max stop span.stop)
  in
  List.iter note spans;
  Hashtbl.fold (fun at (sum, stop) all -> (at * stretch, stop, sum) :: all) found []
  |> List.sort compare

let most_of parts =
  let more code n (best, most) = if n > most then (code, n) else (best, most) in
  fst (Hashtbl.fold more parts (0, -1))

let of_sums sums : json =
  let column f = ints (List.map f sums) in
  `Assoc
    [
      ("from", column (fun (from, _, _) -> from));
      ("upto", column (fun (_, upto, _) -> upto));
      ("count", column (fun (_, _, sum) -> sum.count));
      ("ns", column (fun (_, _, sum) -> sum.ns));
      ("what", column (fun (_, _, sum) -> most_of sum.parts));
    ]

(* {2 Spans and tasks} *)

let phase : Recording.phase -> int = function Minor -> 0 | Major -> 1 | Stop -> 2
let first_task = 6

let state : Spans.what -> int = function
  | Code -> 0
  | Region -> 1
  | Looking -> 2
  | Parked -> 3
  | Away -> 4
  | Unknown -> 5
  | Task _ -> invalid_arg "Detail.state"

let of_told ~code told : json =
  let gaps, _ =
    List.fold_left
      (fun (gaps, last) (it : _ Spans.span) -> ((it.start - last) :: gaps, it.stop))
      ([], 0) told
  in
  `Assoc
    [
      ("gap", ints (List.rev gaps));
      ("length", ints (List.map length told));
      ("what", ints (List.map (fun (it : _ Spans.span) -> code it.what) told));
    ]

type tables = {
  spans : Spans.t;
  site_index : (int, int) Hashtbl.t;
  task_index : (int, int) Hashtbl.t;
  told_ns : (int, int) Hashtbl.t;  (** by a task's number, its spans that are told *)
  mutable numbers : int list;  (** of the tasks that have an index, backwards *)
}

let site_of tables number =
  match Hashtbl.find_opt tables.spans.tasks number with
  | None -> -1
  | Some task -> Option.value (Hashtbl.find_opt tables.site_index task.site) ~default:(-1)

let note_task tables (span : Spans.what Spans.span) =
  match span.what with
  | Task number ->
    if not (Hashtbl.mem tables.task_index number) then begin
      Hashtbl.add tables.task_index number (Hashtbl.length tables.task_index);
      tables.numbers <- number :: tables.numbers
    end;
    let before = Option.value (Hashtbl.find_opt tables.told_ns number) ~default:0 in
    Hashtbl.replace tables.told_ns number (before + length span)
  | _ -> ()

let of_tasks tables : json =
  let numbers = List.rev tables.numbers in
  let tasks = List.map (Hashtbl.find tables.spans.tasks) numbers in
  let column f = ints (List.map f tasks) in
  let differences, _ =
    List.fold_left (fun (all, last) n -> ((n - last) :: all, n)) ([], 0) numbers
  in
  let lasted (it : Spans.task) =
    if it.ended >= 0 && it.began >= 0 then it.ended - it.began else it.ran
  in
  let latency (it : Spans.task) =
    if it.forked >= 0 && it.began >= it.forked then it.began - it.forked else -1
  in
  `Assoc
    [
      ("number", ints (List.rev differences));
      ("parent", column (fun it -> it.number - it.parent));
      ("site", column (fun it -> site_of tables it.number));
      ("of", column (fun it -> site_of tables it.parent));
      ("waited", column (fun it -> Int.max 0 (lasted it - it.ran)));
      ("more", column (fun it -> it.ran - Hashtbl.find tables.told_ns it.number));
      ("latency", column latency);
      ("victim", column (fun it -> it.thief_of));
    ]

(* {2 The whole} *)

let lane recording tables choice ~stretch (worker : Summary.worker) =
  let told, others = List.partition (is_told choice) (Array.to_list worker.lane.spans) in
  let gc, other_gc = List.partition (is_told choice) (Array.to_list worker.lane.gc) in
  List.iter (note_task tables) told;
  let code : Spans.what -> int = function
    | Task number -> first_task + Hashtbl.find tables.task_index number
    | it -> state it
  in
  let kind : Spans.what -> int = function
    | Task number -> first_task + Int.max 0 (site_of tables number)
    | it -> state it
  in
  let queue = Summary.queue_share recording worker.lane in
  (`Assoc
     [
       ("name", `String worker.name);
       ("spans", of_told ~code told);
       ("gc", of_told ~code:phase gc);
       ("sums", of_sums (sums ~stretch ~code:kind others));
       ("gcsums", of_sums (sums ~stretch ~code:phase other_gc));
       ("queue", floats (List.map (fun (_, _, share) -> share) queue));
     ]
    : json)

let of_loads (loads : Summary.load list) : json =
  `Assoc
    [
      ("from", ints (List.map (fun (it : Summary.load) -> it.from) loads));
      ("upto", ints (List.map (fun (it : Summary.load) -> it.upto) loads));
      ("cpus", floats (List.map (fun (it : Summary.load) -> it.cpus) loads));
      ("waiting", floats (List.map (fun (it : Summary.load) -> it.waiting) loads));
      ("busy", floats (List.map (fun (it : Summary.load) -> it.busy) loads));
    ]

let most_sites = 1_000

let json (recording : Recording.t) spans (summary : Summary.t) ~most : int * json =
  let site_index = Hashtbl.create 64 in
  let sites = List.filteri (fun i _ -> i < most_sites) summary.sites in
  List.iteri (fun i (it : Summary.site) -> Hashtbl.add site_index it.site i) sites;
  let table () = Hashtbl.create 1024 in
  let tables = { spans; site_index; task_index = table (); told_ns = table (); numbers = [] } in
  let choice = choose spans.lanes ~most in
  let lanes = Int.max 1 (List.length spans.lanes) in
  let stretch = 1 + (recording.duration * lanes / Int.min most_stretches (Int.max 1 most)) in
  let shortest = if choice.limit = 0 then 0 else choice.limit + 1 in
  let lanes = List.map (lane recording tables choice ~stretch) summary.workers in
  let fields =
    [
      ("duration", `Int recording.duration);
      ("shortest", `Int shortest);
      ("sites", `List (List.map (fun (it : Summary.site) -> `String it.name) sites));
      ("tasks", of_tasks tables);
      ("lanes", `List lanes);
      ("load", of_loads summary.loads);
    ]
  in
  (shortest, `Assoc fields)

let escaped text = String.concat "\\u003c" (String.split_on_char '<' text)

let to_string ?(most = most_spans) recording spans summary =
  let rec within most =
    let shortest, json = json recording spans summary ~most in
    let text = escaped (Yojson.Basic.to_string (Json.in_utf_8 json)) in
    if String.length text <= most_bytes || most < 100 then (shortest, text) else within (most / 2)
  in
  within most
