(** Arrays of atomics without a box for each: a look at a box costs a table's lookup a third cache
    miss beside two. Indices are not checked. *)

type 'a t

val make : int -> 'a -> 'a t
(** The element must be no float. *)

val length : 'a t -> int

val set_fresh : 'a t -> int -> 'a -> unit
(** For an array that no other domain has seen. *)

val get : 'a t -> int -> 'a
val compare_and_set : 'a t -> int -> 'a -> 'a -> bool
