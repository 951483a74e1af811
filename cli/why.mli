(** [muster why -- PROGRAM]: the reason for which a program does not scale. *)

val command : int Cmdliner.Cmd.t

val run_of : Watch.run -> alone:Watch.run option -> Rules.run
(** For the rules; [alone] is the run on one domain. *)
