(** What the system says of a running process (Linux; elsewhere nothing). *)

val threads : int -> Account.thread list
(** The threads of that process; none where there is no such process. 20 us for each. *)

val throttled : unit -> int option
(** The ns for which quotas have stopped this process's cgroups, the program's too. *)

val read : string -> string option
(** A file's text, without blanks around it; none if it cannot be read. *)

val first_cpu : unit -> string
(** The number of one that this process may use. *)

val cpus : unit -> float
(** CPUs that this process, and a program that it starts, may use: by affinity and quota. *)
