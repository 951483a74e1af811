(** A version of a package, as the solver sees it: whatever repository it comes from. *)

type comparison = [ `Eq | `Neq | `Geq | `Gt | `Leq | `Lt ]

type versions =
  | Any
  | Nothing
  | Is of comparison * string
  | Both of versions * versions
  | Either of versions * versions

val both : versions -> versions -> versions
val either : versions -> versions -> versions

val except : versions -> versions
(** All others. *)

val is_in : string -> versions -> bool
(** By Debian's order, which is opam's. No version, [""], is in [Any] alone. *)

type dependencies =
  | On of string * versions
  | All of dependencies list
  | One of dependencies list  (** the first one is preferred *)

type t = {
  name : string;
  version : string;
  avoid : bool;  (** taken only where no other version does *)
  depends : dependencies;
  conflicts : (string * versions) list;
  classes : string list;  (** at most one package of a class *)
  real : string;  (** the package of which this is a name: its own, or one that it provides *)
}

val newest_first : t -> t -> int
(** Those to avoid last. *)
