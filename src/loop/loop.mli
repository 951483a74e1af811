(** [parallel_for] and [parallel_find], and the parts of them that other loops use. *)

val parallel_for : ?grain:int -> start:int -> finish:int -> (int -> unit) -> unit
val parallel_find : ?grain:int -> start:int -> finish:int -> (int -> 'a option) -> 'a option

(** {2 For other loops} *)

val invalid : string -> ('a, unit, string, 'b) format4 -> 'a
(** [invalid fn format …] raises [Invalid_argument] in the name of [Muster.fn]. *)

val check_grain : string -> int option -> unit

val keeping : (Muster_core.Outcome.failure Muster_core.Leftmost.t -> 'a) -> 'a
(** [keeping run] is [run failures]; the leftmost of these is raised at its end. *)

val keep_failure :
  Muster_core.Outcome.failure Muster_core.Leftmost.t -> (int -> unit) -> int -> int -> unit
(** [keep_failure failures f lo hi] calls [f] for [lo] to [hi], and notes what it raises. *)

val search : ?grain:int -> int -> int -> int -> (int -> int -> 'a option) -> 'a option
(** [search code lo hi body] is what [body] finds in the leftmost chunk; it takes the bounds of one.
    *)
