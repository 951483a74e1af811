module Trace = Muster_trace.Trace

type phase = Minor | Major | Stop
type event = Muster of Trace.event | Gc of phase | Gc_end of phase | Lost of int
type timeline = { ring : int; events : (int * event) array }
type thread = { thread : int; cpu : int; queue : int }
type sample = { at : int; threads : thread list; throttled : int option }
type outcome = Exited of int | Signalled of int | Ended | Still_running

type t = {
  program : string list;
  outcome : outcome;
  ocaml_rings : bool;
  duration : int;
  cpus : float;
  names : (int * string) list;
  timelines : timeline list;
  samples : sample list;
  lost : int;
  left_out : int;
  measures : (string * float) list;
  causes : (string * float) list;
  verdict : string list;
}

let kept = 1_000_000
let lost_events = function 0 -> "0" | n -> Printf.sprintf "%d to %d" (n / 6) ((n + 1) / 2)
let name t id = Option.value (List.assoc_opt id t.names) ~default:"?"

(* {2 Writing} *)

type json = Yojson.Basic.t

let ints l : json = `List (List.map (fun n -> `Int n) l)
let phases = [ (Minor, "minor"); (Major, "major"); (Stop, "stop") ]

let parts = function
  | Muster event -> Trace.to_ints event
  | Gc phase -> (List.assoc phase phases, [])
  | Gc_end phase -> (List.assoc phase phases ^ "-end", [])
  | Lost n -> ("lost", [ n ])

let of_event (at, event) : json =
  let word, fields = parts event in
  `List (`Int at :: `String word :: List.map (fun n -> `Int n) fields)

let of_outcome : outcome -> json = function
  | Exited n -> `Assoc [ ("exited", `Int n) ]
  | Signalled n -> `Assoc [ ("signalled", `Int n) ]
  | Ended -> `String "ended"
  | Still_running -> `Null

let of_sample { at; threads; throttled } : json =
  let of_thread { thread; cpu; queue } = ints [ thread; cpu; queue ] in
  `Assoc
    [
      ("at", `Int at);
      ("threads", `List (List.map of_thread threads));
      ("throttled", match throttled with None -> `Null | Some n -> `Int n);
    ]

let strings l : json = `List (List.map (fun s -> `String s) l)

let fields t : (string * json) list =
  [
    ("program", strings t.program);
    ("outcome", of_outcome t.outcome);
    ("ocaml_rings", `Bool t.ocaml_rings);
    ("duration", `Int t.duration);
    ("cpus", `Float t.cpus);
    ("names", `List (List.map (fun (id, text) -> `List [ `Int id; `String text ]) t.names));
    ("samples", `List (List.map of_sample t.samples));
    ("lost", `Int t.lost);
    ("left_out", `Int t.left_out);
    ("measures", `Assoc (List.map (fun (name, x) -> (name, `Float x)) t.measures));
    ("causes", `List (List.map (fun (name, s) -> `List [ `String name; `Float s ]) t.causes));
    ("verdict", strings t.verdict);
  ]

(* An event at a time: all of them as one value would take five times their room. *)
let to_channel oc t =
  let separated write items =
    let between i = if i > 0 then output_string oc ",\n" in
    Seq.iteri (fun i it -> between i; write it) items
  in
  let put (json : json) = Yojson.Basic.to_channel oc json in
  let timeline { ring; events } =
    Printf.fprintf oc {|{"ring":%d,"events":[|} ring;
    separated (fun event -> put (of_event event)) (Array.to_seq events);
    output_string oc "]}"
  in
  let field (name, json) = Printf.fprintf oc "%S:" name; put (Json.in_utf_8 json); output_string oc ",\n" in
  output_string oc "{";
  List.iter field (fields t);
  output_string oc {|"timelines":[|};
  separated timeline (List.to_seq t.timelines);
  output_string oc "]}\n"

(* {2 Reading} *)

open Yojson.Basic.Util

let to_event json =
  let of_word word fields =
    let is_end = String.ends_with ~suffix:"-end" word in
    let stem = if is_end then String.sub word 0 (String.length word - 4) else word in
    match (List.find_opt (fun (_, it) -> it = stem) phases, fields) with
    | Some (phase, _), _ -> if is_end then Gc_end phase else Gc phase
    | None, [ n ] when word = "lost" -> Lost n
    | None, fields -> Muster (Trace.of_ints word fields)
  in
  match to_list json with
  | `Int at :: `String word :: fields -> (at, of_word word (List.map to_int fields))
  | _ -> invalid_arg "Recording.of_channel: an event without time or word"

let to_outcome : json -> outcome = function
  | `Assoc [ ("exited", `Int n) ] -> Exited n
  | `Assoc [ ("signalled", `Int n) ] -> Signalled n
  | `String _ -> Ended
  | _ -> Still_running

let to_sample json =
  let to_thread json =
    match List.map to_int (to_list json) with
    | [ thread; cpu; queue ] -> { thread; cpu; queue }
    | _ -> invalid_arg "Recording.of_channel: a thread without its three numbers"
  in
  {
    at = to_int (member "at" json);
    threads = List.map to_thread (to_list (member "threads" json));
    throttled = to_int_option (member "throttled" json);
  }

let to_timeline json =
  let events = Array.of_list (List.map to_event (to_list (member "events" json))) in
  { ring = to_int (member "ring" json); events }

let to_name json =
  match to_list json with
  | [ `Int id; `String text ] -> (id, text)
  | _ -> invalid_arg "Recording.of_channel: a name without number or text"

let to_cause json =
  match to_list json with
  | [ `String name; seconds ] -> (name, to_number seconds)
  | _ -> invalid_arg "Recording.of_channel: a cause without name or seconds"

let of_channel ic =
  let json = Yojson.Basic.from_channel ic in
  let list field convert = List.map convert (to_list (member field json)) in
  let number field = to_int (member field json) in
  {
    program = list "program" to_string;
    outcome = to_outcome (member "outcome" json);
    ocaml_rings = to_bool (member "ocaml_rings" json);
    duration = number "duration";
    cpus = to_number (member "cpus" json);
    names = list "names" to_name;
    timelines = list "timelines" to_timeline;
    samples = list "samples" to_sample;
    lost = number "lost";
    left_out = number "left_out";
    measures = List.map (fun (name, x) -> (name, to_number x)) (to_assoc (member "measures" json));
    causes = list "causes" to_cause;
    verdict = list "verdict" to_string;
  }
