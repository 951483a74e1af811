type json = Yojson.Basic.t

(* One process; a domain's tasks are the thread 2 n + 1, its collections 2 n + 2: spans of a thread
   would have to nest. *)
let of_tasks (lane : Spans.lane) = (2 * lane.ring) + 1
let of_gc (lane : Spans.lane) = (2 * lane.ring) + 2
let us ns : json = `Float (float_of_int ns /. 1e3)

let event ?(args = []) phase name thread at more : json =
  let args = if args = [] then [] else [ ("args", `Assoc args) ] in
  `Assoc
    ([
       ("ph", `String phase);
       ("name", `String name);
       ("pid", `Int 1);
       ("tid", `Int thread);
       ("ts", us at);
     ]
    @ more @ args)

let named thread order name =
  [
    event "M" "thread_name" thread 0 [] ~args:[ ("name", `String name) ];
    event "M" "thread_sort_index" thread 0 [] ~args:[ ("sort_index", `Int order) ];
  ]

let state : Spans.what -> string option = function
  | Code -> Some "code that is no traced task"
  | Region -> Some "Team"
  | Looking -> Some "looks for work"
  | Parked -> Some "parked"
  | Unknown -> Some "unknown: no event tells"
  | Away -> Some "in no pool" (* an arrow may begin there *)
  | Task _ -> None

let duration (span : _ Spans.span) = [ ("dur", us (span.stop - span.start)) ]

(* The arrow from a fork to the task's beginning. *)
let arrow lane (task : Spans.task) at =
  let flow = [ ("cat", `String "fork"); ("id", `Int task.number) ] in
  [ event "f" "fork" (of_tasks lane) at (flow @ [ ("bp", `String "e") ]) ]

let of_task name lane span (task : Spans.task) =
  let known key n = if n < 0 then [] else [ (key, `Int n) ] in
  let args =
    [ ("task", `Int task.number); ("parent", `Int task.parent) ]
    @ known "stolen from worker" task.thief_of
    @
    if task.forked >= 0 && task.began >= 0 then [ ("latency (us)", us (task.began - task.forked)) ]
    else []
  in
  let whole = event "X" (name task.site) (of_tasks lane) span.Spans.start (duration span) ~args in
  if task.forked >= 0 && task.began = span.start then whole :: arrow lane task span.start
  else [ whole ]

let of_span name (tasks : (int, Spans.task) Hashtbl.t) lane (span : Spans.what Spans.span) =
  match (span.what, state span.what) with
  | Task number, _ -> of_task name lane span (Hashtbl.find tasks number)
  | _, Some label -> [ event "X" label (of_tasks lane) span.start (duration span) ]
  | _, None -> []

let phase : Recording.phase -> string = function
  | Minor -> "minor collection"
  | Major -> "major collection"
  | Stop -> "waits until all have stopped"

let of_gc_span lane (span : Recording.phase Spans.span) =
  event "X" (phase span.what) (of_gc lane) span.start (duration span)

(* Where a task was handed out: in the lane whose events say so. *)
let forks (timeline : Recording.timeline) =
  let of_event (at, (event_ : Recording.event)) =
    match event_ with
    | Muster (Fork { task; _ }) ->
      let flow = [ ("cat", `String "fork"); ("id", `Int task) ] in
      Some (event "s" "fork" ((2 * timeline.ring) + 1) at flow)
    | _ -> None
  in
  Seq.filter_map of_event (Array.to_seq timeline.events)

let counters (loads : Summary.load list) =
  let of_load (it : Summary.load) =
    let args = [ ("used", `Float it.cpus); ("waited for", `Float it.waiting) ] in
    event "C" "CPUs" 0 it.from [] ~args
  in
  List.to_seq (List.map of_load loads)

let of_lane name (spans : Spans.t) (worker : Summary.worker) =
  let lane = worker.lane in
  let names =
    named (of_tasks lane) (of_tasks lane) worker.name
    @ if lane.gc = [||] then [] else named (of_gc lane) (of_gc lane) (worker.name ^ ", collector")
  in
  let of_span span = List.to_seq (of_span name spans.tasks lane span) in
  Seq.append (List.to_seq names)
    (Seq.append
       (Seq.flat_map of_span (Array.to_seq lane.spans))
       (Seq.map (of_gc_span lane) (Array.to_seq lane.gc)))

let to_channel oc (recording : Recording.t) spans (summary : Summary.t) =
  let sites = Hashtbl.create 64 in
  List.iter (fun (it : Summary.site) -> Hashtbl.replace sites it.site it.name) summary.sites;
  let name site = Option.value (Hashtbl.find_opt sites site) ~default:"unknown site" in
  let program = String.concat " " recording.program in
  let process = event "M" "process_name" 0 0 [] ~args:[ ("name", `String program) ] in
  let events =
    Seq.cons process
      (Seq.append
         (Seq.append (counters summary.loads)
            (Seq.flat_map (of_lane name spans) (List.to_seq summary.workers)))
         (* After the spans that they begin in, where both have the same time. *)
         (Seq.flat_map forks (List.to_seq recording.timelines)))
  in
  let write i json =
    if i > 0 then output_string oc ",\n";
    Yojson.Basic.to_channel oc (Json.in_utf_8 json)
  in
  output_string oc "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  Seq.iteri write events;
  output_string oc "\n]}\n"
