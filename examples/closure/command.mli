(** The command line. *)

val cmd : int Cmdliner.Cmd.t
(** Its value is the exit status: 0; 1 if a parallel answer differs from the sequential
    one; 2 if an index cannot be read. *)
