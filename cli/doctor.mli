(** [muster doctor]: what a pool finds on this machine and what it makes of it. *)

val command : int Cmdliner.Cmd.t
