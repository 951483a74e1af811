(* As Array, over bigarrays of one dimension.

   Which element an address holds is known where kind and layout are: elsewhere every access is a
   call of C. So each operation asks for both once, and takes functions that read and write
   elements of that kind (Access). The layout is no matter: a view of the array counts from 0. *)

[@@@warning "-unused-value-declaration"]

module A = Stdlib.Array
module List = Stdlib.List
include Stdlib.Bigarray.Array1

let name = "Parallel.Bigarray.Array1"

(* {2 Views} *)

type ('a, 'b) view = ('a, 'b) Access.view

let view a : _ view = change_layout a Stdlib.Bigarray.c_layout
let length = dim
let source a = Access.getter (view a)
let target a = Access.setter (view a)
let[@inline] read get i = get i
let[@inline] write set i v = set i v
let[@inline] rewrite set i v = set i v
let first : type c. c Stdlib.Bigarray.layout -> int = function C_layout -> 0 | Fortran_layout -> 1
let blank a n _ = create (kind a) (layout a) n

let set_all n chunk f s r =
  Chunks.fill (Machine.code_of f) n chunk f s (target r);
  r

let build a n _ chunk f s = set_all n chunk f s (blank a n 0)
let[@inline] is_equal x y = Stdlib.compare y x = 0
let numbered a f = match first (layout a) with 0 -> f | from -> fun i v -> f (from + i) v
let indexed a found = Option.map (( + ) (first (layout a))) found

let map2_few f a b =
  if dim a <> dim b then
    Caller.invalid (name ^ ".map2") "dimensions = %d and %d differ" (dim a) (dim b);
  let r = blank a (dim a) 0 in
  if dim a > 0 then target r 0 (f (source a 0) (source b 0));
  r

let copy a =
  let made = blank a (dim a) 0 in
  blit a made;
  made

(* {2 Numbers} *)

let refuse fn = Caller.invalid (name ^ "." ^ fn) "the kind is not float64, float32 or int"

let sum : type a b c. (a, b, c) t -> a =
 fun a ->
  match kind a with
  | Float64 -> Numeric.sum Double a (dim a)
  | Float32 -> Numeric.sum Single a (dim a)
  | Int -> Numeric.sum_ints a (dim a)
  | _ -> refuse "sum"

let dot : type a b c d. (a, b, c) t -> (a, b, d) t -> a =
 fun a b ->
  let n = dim a in
  if n <> dim b then Caller.invalid (name ^ ".dot") "dimensions = %d and %d differ" n (dim b);
  match kind a with
  | Float64 -> Numeric.dot Double a b n
  | Float32 -> Numeric.dot Single a b n
  | Int -> Numeric.dot_ints a b n
  | _ -> refuse "dot"

let mean : type a b c. (a, b, c) t -> float option =
 fun a ->
  match kind a with
  | Float64 -> Numeric.mean Double a (dim a)
  | Float32 -> Numeric.mean Single a (dim a)
  | Int -> Numeric.mean Ints a (dim a)
  | _ -> refuse "mean"

let min_max : type a b c. (a, b, c) t -> (a * a) option =
 fun a ->
  match kind a with
  | Float64 -> Numeric.extremes Double a (dim a)
  | Float32 -> Numeric.extremes Single a (dim a)
  | Int -> Numeric.extremes_of_ints a (dim a)
  | _ -> refuse "min_max"

(* {2 Results of any length} *)

let joined a pieces =
  let made = blank a (List.fold_left (fun n piece -> n + dim piece) 0 pieces) 0 in
  let whole = view made and at = ref 0 in
  let add piece =
    blit (view piece) (sub whole !at (dim piece));
    at := !at + dim piece
  in
  List.iter add pieces;
  made

(* {2 Sorting} *)

let sort cmp a =
  let each = A.init (dim a) (source a) in
  Merge_sort.sort cmp each;
  A.iteri (target a) each

let stable_sort = sort
