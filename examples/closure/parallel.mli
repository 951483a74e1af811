(** The job on the workers of a pool: the steps of {!Sequential}, each as a parallel
    loop. *)

val run : Muster.Pool.t -> Meter.t -> string list -> Answer.t
(** [run pool meter texts] reads the indexes' texts in order. Its answer is
    {!Sequential.run}'s.

    {b Raises} {!Text.Malformed}. *)

val read : Meter.t -> string list -> int * Catalogue.t * Graph.t
(** All steps but the last, on the current pool: how many stanzas there are, the packages, and their
    graph.

    {b Raises} {!Text.Malformed}. *)
