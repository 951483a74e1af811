(** The relation fields of a stanza: [Depends], [Pre-Depends], [Provides]. *)

type bound = Any | Earlier | At_most | Exactly | At_least | Later

type t = {
  name : Name.t;
  architecture : Text.span;  (** What follows a colon in [libc6:i386]; else empty. *)
  bound : bound;
  version : Text.span;  (** Empty if [bound] is [Any]. *)
}
(** One alternative: [name], [name:arch], [name (>= version)]. *)

val iter_clauses : string -> Text.span -> (t list -> unit) -> unit
(** [iter_clauses text field f] calls [f] for each comma-separated clause, in order,
    with its alternatives. Empty clauses are passed over.

    {b Raises} {!Text.Malformed}. *)

val meets : t -> string -> Text.span -> bool
(** Whether a version, a span of the given text, lies within the alternative's bound. *)
