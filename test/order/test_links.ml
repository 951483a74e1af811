(* Links of the documents lead somewhere: to a heading that is there, to a file that is there. *)

open Rounds

let documents = List.filter (Sources.is [ ".md" ]) Sources.all
let matches = Str.regexp "\\](\\([^)]+\\))"

let links (file : Sources.t) =
  let rec from at =
    match Str.search_forward matches file.text at with
    | exception Not_found -> []
    | _ ->
      let target = Str.matched_group 1 file.text and next = Str.match_end () in
      target :: from next
  in
  List.filter (fun it -> not (String.starts_with ~prefix:"http" it)) (from 0)

(* {2 Headings} *)

(* GitHub's anchor. *)
let anchor title =
  String.lowercase_ascii title
  |> Str.global_replace (Str.regexp "[^a-z0-9_ -]") ""
  |> String.map (fun c -> if c = ' ' then '-' else c)

let headings (file : Sources.t) =
  let heading line =
    match String.index_opt line ' ' with
    | Some at when String.for_all (Char.equal '#') (String.sub line 0 at) && at > 0 ->
      Some (String.sub line (at + 1) (String.length line - at - 1))
    | _ -> None
  in
  List.filter_map heading (Sources.lines file)

(* {2 Files} *)

(* A path as seen from the root: "doc", "../src/muster.mli" is "src/muster.mli". *)
let rec resolve folder path =
  if String.starts_with ~prefix:"../" path then
    resolve (Filename.dirname folder) (String.sub path 3 (String.length path - 3))
  else if folder = "." then path
  else folder ^ "/" ^ path

let is_listed path = List.exists (fun (it : Sources.t) -> it.path = path) Sources.all

(* Of other files, examples say, this program knows nothing. *)
let should_be_listed path =
  String.starts_with ~prefix:"src/" path || Filename.check_suffix path ".md"

let broken (file : Sources.t) link =
  let target, at =
    match String.split_on_char '#' link with
    | [ target; at ] -> (target, Some at)
    | _ -> (link, None)
  in
  let path = if target = "" then file.path else resolve (Filename.dirname file.path) target in
  if not (is_listed path) then should_be_listed path
  else
    let anchors () = List.map anchor (headings (Sources.find path)) in
    Option.fold at ~none:false ~some:(fun at -> not (List.mem at (anchors ())))

let links_lead_somewhere () =
  let check_one (file : Sources.t) link =
    check (Printf.sprintf "%s: %s leads nowhere" file.path link) (not (broken file link))
  in
  List.iter (fun file -> List.iter (check_one file) (links file)) documents

(* {2 Installed} *)

(* What dune installs beside the library, by its place there: ["README.md"], ["doc/guide.md"]. *)
let installed =
  let text = In_channel.with_open_bin "../../muster.install" In_channel.input_all in
  let place = Str.regexp "/doc/muster/\\([^\"]*\\)\"" in
  let rec from at =
    match Str.search_forward place text at with
    | exception Not_found -> []
    | _ ->
      let path = Str.matched_group 1 text and next = Str.match_end () in
      path :: from next
  in
  from 0

let is_installed path =
  List.exists (fun it -> it = path || String.starts_with ~prefix:(path ^ "/") it) installed

let installed_links_lead_somewhere () =
  let check_one (file : Sources.t) link =
    let target = List.hd (String.split_on_char '#' link) in
    let path = resolve (Filename.dirname file.path) target in
    check
      (Printf.sprintf "%s: %s is not installed" file.path link)
      (target = "" || is_installed path)
  in
  let pages = List.filter (fun (it : Sources.t) -> is_installed it.path) documents in
  check "the guide is installed" (is_installed "doc/guide.md");
  List.iter (fun file -> List.iter (check_one file) (links file)) pages

let () =
  main
    [
      case "links: of the documents" links_lead_somewhere;
      case "links: of the installed documents" installed_links_lead_somewhere;
    ]
