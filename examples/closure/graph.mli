(** Which packages a package pulls in directly.

    A clause [a | b | c] is met by the first alternative that names a package whose
    version and architecture fit; failing that, for the first alternative that has one,
    by the first package that provides it. A bound on the version is met by no offer
    without a version. *)

type node = {
  targets : int array;  (** The packages it depends on, each once, without itself. *)
  unmet : int;  (** Clauses that no package of the index meets. *)
}

val alone : node
(** It depends on nothing. *)

val node : Catalogue.t -> Offer.table -> int -> node
(** [node catalogue offers p] resolves [Pre-Depends] and [Depends] of package [p]. *)

type t = node array
