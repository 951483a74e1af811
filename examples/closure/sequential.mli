(** The job as a plain sequential program. *)

val run : Meter.t -> string list -> Answer.t
(** [run meter texts] reads the indexes' texts in order.

    {b Raises} {!Text.Malformed}. *)
