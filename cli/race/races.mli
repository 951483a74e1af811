(** Races of a program: ThreadSanitizer's reports in terms of its own sources. *)

type t

val find : roots:string list -> t
(** None yet. The user's code is what lies below the roots, where the first that has a file counts;
    it may have Muster's sources among it, which are not the user's. *)

val add : t -> Sanitizer.report -> unit
(** Joins it with those of the same pair of places in the user's code. Leaves out what is the
    runtime's: a race with its collector, or among its own threads. *)

val count : t -> int
(** Pairs. *)

val found_any : t -> bool
(** Whether there is anything to be told. *)

val to_string : t -> string
(** Each pair once, in the order in which they came, and how many there are; empty for none. *)
