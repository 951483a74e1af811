(** What the test of limits reads from OCaml's syntax trees. *)

type func = { where : string; lines : int; parameters : int }

val functions : Sources.t -> func list
(** Every function of a file that has a name, those within others too. *)

val fields : Sources.t -> string -> int
(** [fields file name] is the number of fields of the record type [name].

    {b Raises} [Failure] if the file declares no such record. *)

val opened : Sources.t -> string list
(** The modules that a file opens whole. *)

val has_no_code : Sources.t -> bool
(** Whether a file gives modules of others their names, or defines types, and does nothing else. *)

val named : Sources.t -> string list
(** The modules that a file names, as [ocamldep -modules] tells. *)
