(** What packages offer beside their own names: the virtual packages of [Provides]. *)

type t = {
  name : Name.t;
  version : Text.span;  (** Empty if the offer names no version. *)
  provider : int;  (** The number of the package that provides it. *)
}

val of_package : Catalogue.t -> int -> t array
(** The offers of a package, in the order of its field. *)

type table = { offers : t array; names : Names.t  (** The offers by name. *) }
