(** C kernels by [muster.h]: what a loop costs beside [Team]'s, and Fork Union's n-body in C. *)

val experiments : Experiment.options -> Experiment.t list
