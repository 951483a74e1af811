(** For tests: with [MUSTER_GOVERNOR=random:SEED] the load controller draws its numbers instead of
    finding them out, also for pools that insist on theirs, so that workers come and go all the
    time. *)

val draw : (int -> int) option
(** [draw n] is a number from 0 to [n - 1], another one at each call. [None]: the numbers are found
    out. *)
