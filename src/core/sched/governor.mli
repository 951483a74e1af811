(** How many CPUs the process leaves to others: a pure rule from state and sample to state, so that
    recorded traces can be played to it. Times are in ns. *)

type t = {
  lent : int;  (** CPUs that the process leaves to others *)
  calm_since : int;  (** of the looks that found a CPU free; far in the past if the last did not *)
  wait_at : int;  (** the last notable wait *)
  raised_at : int;  (** when a CPU was taken back last *)
  changed_at : int;
  patience : int;  (** for so long a CPU has to be free before it is taken back *)
  looked_at : int;
}

type sample = {
  now : int;
  waited : int;  (** in the run queue, since this worker's last look *)
  often_halted : bool;
      (** by collections, so that a worker that waits holds up the others (Collection_rate) *)
  runnable : int option;  (** threads of the whole machine that run or could *)
}

val start : t

val observe : cpus:int -> online:int -> t -> sample -> t
(** [cpus] that the process may use, of [online] that the machine has. *)

val noticed : int
(** A wait that counts if it comes twice. *)

val telling : int
(** A wait that counts at once. *)

val shortest : int
val longest : int
(** Bounds of [patience]. *)
