(** Each kind of wait, for tests of what becomes of a party that waits. *)

type t = unit -> (unit -> unit) * (unit -> unit)
(** Makes a wait for a new event, and the function that has the event come. *)

val latch : t

val through : ((unit -> unit) -> unit) -> t
(** [through call] waits for a latch in the function that it gives to [call]. *)

val all : (string * t) list
(** Those at one object, with their names. *)
