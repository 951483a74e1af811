(** What can be installed. A name's packages are parsed when somebody asks for them first. *)

type t

exception Unreadable of string

type source =
  | Debian of string list  (** indexes *)
  | Opam of string  (** the root of a repository's tree, or an archive of one *)

val load : source -> t
(** {b Raises} {!Unreadable}. *)

val candidates : t -> string -> Package.t list
(** The packages of that name, the best one first. Any domain or task; a task that finds another one
    at it is suspended.

    {b Raises} {!Unreadable}; the next call tries again. *)

val list : t -> Package.t list -> string
(** An answer in the repository's own way to name a version, with blanks between. *)
