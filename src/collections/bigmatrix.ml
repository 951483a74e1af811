module B = Stdlib.Bigarray
include B.Array2

(* {2 Elements}

   In the order in which they lie in memory, as the stdlib calls the function. *)

let flat a : _ Access.view =
  B.Array1.change_layout (B.reshape_1 (B.genarray_of_array2 a) (dim1 a * dim2 a)) C_layout

let compute (type c) (a : (_, _, c) t) f =
  let set = Access.setter (flat a) and height = dim1 a and width = dim2 a in
  let body =
    match layout a with
    | C_layout -> Loop.pairs (fun i j -> set ((i * width) + j) (f i j)) (0, 0) width
    | Fortran_layout ->
      Loop.pairs (fun j i -> set (((j - 1) * height) + i - 1) (f i j)) (1, 1) height
  in
  ignore (Loop.sweep (Machine.code_of f) 0 ((height * width) - 1) body)

let init kind layout m n f =
  let made = create kind layout m n in
  if m > 0 && n > 0 then compute made f;
  made

(* {2 Rows}

   The first slice of an array changes the array: it gets a count of those who share its memory, by
   plain steps of the runtime. So the caller makes one before the others do. *)

type ('a, 'b) matrix = ('a, 'b, B.c_layout) t

(* The stdlib refuses to slice an array without columns. *)
let slice (a : _ matrix) i =
  if dim2 a > 0 then slice_left a i else B.Array1.create (kind a) C_layout 0

let shareable a =
  if dim1 a > 0 then ignore (Sys.opaque_identity (slice a 0));
  a

let row f a i = f i (slice a i)

let rows_chunk f a lo hi =
  for i = lo to hi do
    f i (slice a i)
  done

let map_chunk f a made lo hi =
  for i = lo to hi do
    Fresh.put made i (row f a i)
  done

let iteri_rows f a = Chunks.run (Machine.code_of f) (dim1 a) rows_chunk f (shareable a)
let mapi_rows f a = Fresh.build (Machine.code_of f) (dim1 a) row map_chunk f (shareable a)
