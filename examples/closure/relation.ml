type bound = Any | Earlier | At_most | Exactly | At_least | Later
type t = { name : Name.t; architecture : Text.span; bound : bound; version : Text.span }

(* [<] and [>] are old spellings of [<=] and [>=] (Debian Policy 7.1). *)
let bound_of text span =
  match Text.sub text span with
  | "<<" -> Earlier
  | "<=" | "<" -> At_most
  | "=" -> Exactly
  | ">=" | ">" -> At_least
  | ">>" -> Later
  | other -> Text.malformed text (Text.start span) "bad version bound %S" other

let is_operator = function '<' | '=' | '>' -> true | _ -> false

let is_one_word text span =
  let rec from at =
    at = Text.stop span
    || match text.[at] with ' ' | '\t' | '\r' | '\n' | '(' | ')' -> false | _ -> from (at + 1)
  in
  from (Text.start span)

(* What stands between the parentheses: an operator and a version. *)
let parse_bound text ~start ~stop =
  let inside = Text.trim text ~start ~stop in
  let after = ref (Text.start inside) in
  while !after < Text.stop inside && is_operator text.[!after] do
    incr after
  done;
  let bound = bound_of text (Text.span ~start:(Text.start inside) ~stop:!after) in
  let version = Text.trim text ~start:!after ~stop:(Text.stop inside) in
  if Text.is_empty version then Text.malformed text start "a version bound has no version";
  if not (is_one_word text version) then
    Text.malformed text (Text.start version) "bad version %S" (Text.sub text version);
  (bound, version)

let is_name_character = function
  | 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' | '+' | '-' | '.' | '_' -> true
  | _ -> false

let word_end text ~start ~stop =
  let at = ref start in
  while !at < stop && is_name_character text.[!at] do
    incr at
  done;
  !at

let name_of text ~start ~stop =
  if start = stop then Text.malformed text start "a dependency has no package name";
  Name.make text (Text.span ~start ~stop)

(* An alternative without the blanks around it. *)
let parse text span =
  let start = Text.start span and stop = Text.stop span in
  let name_end = word_end text ~start ~stop in
  let qualified = name_end < stop && text.[name_end] = ':' in
  let word = if qualified then word_end text ~start:(name_end + 1) ~stop else name_end in
  let name = name_of text ~start ~stop:name_end in
  if qualified && word = name_end + 1 then
    Text.malformed text name_end "a dependency has no architecture after its colon";
  let architecture = if qualified then Text.span ~start:(name_end + 1) ~stop:word else Text.none in
  let rest = Text.trim text ~start:word ~stop in
  if Text.is_empty rest then { name; architecture; bound = Any; version = Text.none }
  else
    let opening = Text.start rest and closing = Text.stop rest - 1 in
    if text.[opening] <> '(' || text.[closing] <> ')' then
      Text.malformed text opening "bad dependency %S" (Text.sub text span);
    let bound, version = parse_bound text ~start:(opening + 1) ~stop:closing in
    { name; architecture; bound; version }

let rec alternatives text ~start ~stop =
  let bar = Text.index text ~start ~stop '|' in
  let first = parse text (Text.trim text ~start ~stop:bar) in
  if bar = stop then [ first ] else first :: alternatives text ~start:(bar + 1) ~stop

let iter_clauses text field f =
  let field_stop = Text.stop field in
  let rec go start =
    if start < field_stop then begin
      let stop = Text.index text ~start ~stop:field_stop ',' in
      if not (Text.is_empty (Text.trim text ~start ~stop)) then f (alternatives text ~start ~stop);
      go (stop + 1)
    end
  in
  go (Text.start field)

let meets { name; bound; version; _ } text other =
  bound = Any
  ||
  let order = Version.compare_spans text other name.text version in
  match bound with
  | Any -> true
  | Earlier -> order < 0
  | At_most -> order <= 0
  | Exactly -> order = 0
  | At_least -> order >= 0
  | Later -> order > 0
