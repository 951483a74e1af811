(** How libraries that know no scheduler wait in Muster's tasks and callers. *)

val within : (unit -> 'a) -> 'a
(** [Dla.within], for waits that are {!Waiter.wait}. *)
