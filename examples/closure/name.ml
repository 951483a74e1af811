type t = { text : string; span : Text.span; hash : int }

(* FNV-1a in 62 bits, with its high half mixed into the low one that the tables use. *)
let hash text span =
  let h = ref 0x0bf29ce484222325 in
  for i = Text.start span to Text.stop span - 1 do
    h := !h lxor Char.code text.[i] * 0x100000001b3
  done;
  !h lxor (!h lsr 32) land max_int

let make text span = { text; span; hash = hash text span }

let same_characters a b =
  let a_start = Text.start a.span and b_start = Text.start b.span in
  let length = Text.stop a.span - a_start in
  let i = ref 0 in
  while !i < length && a.text.[a_start + !i] = b.text.[b_start + !i] do
    incr i
  done;
  !i = length

let length name = Text.stop name.span - Text.start name.span
let equal a b = a.hash = b.hash && length a = length b && same_characters a b
let to_string name = Text.sub name.text name.span
let compare a b = String.compare (to_string a) (to_string b)
