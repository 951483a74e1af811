(** Plain sentences about what was found. *)

val plural : int -> string -> string
(** [plural 2 "worker"] is ["2 workers"]. *)

val source : Facts.source -> string

val plan : Muster_core.Cpu.report -> string
(** How many workers the default pool will run, and why. *)

val sees : Facts.sight -> string
(** What of the machine's other work is visible: completes "the pool sees". *)

val beside_others : Facts.t -> string
(** How many CPUs the pool would use beside the programs that run now, and why. *)

val heap : Facts.t -> string
(** What becomes of the minor heaps. *)

val idle : string
(** What becomes of workers without work. *)

val warnings : Facts.t -> string list
(** What may make programs slower than they could be, each with what to do about it. *)
