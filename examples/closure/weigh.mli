(** What a package pulls in: itself and all that it depends on, directly or not. *)

type scratch
(** The memory of one walk. It can be used again, by one worker at a time. *)

val scratch : packages:int -> scratch

type weight = {
  count : int array;  (** How many packages each one pulls in, itself included. *)
  size : int array;  (** Their installed size together, in KiB. *)
}

val weight : packages:int -> weight
(** All zero, to be filled by {!closure}. *)

val closure : Graph.t -> sizes:int array -> scratch -> weight -> int -> unit
(** [closure graph ~sizes scratch weight p] walks all that [p] reaches and enters the
    result at [p] in [weight]. [sizes] are the packages' own. *)
