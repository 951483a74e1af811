(** Lists that are made from the front and then linked. *)

type 'a t
(** A list, and its last cell. Linking writes that cell, which nobody else has seen yet: nothing is
    copied. *)

val long : int
(** The length from which lists are copied to the major heap by their makers. *)

val whole : 'a list -> 'a t
(** One to which nothing will be linked. *)

val of_list : index:int -> 'a list -> 'a t
(** [index] is the list's place in the result. *)

val of_reversed : index:int -> 'a list -> 'a t
val join : 'a t list -> 'a list
