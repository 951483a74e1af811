(** Sums and the like of unboxed numbers, by loops of C.

    Bits depend on the length alone. Parts of 8,192 elements are summed by halves down to blocks of
    128, blocks in eight lanes, and the sums of parts by halves. So an element takes part in at most
    16 additions in its lane, 3 of lanes, and log2 (n / 64) of halves, rounded up, where [n] is more
    than 128: fewer than 16 + log2 [n]. *)

(** A vector is a block of floats ([Float.Array.t], or a flat [float array]), or a bigarray. *)
type kind = Heap | Double | Single | Ints

(** {2 Floats}

    [f kind v n], of [n] elements. [v] must be of that kind, and have so many. *)

val sum : kind -> 'v -> int -> float
(** Of [Ints], as floats. *)

val mean : kind -> 'v -> int -> float option

val dot : kind -> 'v -> 'w -> int -> float
(** Of [Heap], [Double] and [Single]; so are {!extremes}. *)

val extremes : kind -> 'v -> int -> (float * float) option
(** The least and the greatest. *)

(** {2 Ints}

    Of a bigarray, wrapping around. *)

val sum_ints : 'v -> int -> int
val sum_tagged : int array -> int -> int
(** Of OCaml's ints, wrapping around. *)

val dot_ints : 'v -> 'w -> int -> int
val extremes_of_ints : 'v -> int -> (int * int) option
