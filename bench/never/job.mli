(** The four programs, each with its sequential twin. *)

type t

val name : t -> string
val all : t list

type how =
  | Sequential  (** No pool is started. *)
  | Default  (** Plain calls, on the default pool. *)
  | Asked of int  (** On a pool of which so many domains are asked. *)
  | Fixed of int  (** On a pool that insists on so many. *)

val label : how -> string

val of_label : string -> how option
(** [of_label (label how)] is [Some how]. *)

val run : t -> how -> seconds:float -> Figures.t
(** [run job how ~seconds] runs it again and again for that long, at least once: ["time"]
    is the mean of a run in nanoseconds, with the start of the pool, ["answer"] a
    fingerprint. *)
