(** Several functions as tasks of one scope. Muster.Task says what each call does. *)

val all : (unit -> 'a) list -> 'a list
val first : (unit -> 'a) list -> 'a
