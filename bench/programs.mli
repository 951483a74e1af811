(** Whole programs: sequential, with Muster and with Domainslib, on 1, 2, … domains. *)

val experiments : Experiment.options -> Experiment.t list
(** [fib] (with a cut-off), [spectral-norm], [life], [nbody], [nbody-shared] (the version
    with false sharing) and [fork-union-nbody]. All must give the sequential answer. *)
