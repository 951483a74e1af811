(* A version is [epoch:]upstream[-revision]. The epoch ends at the first colon and the
   upstream part at the last hyphen; a missing epoch or revision is 0. Epochs compare
   as numbers, and the other two part by part from the left, text and digits in turn:
   - text character by character, where '~' sorts before everything, the end included,
     then the end, then letters, then all else by their code;
   - digits as numbers, of any length. *)

let is_digit = function '0' .. '9' -> true | _ -> false

let weight = function
  | '0' .. '9' -> 0
  | '~' -> -1
  | ('a' .. 'z' | 'A' .. 'Z') as letter -> Char.code letter
  | other -> Char.code other + 256

(* A cursor that walks over one part of a version. *)
type cursor = { text : string; mutable at : int; stop : int }

let at_digit c = c.at < c.stop && is_digit c.text.[c.at]
let at_text c = c.at < c.stop && not (is_digit c.text.[c.at])
let weight_here c = if c.at < c.stop then weight c.text.[c.at] else 0
let advance c = c.at <- c.at + 1

let rec compare_text a b =
  if at_text a || at_text b then
    match Int.compare (weight_here a) (weight_here b) with
    | 0 ->
      advance a;
      advance b;
      compare_text a b
    | order -> order
  else 0

let skip_zeros c =
  while c.at < c.stop && c.text.[c.at] = '0' do
    advance c
  done

(* The longer number is the greater; of two as long, the first digit that differs
   decides. *)
let compare_number a b =
  skip_zeros a;
  skip_zeros b;
  let difference = ref 0 in
  while at_digit a && at_digit b do
    if !difference = 0 then difference := Char.compare a.text.[a.at] b.text.[b.at];
    advance a;
    advance b
  done;
  if at_digit a then 1 else if at_digit b then -1 else !difference

let rec compare_parts a b =
  match compare_text a b with
  | 0 -> (
    match compare_number a b with
    | 0 -> if a.at < a.stop || b.at < b.stop then compare_parts a b else 0
    | order -> order)
  | order -> order

type parts = { text : string; start : int; colon : int; hyphen : int; stop : int }

let split text span =
  let start = Text.start span and stop = Text.stop span in
  let colon = Text.index text ~start ~stop ':' in
  let hyphen = ref (stop - 1) in
  while !hyphen >= start && text.[!hyphen] <> '-' do
    decr hyphen
  done;
  { text; start; colon; hyphen = (if !hyphen < start then stop else !hyphen); stop }

let has_epoch v = v.colon < v.stop

let epoch v : cursor =
  { text = v.text; at = v.start; stop = (if has_epoch v then v.colon else v.start) }

let upstream v : cursor =
  { text = v.text; at = (if has_epoch v then v.colon + 1 else v.start); stop = v.hyphen }

let revision v : cursor = { text = v.text; at = min v.stop (v.hyphen + 1); stop = v.stop }

let compare_spans a_text a_span b_text b_span =
  let a = split a_text a_span and b = split b_text b_span in
  match compare_number (epoch a) (epoch b) with
  | 0 -> (
    match compare_parts (upstream a) (upstream b) with
    | 0 -> compare_parts (revision a) (revision b)
    | order -> order)
  | order -> order

let whole text = Text.span ~start:0 ~stop:(String.length text)
let compare a b = compare_spans a (whole a) b (whole b)
