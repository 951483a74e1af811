(** The picture of the README: what a fork costs, and what two domains gain. *)

val svg : domains:int -> Outcome.t list -> string option
(** [svg ~domains outcomes] draws the minima of [fork] and of the programs; [None] if
    neither was measured. *)
