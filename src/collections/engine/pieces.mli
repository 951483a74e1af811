(** Results of any length for each element of an array. *)

val collect : int -> int -> ('f -> 's -> int -> int -> 'p) -> 'f -> 's -> 'p list
(** [collect code n chunk f s], in order: [chunk f s lo hi] is the piece for these indices. *)

val concat : 'a array list -> 'a array

(** {2 The elements that a chunk keeps} *)

type 'a buffer

val buffer : unit -> 'a buffer

val keep : 'a buffer -> 'a -> room:int -> unit
(** [room]: the most elements that may follow, this one included. *)

val contents : 'a buffer -> 'a array
