(** When a worker looked at the machine's load last, and how long its thread has stood in the run
    queue since then. Its owner's alone (Load). *)

type t

val make : unit -> t

val arrive : t -> int -> unit
(** This thread has come. It has seen nothing yet to compare with, unless it was here last. *)

val is_new : t -> bool
(** It has not looked yet. *)

val look : t -> unit
(** It looks now. *)

val ticks_since_look : t -> int

val measure : t -> noticed:int -> int
(** How long the calling thread stood in the run queue since it measured last, in ns; 0 if less
    than [noticed]. 6 us. *)
