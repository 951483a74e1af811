(** Numbers in Prometheus's text format, 0.0.4. *)

val pp : Format.formatter -> name:string -> Workload.Public.stats -> unit
