(** One run of a program, watched from its first step to its end; or a while of a running one. *)

type seen =
  | Nothing  (** no ring: no program of OCaml 5 *)
  | Rings  (** a ring, but no worker has told anything *)
  | Muster

type t = {
  outcome : Recording.outcome;
  seen : seen;
  measures : Measures.t;
  cpu : float;  (** seconds of CPU time *)
  cpus : float;  (** that it may use *)
  throttled : float;  (** seconds for which a quota has stopped it *)
  lost : int;  (** see {!Rings.lost} *)
  interrupted : bool;  (** by Ctrl-C, of the command *)
  recording : Recording.t Lazy.t;  (** without measures and verdict *)
}

type refusal = { status : int; why : string }

val run : ?alone:bool -> string list -> (t, refusal) result
(** Starts the program, with its arguments, and waits for its end. [alone]: on one CPU, with one
    worker, its output and input being /dev/null. *)

val attach : pid:int -> seconds:float option -> (t, refusal) result
(** Has a running program trace until it ends, the time is over, or Ctrl-C comes. *)
