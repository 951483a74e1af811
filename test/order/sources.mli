(** The files that the test of limits reads, and their lines and comments. *)

type t = { path : string; text : string }

val all : t list
(** Every file below src, and every document, as dune lists them. *)

val below : string -> t -> bool
(** [below "src/core" file] tells whether [file] lies in that folder. *)

val is : string list -> t -> bool
(** [is [ ".ml"; ".mli" ] file] tells whether its name ends in one of these. *)

val find : string -> t
(** [find path] is the file of that path.

    {b Raises} [Failure] if there is none. *)

val module_name : t -> string
val lines : t -> string list

val count_lines : t list -> int
(** The lines of all these files together. *)

val columns : string -> int
(** The characters of a line, in UTF-8. *)

val words : t -> int
(** As [wc -w] counts. *)

val comments : t -> string list
(** The insides of the comments of an OCaml or C file, without strings of code. *)
