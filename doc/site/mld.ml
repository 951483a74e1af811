(* mld FILE.md: the page as odoc reads it, for [make doc]. It knows the Markdown of this folder:
   headings, paragraphs, lists of one level, tables, fenced code, links, code, bold and emphasis. *)

let replace pattern by = Str.global_replace (Str.regexp pattern) by
let starts prefix line = String.starts_with ~prefix line

(* GitHub's name of a heading, with underscores: odoc takes no hyphens. *)
let label title =
  String.lowercase_ascii title |> replace "[^a-z0-9_ -]" "" |> replace "[ -]" "_"

(* {2 Inside a line} *)

let escape = replace "[][{}@]" "\\\\\\0"

let code text =
  let count c = List.length (String.split_on_char c text) in
  if count '[' = count ']' then "[" ^ text ^ "]" else "[" ^ replace "[][]" "\\\\\\0" text ^ "]"

(* Pages of this folder are pages there, the interface is the module; other files are only named. *)
let link text url =
  let target, anchor =
    match String.index_opt url '#' with
    | None -> (url, "")
    | Some at -> (String.sub url 0 at, String.sub url (at + 1) (String.length url - at - 1))
  in
  let section = if anchor = "" then "" else ".section-" ^ label anchor in
  if starts "http" url then Printf.sprintf "{{:%s}%s}" url text
  else if target = "" then Printf.sprintf "{{!section-%s}%s}" (label anchor) text
  else if target = "../src/muster.mli" then Printf.sprintf "{{!Muster}%s}" text
  else if Filename.check_suffix target ".md" && not (String.contains target '/') then
    let page = label (Filename.chop_suffix target ".md") in
    Printf.sprintf "{{!page-%s%s}%s}" page section text
  else text

let token =
  let code = "`\\([^`]+\\)`" and link = "\\[\\([^]]+\\)\\](\\([^)]+\\))" in
  let bold = "\\*\\*\\([^*]+\\)\\*\\*" and emphasis = "\\*\\([^* ][^*]*\\)\\*" in
  Str.regexp (String.concat "\\|" [ code; link; bold; emphasis ])

let group n text = try Some (Str.matched_group n text) with Not_found -> None

let rec inline text =
  match Str.search_forward token text 0 with
  | exception Not_found -> escape text
  | at ->
    let next = Str.match_end () in
    let g = Array.init 6 (fun n -> if n = 0 then None else group n text) in
    let rest = String.sub text next (String.length text - next) in
    escape (String.sub text 0 at) ^ marked g ^ inline rest

and marked = function
  | [| _; Some text; _; _; _; _ |] -> code text
  | [| _; _; Some text; Some url; _; _ |] -> link (inline text) url
  | [| _; _; _; _; Some text; _ |] -> "{b " ^ inline text ^ "}"
  | [| _; _; _; _; _; Some text |] -> "{e " ^ inline text ^ "}"
  | _ -> ""

(* {2 Blocks} *)

let labels = Hashtbl.create 64

(* GitHub numbers headings of one title from the second on, too. *)
let own_label title =
  let label = label title in
  let before = Option.value (Hashtbl.find_opt labels label) ~default:0 in
  Hashtbl.replace labels label (before + 1);
  if before = 0 then label else Printf.sprintf "%s_%d" label before

let heading line =
  let level = String.index line ' ' - 1 in
  let title = String.sub line (level + 2) (String.length line - level - 2) in
  if level = 0 then Printf.printf "{0 %s}\n" (inline title)
  else Printf.printf "{%d:%s %s}\n" level (own_label title) (inline title)

let print_code language lines =
  let language = if language = "" then "text" else language in
  Printf.printf "{code@%s[\n%s\n]code}\n" language (String.concat "\n" lines)

let cells row =
  let inner = String.sub row 1 (String.rindex row '|' - 1) in
  let bar = replace "\\\\|" "\x00" inner in
  List.map (fun cell -> String.trim (replace "\x00" "|" cell)) (String.split_on_char '|' bar)

let print_row kind row =
  let cell text = Printf.sprintf "{%s %s}" kind (inline text) in
  Printf.printf "{tr %s}\n" (String.concat " " (List.map cell (cells row)))

let print_table = function
  | head :: _ :: rows ->
    print_string "{table\n";
    print_row "th" head;
    List.iter (print_row "td") rows;
    print_string "}\n"
  | _ -> ()

let numbered = Str.regexp "[0-9]+\\. "
let is_item line = starts "- " line || Str.string_match numbered line 0

let item_text line =
  if starts "- " line then String.sub line 2 (String.length line - 2)
  else
    let from = String.index line ' ' + 1 in
    String.sub line from (String.length line - from)

(* An item goes on in the indented lines below it. *)
let rec items = function
  | line :: rest when is_item line ->
    let rec continue text = function
      | line :: rest when starts " " line -> continue (text ^ "\n" ^ String.trim line) rest
      | rest -> (text, rest)
    in
    let text, rest = continue (item_text line) rest in
    let more, rest = items rest in
    (text :: more, rest)
  | rest -> ([], rest)

let print_items ordered texts =
  Printf.printf "{%s\n" (if ordered then "ol" else "ul");
  List.iter (fun text -> Printf.printf "{- %s}\n" (inline text)) texts;
  print_string "}\n"

let rec span test = function
  | line :: rest when test line ->
    let more, rest = span test rest in
    (line :: more, rest)
  | rest -> ([], rest)

let begins_block line =
  is_item line || List.exists (fun it -> starts it line) [ "#"; "```"; "|"; "<!--"; "![" ]

let is_plain line = line <> "" && not (begins_block line)

(* Each prints the block that begins here, and gives the lines behind it. *)

let code_block line rest =
  let body, rest = span (fun line -> not (starts "```" line)) rest in
  print_code (String.sub line 3 (String.length line - 3)) body;
  List.tl rest

let table_block lines =
  let table, rest = span (starts "|") lines in
  print_table table;
  rest

let list_block line lines =
  let texts, rest = items lines in
  print_items (not (starts "-" line)) texts;
  rest

let paragraph lines =
  let text, rest = span is_plain lines in
  print_endline (inline (String.concat "\n" text));
  rest

let block line rest =
  if line = "" then (
    print_newline ();
    rest)
  else if starts "<!--" line || starts "![" line then rest
  else if starts "```" line then code_block line rest
  else if starts "#" line then (
    heading line;
    rest)
  else if starts "|" line then table_block (line :: rest)
  else if is_item line then list_block line (line :: rest)
  else paragraph (line :: rest)

let rec blocks = function [] -> () | line :: rest -> blocks (block line rest)

let () =
  let text = In_channel.with_open_bin Sys.argv.(1) In_channel.input_all in
  blocks (String.split_on_char '\n' text)
