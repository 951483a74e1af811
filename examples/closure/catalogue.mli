(** The packages of an index: of all stanzas with one name, the newest. *)

type t = {
  packages : Stanza.t array;  (** In the order in which their names first occur. *)
  names : Names.t;  (** The stanzas by name. *)
  number : int array;  (** The package that the first stanza of a name stands for. *)
}

val newest : Names.t -> Stanza.t array -> int -> Stanza.t
(** [newest names stanzas first] is the newest stanza of the name that occurs first in
    [stanzas.(first)]; of equal versions, the first. *)

val firsts : Names.t -> Stanza.t array -> int array
(** The stanzas, in order, whose names did not occur before. *)

val make : Names.t -> firsts:int array -> Stanza.t array -> Stanza.t array -> t
(** [make names ~firsts stanzas packages], where [packages.(p)] is the newest stanza of
    the name of [stanzas.(firsts.(p))]. *)

val find : t -> Name.t -> int
(** The number of the package of that name, or -1. *)
