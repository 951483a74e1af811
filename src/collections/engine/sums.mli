(** Sums of lists, by the caller alone. Floats are added in runs as by {!Tally.adding}. *)

val ints : int list -> int
val floats : float list -> float
