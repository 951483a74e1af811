include Stdlib.Array

let name = "Parallel.Array"

external source : 'a array -> 'a array = "%identity"
external target : 'a array -> 'a array = "%identity"
external read : 'a array -> int -> 'a = "%array_unsafe_get"

let[@inline] write r i v = Fresh.put r i v
let[@inline] rewrite a i v = Compat.replace a i v
let[@inline] build _ n one chunk f s = Fresh.build (Machine.code_of f) n one chunk f s
let[@inline] is_equal x y = Stdlib.compare y x = 0
let[@inline] numbered _ f = f
let[@inline] indexed _ found = found
let map2_few = map2
let of_pieces _ pieces = Pieces.concat pieces
let joined _ pieces = Pieces.concat pieces
let blank a n i = if n = 0 then [||] else Fresh.make n (unsafe_get a i)

(* {2 Numbers}

   A compiler may have been built without flat arrays of floats. *)

external flat : float array -> Stdlib.Float.Array.t = "%identity"

let is_flat = Stdlib.Obj.(tag (repr [| 0. |]) = double_array_tag)
let floats a = if is_flat then flat a else Stdlib.Float.Array.map_from_array Fun.id a
let sum_ints a = Numeric.sum_tagged a (length a)
let sort = Merge_sort.sort
