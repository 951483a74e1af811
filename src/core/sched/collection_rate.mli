(** How often minor collections halt the program: a pure rule from state and sample to state. *)

type t = {
  cpu : int;  (** CPU time of the process when the count began, in ns *)
  collections : int;  (** collections until then *)
  often : bool;  (** so often that a worker that waits for a CPU does harm *)
}

val start : t

val observe : cpus:int -> running:int -> t -> cpu:int -> collections:int -> t
(** [cpus] that the process may use, on [running] of which it has workers now. The state stays as it
    was until enough has happened to judge. *)
