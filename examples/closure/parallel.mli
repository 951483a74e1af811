(** The job on the workers of a pool: the steps of {!Sequential}, each as a parallel
    loop. *)

val run : Muster.Pool.t -> Meter.t -> string list -> Answer.t
(** [run pool meter texts] reads the indexes' texts in order. Its answer is
    {!Sequential.run}'s.

    {b Raises} {!Text.Malformed}. *)
