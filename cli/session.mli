(** One run of a program, watched from its first step to its end; or a while of a running one. *)

type refusal = { status : int; why : string }

(** The command's input: a file and the place to read from, or a pipe, which can be read once. *)
type input = File of int | Stream | Nothing

val input : unit -> input

val is_idle : unit -> bool
(** Nothing can be read there now, not even its end. *)

val run : ?alone:input -> ?span:bool -> ?timeline:bool -> string list -> (Watch.run, refusal) result
(** Starts the program, with its arguments, and waits for its end. [alone]: on one CPU, with one
    worker, its output being /dev/null; it reads the same file again, or nothing. [span]: the
    first of two runs, in both of which the CPUs are measured ({!Gauge}). [timeline]: tasks
    of a few us are not sampled, though that is felt. *)

val attach : ?timeline:bool -> pid:int -> float option -> (Watch.run, refusal) result
(** Has a running program trace until it ends, the time is over, or Ctrl-C comes. *)
