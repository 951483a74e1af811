(** A sequential phase that allocates, after a phase that builds and drops trees. *)

type t = Trees  (** which the major heap sees some of *) | Lists  (** which die young *)

val all : (string * t) list

val before_trees : int
(** How many trees the phase before builds. *)

val time : t -> float
(** [time kind] is the nanoseconds that the phase took, which begins after a pause. *)
