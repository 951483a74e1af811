let replace pattern by text = Str.global_replace (Str.regexp pattern) by text

(* {2 Prose}

   Code stands for one word, quotations and the titles of sections for none. A label such as {b
   Raises} is a word of its sentence: it is the verb. *)

(* Str has no shortest match: this cuts from each [left] to the next [right]. *)
let rec cut ~left ~right ~by text =
  match Str.search_forward (Str.regexp_string left) text 0 with
  | exception Not_found -> text
  | from -> (
    let after = from + String.length left in
    let head = String.sub text 0 from in
    match Str.search_forward (Str.regexp_string right) text after with
    | exception Not_found -> text
    | until ->
      let next = until + String.length right in
      let rest = String.sub text next (String.length text - next) in
      head ^ by ^ cut ~left ~right ~by rest)

let of_comment text =
  text
  |> cut ~left:"{[" ~right:"]}" ~by:"\n\n"
  |> replace "^[ \t]*{[1-4][^}]*}" "\n\n"
  |> replace "{[!^]+[^}]*}" "code"
  |> replace "\\[[^]]*\\]" "code"
  |> replace "\"[^\"]*\"" "title"
  |> replace "{[bie] \\([^}]*\\)}" "\\1"
  |> replace "^ *\\* " ""

let of_header text = replace "^.*[;{}]$" "\n" (of_comment text)

let of_markdown text =
  text
  |> cut ~left:"```" ~right:"```" ~by:"\n\n"
  |> replace "^#+ .*$" "\n"
  |> replace "`[^`]*`" "code"
  |> replace "\\[\\([^]]*\\)\\]([^)]*)" "link"
  |> replace "\"[^\"]*\"" "title"
  |> replace "[*_]" ""

(* {2 Headless clauses}

   "Who waits is woken" and "what is left is run" have a clause where the reader looks for a noun:
   "a waiter", "the remaining tasks". This counts every [whoever], and every [who], [whom] or [what]

   - at the start of a sentence, unless it is a question;
   - after punctuation (a comma, a colon, a bracket, a cell's edge);
   - after one of the words below, which are never the noun or the verb that the clause belongs to.

   So it passes "a thief who comes", "raises what [f] raises", "tell what happened": there a noun or
   a verb stands before. *)

let joins =
  [
    "and"; "or"; "but"; "nor"; "than"; "as"; "if"; "when"; "where"; "while"; "that"; "so"; "because";
    "since"; "unless"; "until"; "of"; "for"; "by"; "with"; "without"; "to"; "from"; "in"; "on"; "at";
    "not"; "only"; "also"; "even"; "about"; "beside"; "after"; "before"; "into"; "through"; "then";
  ] [@@ocamlformat "disable"]

let ends_sentence = [ "."; "?"; "!"; "" ]

(* Words, and punctuation marks by themselves; an empty one ends a paragraph. *)
let tokens prose =
  let token = Str.regexp "[A-Za-z0-9'-]+\\|[.?!,:;()|]\\|\n[ \t]*\n\\|\xe2\x80\xa6" in
  let is_break it = it.[0] = '\n' in
  let rec from at =
    match Str.search_forward token prose at with
    | exception Not_found -> [ "" ]
    | _ ->
      let it = Str.matched_string prose and next = Str.match_end () in
      (if is_break it then "" else it) :: from next
  in
  from 0

let is_mark it = it = "" || String.length it = 1 && String.contains ".?!,:;()|" it.[0]

let rec asks = function
  | "?" :: _ -> true
  | it :: rest -> (not (List.mem it ends_sentence)) && asks rest
  | [] -> false

let rec first n = function it :: rest when n > 0 -> it :: first (n - 1) rest | _ -> []

let headless prose =
  let belongs_to before =
    not (is_mark before || List.mem (String.lowercase_ascii before) joins)
  in
  let rec go before found = function
    | [] -> List.rev found
    | it :: rest ->
      let counts =
        match String.lowercase_ascii it with
        | "whoever" | "whomever" -> true
        | "who" | "whom" | "what" -> not (belongs_to before || asks rest)
        | _ -> false
      in
      let excerpt () = String.concat " " (before :: it :: first 5 rest) in
      go it (if counts then excerpt () :: found else found) rest
  in
  go "" [] (tokens prose)

(* {2 Lengths} *)

let sentences prose =
  let rec go sentence found = function
    | [] -> List.rev found
    | it :: rest when List.mem it ends_sentence -> go [] (List.rev sentence :: found) rest
    | it :: rest -> go (if is_mark it then sentence else it :: sentence) found rest
  in
  go [] [] (tokens prose)

let long_sentences ~words prose =
  let is_long sentence = List.length sentence > words in
  List.filter is_long (sentences prose) |> List.map (String.concat " ")

type value = { value : string; free : string; fields : (string * int) list }

let field = Str.regexp "^[ \t]*{b \\(Raises\\|Cost\\|Domains\\|Order\\|Cancels\\)}"

let lines_of text =
  List.length (List.filter (fun line -> String.trim line <> "") (String.split_on_char '\n' text))

let described value comment =
  let rec fields = function
    | Str.Delim label :: Str.Text text :: rest -> (String.trim label, lines_of text) :: fields rest
    | _ :: rest -> fields rest
    | [] -> []
  in
  match Str.full_split field comment with
  | Str.Text free :: rest -> { value; free; fields = fields rest }
  | parts -> { value; free = ""; fields = fields parts }

(* An item, and the comment after it; a comment before an item is about a module or a group. *)
let values text =
  let item = Str.regexp "^ *\\(val\\|exception\\|type\\) .*$" in
  let rec from at =
    match Str.search_forward item text at with
    | exception Not_found -> []
    | _ -> (
      let value = String.trim (Str.matched_string text) and next = Str.match_end () in
      let stop = try Str.search_forward item text next with Not_found -> String.length text in
      let between = String.sub text next (stop - next) in
      match Str.search_forward (Str.regexp "^ *(\\*\\* ") between 0 with
      | exception Not_found -> from next
      | _ ->
        let start = Str.match_end () in
        let until = Str.search_forward (Str.regexp_string "*)") between start in
        let comment = String.sub between start (until - start) in
        let about_group = Str.string_match (Str.regexp ".*{[1-4]") comment 0 in
        if about_group then from next else described value comment :: from next)
  in
  from 0
