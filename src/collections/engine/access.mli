(** Elements of bigarrays. Where the kind is not known every access is a call of C; these ask for it
    once. *)

type ('a, 'b) view = ('a, 'b, Bigarray.c_layout) Bigarray.Array1.t

val getter : ('a, 'b) view -> int -> 'a
(** [getter v] reads an element, without a check. *)

val setter : ('a, 'b) view -> int -> 'a -> unit
(** [setter v] writes an element, without a check. *)
