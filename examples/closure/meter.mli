(** Times the phases of a run, and shows on a terminal how far it is. *)

type t

val create : string -> t
(** A meter for the run of that name. *)

val phase : t -> string -> steps:int -> ((int -> unit) -> 'a) -> 'a
(** [phase t name ~steps f] is [f advance], timed. [f] may call [advance n], from any
    domain, when [n] more of its [steps] are done. *)

val times : t -> (string * float) list
(** The phases so far and the seconds each took, in order. *)
