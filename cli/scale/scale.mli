(** [muster scale]. *)

val command : int Cmdliner.Cmd.t
