(** Eio, where it is installed. *)

type submit = (unit -> unit) -> unit

type t = {
  fibers : (unit -> unit) list -> unit;  (** runs them at once, in one domain *)
  executor_pool : int -> (submit -> unit) -> unit;  (** of so many domains, a job at a time each *)
}

val within : ((t -> unit) -> unit) option
(** Calls the function as a fiber of a new loop. *)
