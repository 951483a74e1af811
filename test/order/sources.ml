type t = { path : string; text : string }

let root = "../../"
let read path = In_channel.with_open_bin (root ^ path) In_channel.input_all

(* dune names the files relative to this folder. *)
let without_root path =
  let after prefix = String.sub path (String.length prefix) (String.length path - String.length prefix) in
  if String.starts_with ~prefix:root path then after root else "test/" ^ after "../"

let all =
  String.split_on_char ' ' Listed.files
  |> List.map (fun it -> without_root (String.trim it))
  |> List.map (fun path -> { path; text = read path })

let below folder file = String.starts_with ~prefix:(folder ^ "/") file.path
let is suffixes file = List.exists (fun suffix -> String.ends_with ~suffix file.path) suffixes

let find path =
  match List.find_opt (fun file -> file.path = path) all with
  | Some file -> file
  | None -> failwith ("there is no " ^ path)

(* A variant, as compat.dls.ml, is of the module of its name's first part. *)
let module_name file =
  List.hd (String.split_on_char '.' (Filename.basename file.path)) |> String.capitalize_ascii

(* The empty text after the last line's end is no line. *)
let lines file =
  match List.rev (String.split_on_char '\n' file.text) with
  | "" :: rest -> List.rev rest
  | all -> List.rev all

let count_lines files = List.fold_left (fun n file -> n + List.length (lines file)) 0 files

let columns line =
  let starts_character c = Char.code c land 0xC0 <> 0x80 in
  String.fold_left (fun n c -> if starts_character c then n + 1 else n) 0 line

let words file =
  let blanks = Str.regexp "[ \t\n]+" in
  List.length (Str.split blanks file.text)

(* {2 Comments} *)

(* Where the string that begins at [at] ends. *)
let rec after_string text at =
  if at >= String.length text then at
  else
    match text.[at] with
    | '"' -> at + 1
    | '\\' -> after_string text (at + 2)
    | _ -> after_string text (at + 1)

let starts_at text at what =
  at + String.length what <= String.length text && String.sub text at (String.length what) = what

(* A string at the top of the code, or the character ['"']. *)
let skips_code text at =
  if starts_at text at "'\"'" then Some (at + 3)
  else if text.[at] = '"' then Some (after_string text (at + 1))
  else None

(* Comments of OCaml lie within each other; [depth] counts those around [at]. *)
let rec ocaml text at ~depth ~from found =
  let deeper at = ocaml text at in
  if at >= String.length text then List.rev found
  else if starts_at text at "(*" && not (starts_at text at "(*)") then
    deeper (at + 2) ~depth:(depth + 1) ~from:(if depth = 0 then at + 2 else from) found
  else if depth > 0 && starts_at text at "*)" then
    let found = if depth = 1 then String.sub text from (at - from) :: found else found in
    deeper (at + 2) ~depth:(depth - 1) ~from found
  else
    match if depth = 0 then skips_code text at else None with
    | Some next -> deeper next ~depth ~from found
    | None -> deeper (at + 1) ~depth ~from found

let rec c text at found =
  let until at what = try Str.search_forward (Str.regexp_string what) text at with Not_found -> String.length text in
  let take from until = String.sub text from (until - from) :: found in
  if at >= String.length text then List.rev found
  else if starts_at text at "/*" then
    let stop = until at "*/" in
    c text (stop + 2) (take (at + 2) stop)
  else if starts_at text at "//" then
    let stop = until at "\n" in
    c text stop (take (at + 2) stop)
  else
    match skips_code text at with Some next -> c text next found | None -> c text (at + 1) found

let comments file =
  if is [ ".c"; ".h" ] file then c file.text 0 [] else ocaml file.text 0 ~depth:0 ~from:0 []
