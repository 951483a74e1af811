type frame = { name : string; place : (string * int) option }
type access = { what : string; thread : string; frames : frame list }

type report = {
  kind : string;
  accesses : access list;
  created : (string * frame list) list;
}

(* {2 Lines}

   A report is some headings, each with the calls of a stack below it:

   {v
WARNING: ThreadSanitizer: data race (pid=7)
  Write of size 8 at 0x7f by thread T1 (mutexes: write M0):
    #0 camlMain.count_281 main.ml:5 (main.exe+0x131097)

  Thread T1 (tid=9, running) created by main thread at:
    #0 pthread_create tsan_interceptors.cpp:1078 (libtsan.so+0x58c86)

SUMMARY: ThreadSanitizer: data race main.ml:5 in camlMain.count_281
   v} *)

let matched regexp line = Str.string_match regexp line 0
let group n line = Str.matched_group n line
let beginning = Str.regexp "WARNING: ThreadSanitizer: \\(.*\\) (pid=[0-9]+)"
let ending = Str.regexp "SUMMARY: ThreadSanitizer: "
let ruler = Str.regexp "=+$"
let total = Str.regexp "ThreadSanitizer: reported [0-9]+ warnings"
let call = Str.regexp "    #[0-9]+ \\([^ ]+\\) \\(.*\\)$"
let binary = Str.regexp " ([^()]*0x[0-9a-f]+).*$"
let location = Str.regexp "\\([^:]+\\):\\([0-9]+\\)\\(:[0-9]+\\)?$"
let access = Str.regexp "  \\(Previous \\)?\\([A-Za-z ]+\\) of size [0-9]+ at [0-9a-fx]+ by \\([^('\n:]+\\)"
let creation = Str.regexp "  Thread \\(T[0-9]+\\) .*created by .* at:$"

let frame line =
  if not (matched call line) then None
  else
    let name = group 1 line and rest = group 2 line in
    let file = Str.replace_first binary "" rest in
    let place =
      if matched location file then Some (group 1 file, int_of_string (group 2 file)) else None
    in
    Some { name; place }

(* The frames below a heading, and the lines after them. *)
let rec frames_of = function
  | line :: rest -> (
    match frame line with
    | None -> ([], line :: rest)
    | Some frame ->
      let frames, rest = frames_of rest in
      (frame :: frames, rest))
  | [] -> ([], [])

let thread_of text =
  let text = String.trim text in
  if String.starts_with ~prefix:"thread " text then String.sub text 7 (String.length text - 7)
  else text

let rec sections report = function
  | [] -> report
  | line :: rest when matched access line ->
    let what = String.lowercase_ascii (group 2 line) and thread = thread_of (group 3 line) in
    let frames, rest = frames_of rest in
    sections { report with accesses = report.accesses @ [ { what; thread; frames } ] } rest
  | line :: rest when matched creation line ->
    let thread = group 1 line in
    let frames, rest = frames_of rest in
    sections { report with created = (thread, frames) :: report.created } rest
  | _ :: rest -> sections report rest

(* One that a killed program did not end counts, too, once it has its accesses. *)
let read channel ~report ~other =
  let tell kind lines =
    report (sections { kind; accesses = []; created = [] } (List.rev lines))
  in
  let rec outside () =
    match In_channel.input_line channel with
    | None -> ()
    | Some line when matched beginning line -> inside (group 1 line) []
    | Some line ->
      if line <> "" && not (matched ruler line || matched total line) then other line;
      outside ()
  and inside kind lines =
    match In_channel.input_line channel with
    | None -> tell kind lines
    | Some line when matched ending line || matched ruler line ->
      tell kind lines;
      outside ()
    | Some line -> inside kind (line :: lines)
  in
  outside ()

(* {2 Names of functions}

   [camlStdlib__Hashtbl.replace_1400] is [replace] in [Stdlib.Hashtbl]; [fun_514] has no name. Up to
   OCaml 5.0, and where an assembler has no such names, the dot is two underscores, or a dollar. *)

let mangled = Str.regexp "caml\\([A-Z][A-Za-z0-9_']*\\)[.$]\\(.*\\)$"
let mangled_with_underscores = Str.regexp "caml\\([A-Z].*\\)__\\([a-z].*\\)$"
let number = Str.regexp "_[0-9]+$"

let parts { name; _ } =
  if matched mangled name || matched mangled_with_underscores name then
    let unit = group 1 name and value = group 2 name in
    Some (unit, Str.replace_first number "" value)
  else None

let is_ocaml frame = parts frame <> None
let module_of frame = Option.fold (parts frame) ~none:"" ~some:fst

let shown_module name =
  let prefixes = Str.regexp "^\\(Stdlib__\\|Dune__exe__\\)" in
  Str.global_replace (Str.regexp "__") "." (Str.replace_first prefixes "" name)

let called frame =
  match parts frame with
  | None -> frame.name
  | Some (unit, ("fun" | "entry")) -> "a function of " ^ shown_module unit
  | Some (unit, value) -> Printf.sprintf "%s.%s" (shown_module unit) value
