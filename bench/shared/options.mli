(** What the command lines of the benchmarks share. *)

val positive : int Cmdliner.Arg.conv
(** A number from 1. *)

val file : string -> string -> string option Cmdliner.Term.t
(** [file name doc] is the option [--name FILE]. *)

val obstacle : string -> string option
(** Why a file cannot be written, as far as that shows before it is: it changes nothing. *)

val write : string -> string -> unit
(** [write file text] replaces what is in [file]. *)
