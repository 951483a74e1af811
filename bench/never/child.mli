(** Measurements are processes of their own, so that what a situation does applies to all
    of them: affinity, quota, a pool of another size. *)

type confine = string list -> string list
(** Makes a command line one that runs the command in some confines. *)

val anywhere : confine

val this : string
(** This program, to which [main.ml] gives sub-commands for its children. *)

val alone : string
(** The program that does not link Muster. *)

val start : string -> string list -> output:Unix.file_descr -> int
(** [start program arguments ~output] is the new process. Its environment has no settings
    for OCaml's runtime, nor for Muster. *)

val run : ?confine:confine -> string -> string list -> Figures.t
(** [run program arguments] is what the process printed.

    {b Raises} [Failure] if it fails, or runs for more than a minute. *)
