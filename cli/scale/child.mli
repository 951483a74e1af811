(** One run of another program: how long, how much of the CPUs, and how it ended. *)

type outcome = {
  seconds : float;
  cpu_seconds : float;  (** user and system, of the program and of those that it waited for *)
  status : Unix.process_status;
  errors : string;  (** the last 64 kB or more of its stderr *)
}

val run : env:(string * string) list -> string list -> (outcome, int * string) result
(** [run ~env (program :: arguments)] runs it with these variables set, without input, its stdout thrown
    away; an error is a program that cannot be started: the status of a shell (126, 127), and why. One at
    a time. While it runs, SIGINT and SIGTERM reach it; of the second it is killed. *)

val run_here :
  env:(string * string) list -> string list -> (Unix.process_status, int * string) result
(** The same with the input and the output of this process. *)

val catch_signals : unit -> unit
(** From now on SIGINT and SIGTERM end the program that runs, and no longer this one. *)

val stopped : unit -> int option
(** The signal that has come since, as a status of this program: 128 and its number. *)

val number : int -> int
(** The system's number of a signal of [Sys]. *)

val code : Unix.process_status -> int
(** As a shell has it. *)
