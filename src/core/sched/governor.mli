(** How many CPUs the process leaves to others: a pure rule from state and sample to state, so that
    recorded traces can be played to it. Times are in ns. *)

type t = {
  lent : int;  (** CPUs that the process leaves to others *)
  since : int;  (** when the looks began that the next decision rests on; far in the past if none *)
  waited : int;  (** since then, all workers together *)
  idle : int option;  (** {!sample}'s, then *)
  raised_at : int;  (** when a CPU was taken back last *)
  patience : int;  (** for so long a CPU has to be free before it is taken back *)
}

type sample = {
  now : int;
  waited : int;  (** in the run queue, since this worker's last look *)
  often_halted : bool;
      (** by collections, so that a worker that waits holds up the others (Collection_rate) *)
  idle : unit -> int option;
      (** for how long the machine's CPUs have had nothing to run, all together, if that is known *)
}

val start : t

val observe : cpus:int -> online:int -> t -> sample -> t
(** [cpus] that the process may use, of [online] that the machine has. *)

val give_way : cpus:int -> t -> int -> t
(** Lends a CPU more at this time, if there is one to lend. *)

val is_watching : t -> bool
(** Whether a sample is of use though its worker has not waited. *)

val noticed : int
(** A wait that counts. *)

val shortest : int
val longest : int
(** Bounds of [patience]. *)
