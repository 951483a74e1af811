(** Results of any length for each element of an array. *)

val collect : int -> int -> ('f -> 's -> int -> int -> 'p) -> 'f -> 's -> 'p list
(** [collect code n chunk f s], in order: [chunk f s lo hi] is the piece for these indices. *)

val concat : 'a array list -> 'a array

val widened : 'a array -> 'a -> room:int -> 'a array
(** [widened kept v ~room] is a longer copy of [kept], for elements like [v]: [room] at most. *)
