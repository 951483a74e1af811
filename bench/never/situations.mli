(** The situations in which a program must not be slower than its sequential twin. *)

type t

val name : t -> string
val doc : t -> string
val all : t list

val run : Turns.options -> t -> Row.t list
(** What cannot be measured here makes a row that says why. *)
