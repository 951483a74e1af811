(* The size of the library and the shape of its words: neither may grow unseen. *)

open Rounds

let src = List.filter (Sources.below "src") Sources.all
let ml = List.filter (Sources.is [ ".ml" ]) src
let mli = List.filter (Sources.is [ ".mli" ]) src
let c = List.filter (Sources.is [ ".c"; ".h" ]) src
let code = ml @ mli @ c
let documents = List.filter (Sources.is [ ".md" ]) Sources.all

(* {2 Size} *)

let lines_of files () = (Sources.count_lines files, [])
let core = List.filter (Sources.below "src/core") code

(* C that includes the runtime's insides, which change from compiler to compiler. *)
let runtime_insides =
  let defines (file : Sources.t) =
    List.exists (String.starts_with ~prefix:"#define CAML_INTERNALS") (Sources.lines file)
  in
  List.filter defines c

(* The records of which a worker, and a pool, are made: each is counted once. *)
let worker_records =
  [
    ("src/core/sched/slot.mli", [ "t"; "own" ]);
    ("src/core/sched/cpu_wait.ml", [ "t" ]);
    ("src/core/sched/counts.ml", [ "t" ]);
  ]

let pool_records = [ ("src/core/sched/slot.mli", [ "pool"; "settings" ]) ]

let fields_of records () =
  let in_file (path, names) = List.map (Shape.fields (Sources.find path)) names in
  (List.fold_left ( + ) 0 (List.concat_map in_file records), [])

(* An atomic of a place or a pool is written by one module, and so is a field of the owner's part. *)
let written_by_several =
  let field = Str.regexp "^  \\(mutable \\([a-z_]+\\) : \\|\\([a-z_]+\\) : [^;]*Atomic\\.t;\\)" in
  let writes name =
    let write = "Atomic\\.\\(set\\|exchange\\|compare_and_set\\|fetch_and_add\\)\\|change" in
    Str.regexp
      (Printf.sprintf "\\(%s\\) \\([a-z_]+\\.\\)*%s\\b\\|\\(own\\|fiber\\)\\.%s <-" write name name)
  in
  let contains regexp (file : Sources.t) =
    match Str.search_forward regexp file.text 0 with _ -> true | exception Not_found -> false
  in
  let is_near file = Sources.below "src/core/sched" file || Sources.below "src/core/pool" file in
  let violation line =
    if not (Str.string_match field line 0) then None
    else
      let name = try Str.matched_group 2 line with Not_found -> Str.matched_group 3 line in
      match List.filter (contains (writes name)) (List.filter is_near ml) with
      | [] | [ _ ] -> None
      | files -> Some (String.concat ", " (name :: List.map Sources.module_name files))
  in
  List.filter_map violation (Sources.lines (Sources.find "src/core/sched/slot.mli"))

let words_of path () = (Sources.words (Sources.find path), [])
let lines_in path () = (Sources.count_lines [ Sources.find path ], [])

(* {2 Shape} *)

let all_of places () = (List.length places, places)

(* A file that has variants, as compat.ml has, has the interface of its name's first part. A file of
   aliases (muster_core.ml) or of types (figure.ml) needs none: it would be the same text. *)
let without_interface =
  let first_name path = List.hd (String.split_on_char '.' (Filename.basename path)) in
  let has_interface (file : Sources.t) =
    let folder = Filename.dirname file.path in
    let interface = Printf.sprintf "%s/%s.mli" folder (first_name file.path) in
    List.exists (fun (it : Sources.t) -> it.path = interface) mli
  in
  List.filter (fun file -> not (has_interface file || Shape.has_no_code file)) ml
  |> List.map (fun (file : Sources.t) -> file.path)

(* A library's own name (Muster_core) holds modules alone, so that to open it brings no values. *)
let opens =
  let names = List.map Sources.module_name ml in
  let in_file (file : Sources.t) =
    Shape.opened file
    |> List.filter (fun name -> List.mem name names)
    |> List.map (fun name -> Printf.sprintf "%s opens %s" file.path name)
  in
  List.concat_map in_file (ml @ mli)

let functions = List.concat_map Shape.functions ml

let long_functions =
  List.filter_map
    (fun { Shape.where; lines; _ } ->
      if lines > 25 then Some (Printf.sprintf "%s has %d lines" where lines) else None)
    functions

let wide_functions =
  List.filter_map
    (fun { Shape.where; parameters; _ } ->
      if parameters > 6 then Some (Printf.sprintf "%s has %d parameters" where parameters) else None)
    functions

let long_lines =
  let in_file (file : Sources.t) =
    let is_row line = Sources.is [ ".md" ] file && String.starts_with ~prefix:"|" line in
    let is_long line = Sources.columns line > 100 && not (is_row (String.trim line)) in
    List.mapi (fun i line -> (i + 1, line)) (Sources.lines file)
    |> List.filter (fun (_, line) -> is_long line)
    |> List.map (fun (number, _) -> Printf.sprintf "%s:%d" file.path number)
  in
  List.concat_map in_file (code @ documents)

(* {2 The order of modules}

   ARCHITECTURE.md draws it in the one block of code whose lines read "library: module module …". A
   module may name those that come after it, to the right or below, and no other. Between libraries
   dune refuses what points up; here it is the same for modules of one library. *)

let drawn =
  let row = Str.regexp "^\\([a-z_]+\\): +\\([a-z_ ]+\\)$" in
  let in_line line =
    if not (Str.string_match row line 0) then []
    else
      let library = Str.matched_group 1 line and modules = Str.matched_group 2 line in
      List.map (fun it -> (library, it)) (Str.split (Str.regexp " +") modules)
  in
  List.concat_map in_line (Sources.lines (Sources.find "ARCHITECTURE.md"))

let library_of (file : Sources.t) = Filename.basename (Filename.dirname file.path)

let position file =
  let name = String.uncapitalize_ascii (Sources.module_name file) in
  let rec at n = function
    | [] -> None
    | (library, it) :: rest ->
      if library = library_of file && it = name then Some n else at (n + 1) rest
  in
  at 0 drawn

let sources_of library name =
  List.filter (fun it -> library_of it = library && Sources.module_name it = name) (ml @ mli)

(* Modules of one library name each other by name alone. *)
let against_drawing =
  let upward file from name =
    match sources_of (library_of file) name with
    | target :: _ when target.Sources.path <> file.Sources.path -> (
      match position target with
      | Some at when at < from -> Some (Printf.sprintf "%s names %s, above it" file.path name)
      | _ -> None)
    | _ -> None
  in
  let in_file (file : Sources.t) =
    match position file with
    | None -> if Sources.is [ ".ml" ] file then [ file.path ^ " is not drawn" ] else []
    | Some from -> List.filter_map (upward file from) (Shape.named file)
  in
  List.concat_map in_file (ml @ mli)

(* {2 Words} *)

(* What users read: the interfaces that muster.mli names, and three more. *)
let interfaces =
  let sync = [ "chan"; "mutex"; "condition"; "semaphore"; "barrier"; "latch"; "rwlock"; "lazy"; "table" ] in
  let arrays = [ "array"; "floatarray"; "bigarray"; "bigvector"; "bytes"; "string" ] in
  let collections = arrays @ [ "list"; "seq" ] in
  let at folder name = Printf.sprintf "src/%s/%s.mli" folder name in
  List.map Sources.find
    (List.map (at "sync") sync
    @ List.map (at "collections") collections
    @ [ "src/muster.mli"; "src/domainslib/domainslib.mli"; "src/kernel/muster.h" ])

let prose (file : Sources.t) =
  if Sources.is [ ".md" ] file then [ Prose.of_markdown file.text ]
  else if Sources.is [ ".h" ] file then List.map Prose.of_header (Sources.comments file)
  else List.map Prose.of_comment (Sources.comments file)

let in_prose find files =
  let in_file (file : Sources.t) =
    List.concat_map find (prose file) |> List.map (fun it -> Printf.sprintf "%s: %s" file.path it)
  in
  List.concat_map in_file files

let headless = in_prose Prose.headless (code @ documents)
let long_sentences = in_prose (Prose.long_sentences ~words:25) interfaces

let in_values find =
  let in_file (file : Sources.t) =
    List.concat_map find (Prose.values file.text)
    |> List.map (fun it -> Printf.sprintf "%s: %s" file.path it)
  in
  List.concat_map in_file interfaces

let long_values =
  let too_long { Prose.value; free; _ } =
    let words = List.length (Str.split (Str.regexp "[ \n]+") (Prose.of_comment free)) in
    if words > 80 then [ Printf.sprintf "%s: %d words" value words ] else []
  in
  in_values too_long

let long_fields =
  let too_long { Prose.value; fields; _ } =
    List.filter (fun (_, lines) -> lines > 2) fields
    |> List.map (fun (label, lines) -> Printf.sprintf "%s: %s has %d lines" value label lines)
  in
  in_values too_long

(* An interface links to a page's section by its label, and names its title. *)
let lost_links =
  let titles =
    Sources.lines (Sources.find "doc/limits.md")
    |> List.filter (String.starts_with ~prefix:"## ")
    |> List.map (fun line -> String.sub line 3 (String.length line - 3))
  in
  let label title = Str.(global_replace (regexp "[ -]") "_" (String.lowercase_ascii title)) in
  let link title = Printf.sprintf "page-limits.section-%s}" (label title) in
  let one_line text = String.concat " " (Str.split (Str.regexp "[ \n]+") text) in
  let named = Str.regexp "\\([^ {]*\\)\\(doc/limits\\.md\\]?, \\)?\"\\([^\"]*\\)\"" in
  let rec lost ~linked text from =
    match Str.search_forward named text from with
    | exception Not_found -> []
    | _ ->
      let before = Str.matched_group 1 text and title = Str.matched_group 3 text in
      let is_meant = String.starts_with ~prefix:"!page-limits" before in
      let is_named = try Str.matched_group 2 text <> "" with Not_found -> false in
      let others = lost ~linked text (Str.match_end ()) in
      let is_found = List.mem title titles && ((not linked) || before = "!" ^ link title) in
      if (is_meant || is_named) && not is_found then title :: others else others
  in
  let in_file (file : Sources.t) =
    let linked = Filename.check_suffix file.path ".mli" in
    lost ~linked (one_line file.text) 0
    |> List.map (fun title -> Printf.sprintf "%s: %s" file.path title)
  in
  List.concat_map in_file interfaces

(* {2 The limits}

   [at_most] is the limit that is kept. It stands above the goal, the second number, only while the
   library is on its way there. *)

let limit name at_most goal found = (name, at_most, goal, found)

let limits =
  [
    limit "lines of src" 21_456 15_500 (lines_of code);
    limit "lines of src/core" 9_296 7_000 (lines_of core);
    limit "lines of C that define CAML_INTERNALS" 700 700 (lines_of runtime_insides);
    limit "fields of a worker's records" 42 45 (fields_of worker_records);
    limit "fields of a pool" 24 25 (fields_of pool_records);
    limit "shared fields that several modules write" 0 0 (all_of written_by_several);
    limit "modules without an interface" 0 0 (all_of without_interface);
    limit "opens of a module of the project" 0 0 (all_of opens);
    limit "functions over 25 lines" 0 0 (all_of long_functions);
    limit "functions over 6 parameters" 1 0 (all_of wide_functions);
    limit "lines over 100 columns" 0 0 (all_of long_lines);
    limit "modules not drawn, or drawn in another order" 0 0 (all_of against_drawing);
    limit "headless clauses" 0 0 (all_of headless);
    limit "sentences over 25 words in interfaces" 0 0 (all_of long_sentences);
    limit "values over 80 words in interfaces" 0 0 (all_of long_values);
    limit "fields over two lines in interfaces" 0 0 (all_of long_fields);
    limit "links of interfaces to no section" 0 0 (all_of lost_links);
    limit "words of ARCHITECTURE.md" 1_800 1_800 (words_of "ARCHITECTURE.md");
    limit "words of README.md" 700 700 (words_of "README.md");
    limit "lines of CHANGES.md" 60 60 (lines_in "CHANGES.md");
    limit "lines of bench/README.md" 250 250 (lines_in "bench/README.md");
  ]

(* How many places are named: all that MUSTER_SHOWN says, or the first of a limit that is passed. *)
let shown ~passed =
  match Sys.getenv_opt "MUSTER_SHOWN" with
  | Some n -> int_of_string n
  | None -> if passed then 5 else 0

let holds (name, at_most, goal, found) () =
  let n, places = found () in
  Printf.printf "%-46s %6d, at most %d (goal %d)\n" name n at_most goal;
  let shown = shown ~passed:(n > at_most) in
  List.iteri (fun i it -> if i < shown then Printf.printf "  %s\n" it) places;
  check (Printf.sprintf "%d, at most %d" n at_most) (n <= at_most)

let () = main (List.map (fun ((name, _, _, _) as it) -> case ("limit: " ^ name) (holds it)) limits)
