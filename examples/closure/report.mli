(** What the job prints. *)

val weights : Answer.t -> top:int -> unit
(** The size of the index, its heaviest packages, and the histogram of the closures. *)

val times : Runs.run list -> unit
(** The time of each phase and the speed-ups of each run, the sequential one first. *)
