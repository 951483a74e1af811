module S = Sanitizer

type place = string * int

(* [name] as the report has it; [path] to read it. *)
type file = { name : string; path : string }

type t = {
  roots : string list;
  files : (string, file option) Hashtbl.t;
  pairs : (place list, pair) Hashtbl.t;
  mutable others : (string * int) list;  (** reports of other kinds *)
}

and pair = { number : int; first : S.report; mutable times : int }

let find ~roots = { roots; files = Hashtbl.create 64; pairs = Hashtbl.create 16; others = [] }

(* {2 Whose code}

   The compiler has been told files by dune, relative to the workspace, below its build directory or
   a sandbox there, or as files of /workspace_root. *)

let after part text =
  match Str.search_forward (Str.regexp_string part) text 0 with
  | at -> Some (String.sub text (Str.match_end ()) (String.length text - at - String.length part))
  | exception Not_found -> None

let in_workspace path =
  let behind_build = Option.bind (after "/_build/" path) (after "/default/") in
  match (behind_build, after "/workspace_root/" path) with
  | Some it, _ | None, Some it -> it
  | None, None -> path

let below root path =
  let root = root ^ Filename.dir_sep in
  if String.starts_with ~prefix:root path then
    let n = String.length root in
    Some (String.sub path n (String.length path - n))
  else if Filename.is_relative path then Some path
  else None

