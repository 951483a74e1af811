(** [muster race]: the data races of a program, by ThreadSanitizer. *)

val command : int Cmdliner.Cmd.t
