(** Tables of text: the first column flush left, the others flush right. *)

type t = { title : string; header : string list; rows : string list list }

val to_text : t -> string
val to_markdown : t -> string
