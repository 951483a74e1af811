(** What was found, for people. *)

val of_facts : Facts.t -> string
