(** What the test of limits counts in texts: comments, interfaces, documents. *)

val of_comment : string -> string
(** A comment's prose: code in it counts as one word. *)

val of_header : string -> string
(** The same of a comment of C, where lines that end in a semicolon or a brace are code. *)

val of_markdown : string -> string
(** A document's prose, without blocks of code and headings. *)

val headless : string -> string list
(** Clauses of [who], [whoever] or [what] that have no noun to belong to, with what stands before. *)

val long_sentences : words:int -> string -> string list
(** Sentences of more than so many words. *)

type value = {
  value : string;  (** the item's first line *)
  free : string;  (** prose outside of the fields *)
  fields : (string * int) list;  (** the fields, and the lines of each *)
}

val values : string -> value list
(** The documented values, exceptions and types of an interface. *)
