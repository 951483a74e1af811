(** The stdlib's bigarrays of two dimensions, with the functions below run in parallel where it
    pays. The rules of {!Array.shared} hold here too. {!Bigarray.Array1.sum} and its like take a
    [Bigarray.reshape_1] of the array, which is no copy. *)

include module type of struct
  include Stdlib.Bigarray.Array2
end

val init :
  ('a, 'b) Stdlib.Bigarray.kind ->
  'c Stdlib.Bigarray.layout ->
  int ->
  int ->
  (int -> int -> 'a) ->
  ('a, 'b, 'c) t
(** [init kind layout m n f] has the element [f i j] for each pair of indices of the layout.

    {b Raises} the exception of the leftmost element, in the order of the memory. *)

(** {1 Rows}

    Of images, and of grids whose rows depend on their neighbours. A row shares the array's memory,
    as [slice_left] has it.

    {[
      (* The mean of the pixels above and below, for all but the edges. *)
      let blur (image : (int, _, Bigarray.c_layout) Bigarray.Array2.t) =
        let blurred = Bigarray.Array2.(create Int C_layout (dim1 image) (dim2 image)) in
        Bigarray.Array2.blit image blurred;
        Muster.Parallel.Bigarray.Array2.iteri_rows
          (fun i row ->
            if i > 0 && i < Bigarray.Array2.dim1 image - 1 then
              for j = 0 to Bigarray.Array1.dim row - 1 do
                row.{j} <- (image.{i - 1, j} + image.{i + 1, j}) / 2
              done)
          blurred;
        blurred
    ]}

    A function that has a name should say the type of its row, kind and layout too: else each access
    is a call of C.

    {b Cost}: about 0.1 us for each row, beside the calls. *)

val iteri_rows :
  (int -> ('a, 'b, Stdlib.Bigarray.c_layout) Stdlib.Bigarray.Array1.t -> unit) ->
  ('a, 'b, Stdlib.Bigarray.c_layout) t ->
  unit
(** [iteri_rows f a] calls [f i row] for each row of [a]. The call may write its row. It may read
    other rows only if no call writes them. *)

val mapi_rows :
  (int -> ('a, 'b, Stdlib.Bigarray.c_layout) Stdlib.Bigarray.Array1.t -> 'd) ->
  ('a, 'b, Stdlib.Bigarray.c_layout) t ->
  'd array
(** [mapi_rows f a] is the array of the values of [f i row], such as the sums of the rows. *)
