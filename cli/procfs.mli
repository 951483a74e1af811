(** What the system says of a running process (Linux; elsewhere nothing). *)

val threads : int -> Account.thread list
(** The threads of that process; none where there is no such process. 20 us for each. *)

val is_there : int -> bool
(** Whether there is such a process, which has not ended. *)

val is_stopped : int -> bool
(** By a signal, or a debugger. *)

val in_kernel : int -> float option
(** The seconds of CPU time that this process has spent in the kernel so far. *)

(** The CPUs that a process may use. *)
type room = {
  allowed : int list;  (** by affinity: their numbers, if they are known *)
  affinity : int;  (** so many *)
  cpus : float;  (** by affinity and quota *)
  stats : string list;  (** the [cpu.stat] of its cgroup and of those around it *)
}

val room : int -> room
(** Of that process. 100 us. *)

val throttled : room -> int option
(** The ns for which a quota has stopped it, summed over CPUs. *)

val read : string -> string option
(** A file's text, without blanks around it; none if it cannot be read. *)

val first_cpu : unit -> int
(** The number of one that this process may use. *)
