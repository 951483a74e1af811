(** A package's name where it stands in a text, with its hash. *)

type t = private { text : string; span : Text.span; hash : int }

val make : string -> Text.span -> t
val equal : t -> t -> bool
val compare : t -> t -> int
val to_string : t -> string
