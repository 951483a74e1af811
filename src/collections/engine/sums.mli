(** Sums of lists and sequences, by the caller alone.

    Floats are added in runs of 16, and these by halves. So an element takes part in at most 15
    additions in its run and log2 (n / 16), rounded up, of runs: fewer than 16 + log2 [n]. *)

val ints : int list -> int
val floats : float list -> float
val seq_ints : int Seq.t -> int
val seq_floats : float Seq.t -> float
