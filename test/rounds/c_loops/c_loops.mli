(** Loops in C on the current pool's workers. Their cells are plain. *)

type cells = (int, Bigarray.int_elt, Bigarray.c_layout) Bigarray.Array1.t

val cells : int -> cells
(** So many zeros. *)

val slices : cells -> long:bool -> int
(** Adds 1 to each, in slices; is how many worker numbers were seen, or -1 if one was not below
    {!workers}. A [long] slice runs without the runtime lock. *)

val indices : cells -> long:bool -> int
(** The same, index by index. *)

val workers : unit -> int
