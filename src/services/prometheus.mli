(** Numbers in Prometheus's text format, 0.0.4. *)

val pp : Format.formatter -> (string * Job_stats.stats) list -> unit
(** Of workers, each with its name. *)
