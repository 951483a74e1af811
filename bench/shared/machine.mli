(** Where the figures come from. *)

val facts : unit -> (string * string) list
(** Names and values: date, processor, CPUs, load, OCaml, build profile. *)

val table : (string * string) list -> Table.t
val json : (string * string) list -> [> `Assoc of (string * [> `String of string ]) list ]
