(* The functions that the interfaces declare, C's too, read from their sources. *)

let lines path = In_channel.with_open_bin path In_channel.input_all |> String.split_on_char '\n'

let is_in_name = function
  | 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '_' | '\'' | '.' -> true
  | _ -> false

let starts prefix line = String.starts_with ~prefix line

(* The name after the keyword. *)
let name_after keyword line =
  let from = String.length keyword in
  String.sub line from (String.length line - from)
  |> String.to_seq |> Seq.take_while is_in_name |> String.of_seq

let collections = "include Muster_collections."

let shown = function
  | "Bigvector" -> "Bigarray.Array1"
  | "Bigmatrix" -> "Bigarray.Array2"
  | name -> name

(* [module X : sig] prefixes what comes, [module X = Y.Z] is another file's, and so is
   [include Muster_collections.X] within the module that shows it; (**/**) ends what is for users. *)
let rec values ~aliases prefix path =
  let rec walk prefix found = function
    | [] | "(**/**)" :: _ -> found
    | line :: rest when starts "val " (String.trim line) ->
      walk prefix ((prefix ^ name_after "val " (String.trim line)) :: found) rest
    | line :: rest when starts "module " line && String.ends_with ~suffix:": sig" line ->
      let inner, rest = until_end [] rest in
      let deeper = prefix ^ name_after "module " line ^ "." in
      walk prefix (walk deeper found inner) rest
    | line :: rest when starts "module " line || starts "  module " line ->
      walk prefix (alias prefix (String.trim line) @ found) rest
    | line :: rest when starts collections (String.trim line) ->
      let name = name_after collections (String.trim line) in
      walk prefix (values ~aliases (prefix ^ shown name ^ ".") (aliases name) @ found) rest
    | _ :: rest -> walk prefix found rest
  and alias prefix line =
    match String.split_on_char ' ' line with
    | [ "module"; name; "="; target ] -> values ~aliases (prefix ^ name ^ ".") (aliases target)
    | _ -> []
  and until_end inner = function
    | ([] | "end" :: _) as rest -> (List.rev inner, rest)
    | line :: rest -> until_end (line :: inner) rest
  in
  walk prefix [] (lines path)

let file_of ~root alias =
  let file folder name =
    Filename.concat root (folder ^ "/" ^ String.lowercase_ascii name ^ ".mli")
  in
  match String.split_on_char '.' alias with
  | [ name ] when Sys.file_exists (file "src/sync" name) -> file "src/sync" name
  | [ "Muster_collections"; name ] | [ name ] -> file "src/collections" name
  | _ -> failwith (alias ^ ": no such interface")

(* A declaration begins its line: what is indented belongs to a comment. *)
let functions_of_c path =
  let declared line =
    let before = List.hd (String.split_on_char '(' line) in
    let name = List.hd (List.rev (String.split_on_char ' ' before)) in
    if line <> "" && line.[0] <> ' ' && starts "muster_" name then Some name else None
  in
  List.filter_map declared (lines path)

let all ~root ~further =
  let at file = Filename.concat root file in
  let values_of (prefix, file) = values ~aliases:(file_of ~root) prefix (at file) in
  List.concat_map values_of
    ([ ("", "src/muster.mli"); ("Domainslib.", "src/domainslib/domainslib.mli") ] @ further)
  @ functions_of_c (at "src/kernel/muster.h")
