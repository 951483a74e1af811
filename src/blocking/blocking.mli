(** Calls that block a thread, made by tasks that must not block their worker. *)

val call : (unit -> 'a) -> 'a
(** [Muster.Task.blocking]. *)
