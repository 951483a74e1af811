(** How a range is divided: rank [r] has the block [first r] to [first (r + 1) - 1], blocks differ by
    one in length at most. *)

val own : int -> int * int
(** Where this rank's block of so many begins, and where the next one's does. *)

val owner : int -> int -> int
(** [owner n i]: whose block has [i]. *)
