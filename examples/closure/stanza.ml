type t = {
  name : Name.t;
  version : Text.span;
  architecture : Text.span;
  size : int;
  depends : Text.span;
  pre_depends : Text.span;
  provides : Text.span;
  conflicts : Text.span;
  breaks : Text.span;
}

type chunk = { text : string; start : int; stop : int }

let whole text = { text; start = 0; stop = String.length text }

(* The end of the first blank line from [at] on: a place where a stanza may start. *)
let rec after_blank_line text at =
  match String.index_from_opt text at '\n' with
  | None -> String.length text
  | Some newline ->
    let next = newline + 1 in
    if next < String.length text && text.[next] = '\n' then next + 1 else after_blank_line text next

let cut ~size text =
  let length = String.length text in
  let rec go start chunks =
    if start >= length then Array.of_list (List.rev chunks)
    else
      let stop = after_blank_line text (min length (start + size)) in
      go stop ({ text; start; stop } :: chunks)
  in
  go 0 []

(* The fields that matter, in the order of a draft's array. *)
let fields =
  [|
    "package";
    "version";
    "architecture";
    "installed-size";
    "depends";
    "pre-depends";
    "provides";
    "conflicts";
    "breaks";
  |]

let package, version, architecture, installed_size = (0, 1, 2, 3)
let depends, pre_depends, provides, conflicts, breaks = (4, 5, 6, 7, 8)
let ignored = -1

let is_field text start stop name =
  stop - start = String.length name
  &&
  let i = ref 0 in
  while !i < String.length name && Char.lowercase_ascii text.[start + !i] = name.[!i] do
    incr i
  done;
  !i = String.length name

(* Most lines are of other fields: the first letter and the length turn them away. *)
let field_named text start stop =
  let candidate =
    match (text.[start], stop - start) with
    | ('P' | 'p'), 7 -> package
    | ('V' | 'v'), 7 -> version
    | ('A' | 'a'), 12 -> architecture
    | ('I' | 'i'), 14 -> installed_size
    | ('D' | 'd'), 7 -> depends
    | ('P' | 'p'), 11 -> pre_depends
    | ('P' | 'p'), 8 -> provides
    | ('C' | 'c'), 9 -> conflicts
    | ('B' | 'b'), 6 -> breaks
    | _ -> ignored
  in
  if candidate <> ignored && is_field text start stop fields.(candidate) then candidate else ignored

(* A stanza being read: where each field's value lies, and the field that a
   continuation line would go on with. *)
type draft = { values : Text.span array; mutable last : int; mutable start : int }

let not_started = -1

let draft () =
  { values = Array.map (fun _ -> Text.none) fields; last = ignored; start = not_started }

let reset draft =
  Array.fill draft.values 0 (Array.length draft.values) Text.none;
  draft.last <- ignored;
  draft.start <- not_started

let excerpt text start stop = String.sub text start (min 40 (stop - start))

let colon_of text start stop =
  let at = ref start in
  while !at < stop && text.[!at] <> ':' && text.[!at] > ' ' do
    incr at
  done;
  if !at = start || !at >= stop || text.[!at] <> ':' then
    Text.malformed text start "expected \"Field: value\", found %S" (excerpt text start stop);
  !at

let read_field draft text start stop =
  let colon = colon_of text start stop in
  if draft.start = not_started then draft.start <- start;
  let field = field_named text start colon in
  draft.last <- field;
  if field <> ignored then begin
    if draft.values.(field) <> Text.none then
      Text.malformed text start "field %s is given twice" (excerpt text start colon);
    draft.values.(field) <- Text.trim text ~start:(colon + 1) ~stop
  end

let read_continuation draft text start stop =
  if draft.start = not_started then
    Text.malformed text start "a stanza starts with a continuation line";
  if draft.last <> ignored then
    let value = draft.values.(draft.last) in
    draft.values.(draft.last) <- Text.trim text ~start:(Text.start value) ~stop

(* In KiB: 16 TiB. More is damage, and the sum over all packages of a text is an int. *)
let largest_size = 1 lsl 34
let is_digit c = '0' <= c && c <= '9'

(* Not all that is a number in OCaml is one there. *)
let size_of text span =
  if Text.is_empty span then 0
  else
    let digits = Text.sub text span in
    match int_of_string_opt digits with
    | Some size when String.for_all is_digit digits && size <= largest_size -> size
    | _ -> Text.malformed text (Text.start span) "bad Installed-Size %S" digits

let required draft text field =
  let value = draft.values.(field) in
  if Text.is_empty value then
    Text.malformed text draft.start "a stanza has no %s field"
      (String.capitalize_ascii fields.(field));
  value

let finish draft text =
  let name = required draft text package in
  {
    name = Name.make text name;
    version = required draft text version;
    architecture = draft.values.(architecture);
    size = size_of text draft.values.(installed_size);
    depends = draft.values.(depends);
    pre_depends = draft.values.(pre_depends);
    provides = draft.values.(provides);
    conflicts = draft.values.(conflicts);
    breaks = draft.values.(breaks);
  }

let is_blank_line text start stop = Text.is_empty (Text.trim text ~start ~stop)

let parse { text; start; stop } =
  let draft = draft () in
  let rec lines at stanzas =
    if at >= stop then close stanzas
    else
      let eol = Text.index text ~start:at ~stop '\n' in
      match text.[at] with
      | '\n' -> blank eol stanzas
      | (' ' | '\t' | '\r') when is_blank_line text at eol -> blank eol stanzas
      | ' ' | '\t' ->
        read_continuation draft text at eol;
        lines (eol + 1) stanzas
      | _ ->
        read_field draft text at eol;
        lines (eol + 1) stanzas
  and blank eol stanzas =
    let stanzas = close stanzas in
    reset draft;
    lines (eol + 1) stanzas
  and close stanzas = if draft.start = not_started then stanzas else finish draft text :: stanzas in
  Array.of_list (List.rev (lines start []))
