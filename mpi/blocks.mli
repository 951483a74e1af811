(** How a range is divided: rank [r] has the block [first r] to [first (r + 1) - 1], blocks differ by
    one in length at most. *)

val first : int -> int -> int
(** [first n rank]: where the rank's block of [n] begins. *)

val owner : int -> int -> int
(** [owner n i]: whose block has [i]. *)
