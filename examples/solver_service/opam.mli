(** Opam files, for Linux on x86_64: without tests, documentation and optional dependencies. *)

exception Malformed of { file : string; reason : string }

val parse : name:string -> version:string -> string -> Package.t option
(** The package of an opam file with this text; [None] if it is not available here.

    Any domain: the parser of opam-file-format 2.2 keeps a table of strings for each.

    {b Raises} {!Malformed}. *)
