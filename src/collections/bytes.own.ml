[@@@warning "-unused-value-declaration"]

include Stdlib.Bytes

external source : t -> t = "%identity"
external target : t -> t = "%identity"
external read : t -> int -> char = "%bytes_unsafe_get"
external write : t -> int -> char -> unit = "%bytes_unsafe_set"
external rewrite : t -> int -> char -> unit = "%bytes_unsafe_set"

let build _ n _ chunk f s =
  let r = if n = 0 then empty else create n in
  Chunks.fill (Machine.code_of f) n chunk f s r;
  r

let[@inline] is_equal (x : char) y = x = y
let[@inline] numbered _ f = f
let[@inline] indexed _ found = found
let map2_few _ b _ = b

let rec char_chunk c b i hi =
  if i > hi then None else if is_equal c (read b i) then Some i else char_chunk c b (i + 1) hi

let index_opt b c = Chunks.search (Machine.code_of char_chunk) (length b) char_chunk c b
let index b c = match index_opt b c with Some i -> i | None -> raise Not_found
let contains b c = if length b < 2 then contains b c else Option.is_some (index_opt b c)
