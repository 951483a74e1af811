(* As Array, over unboxed floats: results need no first element to be made. *)

include Stdlib.Float.Array
module A = Stdlib.Array
module List = Stdlib.List

let name = "Parallel.Floatarray"

external source : t -> t = "%identity"
external target : t -> t = "%identity"
external read : t -> int -> float = "%floatarray_unsafe_get"
external write : t -> int -> float -> unit = "%floatarray_unsafe_set"
external rewrite : t -> int -> float -> unit = "%floatarray_unsafe_set"

let build _ n _ chunk f s =
  let r = create n in
  Chunks.fill (Machine.code_of f) n chunk f s r;
  r

let[@inline] is_equal (x : float) y = Float.compare y x = 0
let[@inline] numbered _ f = f
let[@inline] indexed _ found = found
let map2_few = map2
let blank _ n _ = create n

(* {2 One result for each element} *)

let from_array_chunk f a r lo hi =
  for i = lo to hi do
    write r i (f (A.unsafe_get a i))
  done

let map_from_array f a = build () (A.length a) () from_array_chunk f a

let rec ieee_chunk (x : float) a i hi =
  if i > hi then None else if read a i = x then Some () else ieee_chunk x a (i + 1) hi

let mem_ieee x a =
  Option.is_some (Chunks.search (Machine.code_of ieee_chunk) (length a) ieee_chunk x a)

let floats a = a

(* {2 Results of any length} *)

let of_pieces _ pieces = map_from_array Fun.id (Pieces.concat pieces)

(* Not the stdlib's [concat] of nothing, which [compare] tells from the empty array (OCaml 5.4). *)
let joined _ pieces =
  if List.for_all (fun piece -> length piece = 0) pieces then create 0 else concat pieces

(* {2 Sorting} *)

let sort cmp a =
  let each = map_to_array Fun.id a in
  Merge_sort.sort cmp each;
  A.iteri (unsafe_set a) each
