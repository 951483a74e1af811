(** Plain sentences about what was found. *)

val plural : int -> string -> string
(** [plural 2 "worker"] is ["2 workers"]. *)

val source : Facts.source -> string

val plan : Muster_core.Cpu.report -> string
(** How many workers the default pool will run, and why. *)

val warnings : Facts.t -> string list
(** What may make programs slower than they could be, each with what to do about it. *)
