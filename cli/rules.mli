(** The causes that [muster why] tells apart, one rule each: data, so that a cause more is a rule
    more here and a planted program more in the tests. *)

type run = {
  m : Measures.t;
  cpu : float;  (** seconds *)
  kernel : float;  (** of these in the kernel *)
  cpus : float;  (** that the program may use, by affinity and quota *)
  affinity : float;  (** that it may use by affinity alone *)
  throttled : float;  (** seconds for which a quota has stopped it, summed over CPUs *)
  lost : bool;  (** events were lost *)
  alone : float option;  (** {!own_time} of a second run: on one CPU with one worker *)
  pace : float;
      (** how many times as long as in the second run a loop that only computes took meanwhile *)
  task_cost : float;  (** seconds that it takes here to hand out a task and to wait for it *)
  task_bytes : float;  (** that this allocates *)
}

type finding = {
  cause : string;
  gain : float;  (** seconds of the wall that the program would save without it, at most *)
  number : string;  (** the quantity that shows it *)
  advice : string;  (** one thing to try *)
}

val time : float -> string
(** Seconds, for a reader. *)

val workers : Measures.t -> string
(** So many, in words. *)

val is_crowded : run -> bool
(** It has more workers than CPUs. *)

val queued : run -> float
(** Seconds of workers that other programs took from it. *)

val classes : string list
(** The kinds of waits that leave CPUs unused; of several at a time the first counts. *)

val is_of_class : string -> string -> bool
(** [is_of_class call it]: whether a wait in that call is one of the class. *)

val own_time : Measures.t -> cpu:float -> float
(** Seconds on a CPU that went to the program's own code. *)

val findings : run -> finding list
(** The largest gain first. *)

val felt : float
(** A cause that costs less than this part of the time is none: programs that scale were measured
    with up to 12 % for collections of the closures that they fork. *)
