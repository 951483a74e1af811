(** Arrays of results. *)

val put : 'a array -> int -> 'a -> unit
(** Sets an element of an array from {!build} that nobody else has seen. *)

val build : int -> int -> (int -> 'a) -> ('a array -> int -> int -> unit) -> 'a array
(** [build code n value rest], of [n] elements, at least 1: [value i] is the element of index [i],
    and [rest a lo hi] puts those of [lo] to [hi] into [a]. [code] is the user's function's. *)
