(** Every example, for programs that run one by its name. *)

val all : Example.t list

val find : string -> int Cmdliner.Cmd.t option
(** [find name] is the command of the example [name]. *)
