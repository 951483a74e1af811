(** Work that allocates: complete binary trees of 2{^14} nodes (80 k words). *)

val build_and_drop : int -> int
(** [build_and_drop n] builds [n] trees, one after the other, and sums up what they hold. *)
