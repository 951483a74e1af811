(** Where the figures come from. *)

val facts : domains:int -> repeat:int -> quick:bool -> (string * string) list
(** Names and values: date, processor, CPUs, load, OCaml, build profile, the options. *)
