(** What the job computes, by package number. *)

type t = {
  stanzas : int;  (** How many the index has, older versions included. *)
  packages : Stanza.t array;
  graph : Graph.t;
  weight : Weigh.weight;
}

val difference : t -> t -> string option
(** What differs between two answers, if anything. *)

val heaviest : t -> int -> int list
(** The [n] packages that pull in most by size; of equals, by name. *)

val edges : t -> int
val unmet : t -> int
