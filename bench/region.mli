(** What a region costs: a parallel loop over 128 trivial iterations, back to back. *)

val experiments : Experiment.options -> Experiment.t list
(** [slices], [dynamic], [loop], [broadcast], and [broadcast-4] and [broadcast-8], which
    have more domains than a small machine has cores. *)
