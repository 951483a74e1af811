(** The reports of [MUSTER_STATS=1] on [stderr]. Nothing happens without it. With it SIGQUIT has all
    waits reported, unless the program has a handler. *)

val at_end : Place.pool -> unit
(** Reports the figures of the pool, once. *)
