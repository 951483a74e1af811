(** [muster run EXAMPLE]: the examples, each a command with options of its own. *)

val command : int Cmdliner.Cmd.t
