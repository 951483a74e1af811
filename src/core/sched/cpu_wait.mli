(** When a worker looked at the machine's load last, and how long its thread has stood in the run
    queue since then. Its owner's alone (Load). *)

type t = private {
  mutable thread : int;  (** the last one here *)
  mutable looked_at : int;  (** in ticks; 0: not since it came *)
  mutable wall : int;  (** in ns, when it measured last; 0: not since it came *)
  mutable cpu : int;  (** the thread's CPU time then *)
  mutable queued : int;  (** its time in the run queue then *)
}

val make : unit -> t

val arrive : t -> int -> unit
(** This thread has come, and has seen nothing yet to compare with. *)

val come_back : t -> int -> unit
(** The same, unless it was here last: then what the last look saw still holds. *)

val has_looked : t -> bool
val begin_to_look : t -> unit

val look : t -> unit
(** It looks now. *)

val ticks_since_look : t -> int

val measure : t -> noticed:int -> int
(** How long the calling thread stood in the run queue since it measured last, in ns; 0 if less
    than [noticed]. A gap between wall and CPU time may also be a sleep: only the kernel knows. *)
