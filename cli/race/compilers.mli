(** OCaml's compilers with ThreadSanitizer. *)

type built =
  | Sanitized
  | Plain
  | Unknown  (** a script, or a program that is not OCaml's *)

val contains : string -> string -> bool

val built : string -> built
(** By which compiler the file was built. *)

val is_sanitized : unit -> bool
(** Whether the one in PATH has it, with which dune builds. *)

val left : unit -> string option
(** The folder of the one that [make tsan] has left. *)

val with_it : folder:string -> scratch:string -> string list -> string list
(** The command, run where that one is found, and no library of another. [scratch] is a folder for a
    file that findlib reads. *)
