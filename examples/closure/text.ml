type span = int

let length_bits = 31
let max_length = (1 lsl length_bits) - 1
let span ~start ~stop = (start lsl length_bits) lor (stop - start)
let none = 0
let start span = span lsr length_bits
let length span = span land max_length
let stop span = start span + length span
let is_empty span = length span = 0
let sub text span = String.sub text (start span) (length span)
let is_blank = function ' ' | '\t' | '\n' | '\r' -> true | _ -> false

let trim text ~start ~stop =
  let first = ref start and last = ref stop in
  while !first < !last && is_blank text.[!first] do
    incr first
  done;
  while !first < !last && is_blank text.[!last - 1] do
    decr last
  done;
  span ~start:!first ~stop:!last

let index text ~start ~stop char =
  let at = ref start in
  while !at < stop && text.[!at] <> char do
    incr at
  done;
  !at

exception Malformed of { text : string; at : int; reason : string }

let malformed text at format =
  Printf.ksprintf (fun reason -> raise (Malformed { text; at; reason })) format

let line_of text at =
  let line = ref 1 in
  for i = 0 to min at (String.length text) - 1 do
    if text.[i] = '\n' then incr line
  done;
  !line
