(** One run of a program, watched from its first step to its end; or a while of a running one. *)

type refusal = { status : int; why : string }

val run : ?alone:bool -> ?timeline:bool -> string list -> (Watch.run, refusal) result
(** Starts the program, with its arguments, and waits for its end. [alone]: on one CPU, with one
    worker, its output and input being /dev/null. [timeline]: tasks of a few us are not sampled,
    though that is felt. *)

val attach : ?timeline:bool -> pid:int -> float option -> (Watch.run, refusal) result
(** Has a running program trace until it ends, the time is over, or Ctrl-C comes. *)
