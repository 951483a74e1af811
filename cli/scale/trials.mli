(** The runs of a program on several numbers of workers, in turn. *)

type who = Sequential | Workers of int

type row = {
  who : who;
  seconds : float;  (** the median of the rounds *)
  vs_sequential : float option;  (** times faster: the median of the rounds' ratios *)
  vs_one : float option;  (** than on one worker *)
  cpus_used : float;  (** CPU time by time *)
}

type t = {
  rows : row list;  (** of all that ran *)
  pools : int list;  (** the sizes of those that did something, on the most workers *)
  failure : (int * string) option;  (** the status to end with, and why there is no more *)
}

val run :
  ?sequential:string -> say:(string -> unit) -> rounds:int -> counts:int list -> string list -> t
(** [run ~sequential ~say ~rounds ~counts command] runs [command] once unmeasured, then [rounds] times
    each: the line of shell [sequential], and [command] on each of these numbers of workers. [say] is told of
    each run as it begins. After a run that fails, or a signal, there is no other. *)
