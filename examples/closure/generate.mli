(** A made-up package index: the same text whenever it is made, and for the machine the
    same work as a real one, as far as sizes and shares go. *)

val default_packages : int
(** As many as a Debian release has. *)

val index : packages:int -> string
(** [index ~packages] is an index of that many packages. Two in five are there in an
    older version too. Most dependencies have a bound on the version; some have
    alternatives, name a virtual package, lead in a circle or cannot be met. *)
