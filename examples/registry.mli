(** Every example, for programs that run one by its name. *)

val twins : Example.t list
(** Parallel programs beside sequential ones. *)

val programs : Example.t list
(** Others: each has options of its own. *)

val all : Example.t list

val find : string -> int Cmdliner.Cmd.t option
(** [find name] is the command of the example [name]. *)
