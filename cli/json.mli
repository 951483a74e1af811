(** What was found, for programs. *)

val of_facts : Facts.t -> Yojson.Basic.t

val in_utf_8 : Yojson.Basic.t -> Yojson.Basic.t
(** Strings that are not UTF-8 are escaped, as those of paths and arguments may be. *)
