(** What a fork costs: naive Fibonacci with a fork at every call and no cut-off. *)

val experiments : Experiment.options -> Experiment.t list
(** [fork] ([both]), [task] ([async], [await]) and [words] (what a [both] allocates). *)
