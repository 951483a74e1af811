(** The elements of an array that a predicate chooses, in order. *)

type marks
(** A byte for each element. *)

val mark : marks -> int -> bool -> unit

val marks : int -> int -> ('f -> 's -> marks -> int -> int -> unit) -> 'f -> 's -> marks
(** [marks code n chunk f s]: [chunk f s marks lo hi] marks each of these indices. *)

type chosen

val choose : others:bool -> marks -> chosen
(** The marked elements, or the others. *)

val total : chosen -> int

val first : chosen -> int
(** The index of the first one; there must be one. *)

type found = private { offsets : bytes; start : int; count : int }
(** The chosen ones of a block. *)

val index : found -> int -> int
(** The index of the [j]-th of these. *)

val move : chosen -> (int -> found -> unit) -> unit
(** [move chosen put]: [put at found] puts the elements of [found] into the result from [at] on. *)