(* Sources that came with an opam switch in the project, or lie in a checkout of Muster, are not the
   user's. *)
let rec is_ours root name =
  let folder = Filename.dirname name in
  let has name = Sys.file_exists (Filename.concat root (Filename.concat folder name)) in
  folder <> Filename.current_dir_name && (has "muster.mli" || is_ours root folder)

let look_for t path =
  let in_root root =
    match below root (in_workspace path) with
    | Some name when not (String.starts_with ~prefix:"_opam/" name || is_ours root name) ->
      let exists path = Sys.file_exists path && not (Sys.is_directory path) in
      let generated = Filename.concat root "_build/default" in
      List.map (fun folder -> Filename.concat folder name) [ root; generated ]
      |> List.find_opt exists
      |> Option.map (fun path -> { name; path })
    | Some _ | None -> None
  in
  List.find_map in_root t.roots

let file t path =
  match Hashtbl.find_opt t.files path with
  | Some file -> file
  | None ->
    let file = look_for t path in
    Hashtbl.add t.files path file;
    file

let user's_place t (frame : S.frame) =
  let in_file (path, line) = Option.map (fun { name; _ } -> (name, line)) (file t path) in
  Option.bind frame.place in_file

(* {2 Stacks}

   Muster has a task's stack begin with the calls that forked it, below a name of its own. *)

let fork = "muster_task_forked_by"
let is_fork (frame : S.frame) = frame.name = fork

let rec until holds = function
  | frame :: rest when not (holds frame) -> frame :: until holds rest
  | _ -> []

let rec from holds = function
  | frame :: rest when not (holds frame) -> from holds rest
  | frames -> frames

let own_calls (access : S.access) = until is_fork access.frames

let is_library frame =
  let is_in prefix = String.starts_with ~prefix (S.module_of frame) in
  List.exists is_in [ "Stdlib"; "CamlinternalLazy"; "CamlinternalOO"; "Muster" ]

(* Without sources: the code that called the libraries. *)
let place_of t frames =
  match List.find_map (user's_place t) frames with
  | Some place -> Some place
  | None ->
    let is_known frame = S.is_ocaml frame && frame.place <> None in
    let theirs frame = is_known frame && not (is_library frame) in
    let found = List.find_opt theirs frames in
    let found = if found = None then List.find_opt is_known frames else found in
    Option.bind found (fun (frame : S.frame) -> frame.place)

(* A function of the user's with a line of a library's, which was inlined there. *)
let inlined_in t frames =
  let above = until (fun frame -> user's_place t frame <> None) frames in
  List.find_opt (fun frame -> S.is_ocaml frame && not (is_library frame)) above

(* {2 What is the runtime's}

   An access is the collector's if one of its functions made it, rather than one that OCaml code
   calls to read and write values. A finaliser is code of OCaml's again. *)

let collector =
  let names =
    [
      "caml_major_collection_slice"; "major_collection_slice"; "caml_empty_minor_heap";
      "caml_minor_collection"; "caml_alloc_small_dispatch"; "caml_garbage_collection"; "caml_call_gc";
      "caml_gc_"; "caml_finish_major_cycle"; "caml_try_empty_minor_heap"; "stw_"; "caml_stw_";
      "caml_handle_incoming_interrupts"; "caml_handle_gc_interrupt"; "caml_poll_gc_work"; "mark_slice";
      "caml_compact_heap"; "ephe_sweep"; "ephe_mark"; "caml_ephe_clean"; "caml_finalise_heap";
      "caml_terminate_domain"; "domain_terminate"; "caml_alloc_shr_check_gc"; "caml_check_urgent_gc";
    ]
  in
  fun (frame : S.frame) -> List.exists (fun prefix -> String.starts_with ~prefix frame.name) names

let is_runtime's t (access : S.access) =
  let calls = own_calls access in
  let of_program frame = S.is_ocaml frame || user's_place t frame <> None in
  calls <> []
  && (List.exists collector (until of_program calls) || not (List.exists of_program calls))

(* {2 Joining} *)

let unknown = ("?", 0)
let place t access = Option.value (place_of t (own_calls access)) ~default:unknown

let add_race t (report : S.report) =
  if not (List.exists (is_runtime's t) report.accesses) then
    let key = List.sort compare (List.map (place t) report.accesses) in
    match Hashtbl.find_opt t.pairs key with
    | Some pair -> pair.times <- pair.times + 1
    | None ->
      let number = Hashtbl.length t.pairs + 1 in
      Hashtbl.add t.pairs key { number; first = report; times = 1 }

let add_other t kind =
  let before = Option.value (List.assoc_opt kind t.others) ~default:0 in
  t.others <- (kind, before + 1) :: List.remove_assoc kind t.others

let add t (report : S.report) =
  if String.starts_with ~prefix:"data race" report.kind then add_race t report
  else add_other t report.kind

let count t = Hashtbl.length t.pairs
let found_any t = count t > 0 || t.others <> []

(* {2 Text} *)

let at (name, line) = if line = 0 then "a place that is not known" else Printf.sprintf "%s:%d" name line
let around = 2

let excerpt t (name, line) =
  let show number text =
    Printf.sprintf "    %s %4d | %s\n" (if number = line then ">" else " ") number text
  in
  let shown number text = if abs (number - line) <= around then show number text else "" in
  match file t name with
  | None -> ""
  | Some { path; _ } -> (
    match In_channel.with_open_text path In_channel.input_all with
    | exception Sys_error _ -> ""
    | text ->
      let lines = String.split_on_char '\n' text in
      String.concat "" (List.mapi (fun i line -> shown (i + 1) line) lines))

(* The library's function that the user's code called. *)
let entry t calls =
  let above = until (fun frame -> user's_place t frame <> None) calls in
  List.find_opt S.is_ocaml (List.rev above)

let callers t calls =
  let rec distinct = function
    | one :: other :: rest when one = other -> distinct (other :: rest)
    | one :: rest -> one :: distinct rest
    | [] -> []
  in
  match distinct (List.filter_map (user's_place t) calls) with
  | [] | [ _ ] -> ""
  | _ :: callers ->
    let shown = List.filteri (fun i _ -> i < 4) callers in
    Printf.sprintf "  called at %s\n" (String.concat ", " (List.map at shown))

let creation t (report : S.report) thread =
  let calls = Option.value (List.assoc_opt thread report.created) ~default:[] in
  if List.exists (fun frame -> String.starts_with ~prefix:"Muster" (S.module_of frame)) calls then
    "on a worker, in no task that was forked"
  else
    match place_of t calls with
    | Some place -> "in a domain or thread that was started at " ^ at place
    | None -> "in thread " ^ thread

let task t report (access : S.access) =
  match from is_fork access.frames with
  | _ :: forkers -> (
    match (inlined_in t forkers, place_of t forkers) with
    | Some it, Some place ->
      Printf.sprintf "in a task forked in %s, called at %s" (S.called it) (at place)
    | None, Some place -> "in a task forked at " ^ at place
    | _, None -> "in a task")
  | [] -> if access.thread = "main thread" then "in the main thread" else creation t report access.thread

(* As in "read by Hashtbl.find in Main.look, at main.ml:7". *)
let by t calls =
  let name = Option.fold ~none:"" ~some:S.called in
  match (inlined_in t calls, entry t calls) with
  | Some it, _ -> Printf.sprintf " in %s, called at" (S.called it)
  | None, entry ->
    let user's frame = user's_place t frame <> None in
    let by = if entry = None then "" else " by " ^ name entry in
    let within = match List.find_opt user's calls with None -> "" | it -> " in " ^ name it in
    Printf.sprintf "%s%s, at" by within

let access_text t report (access : S.access) =
  let calls = own_calls access and place = place t access in
  let lost = if calls = [] then "  ThreadSanitizer has lost its calls.\n" else "" in
  Printf.sprintf "  %s%s %s\n%s%s%s  %s\n" access.what (by t calls) (at place) lost (excerpt t place)
    (callers t calls) (task t report access)

let advice t (report : S.report) =
  let above access = until (fun frame -> user's_place t frame <> None) (own_calls access) in
  let modules = List.map S.module_of (List.concat_map above report.accesses) in
  let is_in name = List.mem name modules in
  if is_in "Stdlib__Hashtbl" then
    "A Hashtbl is for one task at a time: take a Muster.Table, or a Muster.Mutex around each use."
  else if is_in "Stdlib__Parsing" then
    "Parsers of ocamlyacc keep their state in Stdlib.Parsing, one for the whole program: take one \
     Muster.Mutex around all parsing, or a parser of Menhir's."
  else if is_in "CamlinternalLazy" then
    "Only one task may force a lazy value: take a Muster.Lazy, or force it before the fork."
  else
    match List.find_opt (String.starts_with ~prefix:"Stdlib__") modules with
    | Some name ->
      Printf.sprintf "A value of %s is for one task at a time: give each its own, or take a Muster.Mutex."
        (S.shown_module name)
    | None -> "Nothing orders the two: take an Atomic, a Muster.Mutex, or a value for each task."

let times n = if n = 1 then "once" else Printf.sprintf "%d times" n

let pair_text t { number; first; times = n } =
  let places = List.sort_uniq compare (List.map (place t) first.accesses) in
  Printf.sprintf "Race %d, at %s, reported %s\n\n%s\n  %s\n\n" number
    (String.concat " and " (List.map at places))
    (times n)
    (String.concat "\n" (List.map (access_text t first) first.accesses))
    (advice t first)

let total n = if n = 1 then "1 race.\n" else Printf.sprintf "%d races.\n" n

let to_string t =
  let pairs = Hashtbl.fold (fun _ pair pairs -> pair :: pairs) t.pairs [] in
  let pairs = List.sort (fun one other -> compare one.number other.number) pairs in
  let other (kind, n) = Printf.sprintf "ThreadSanitizer also reported a %s, %s.\n" kind (times n) in
  let total = if pairs = [] then "" else total (List.length pairs) in
  String.concat "" (List.map (pair_text t) pairs @ List.rev_map other t.others @ [ total ])
