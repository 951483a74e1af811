(** One run of a program, watched from its first step to its end; or a while of a running one. *)

type refusal = { status : int; why : string }

val run : ?alone:bool -> string list -> (Watch.run, refusal) result
(** Starts the program, with its arguments, and waits for its end. [alone]: on one CPU, with one
    worker, its output and input being /dev/null. *)

val attach : pid:int -> seconds:float option -> (Watch.run, refusal) result
(** Has a running program trace until it ends, the time is over, or Ctrl-C comes. *)
