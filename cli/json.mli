(** What was found, for programs. *)

val of_facts : Facts.t -> Yojson.Basic.t
