(** A persistent first-in first-out queue, for states that are changed as a whole by one
    compare-and-set. No step copies more than 16 elements for each factor of 16 in the length: a
    long step would lose the race against short ones for ever. *)

type 'a t

val empty : 'a t
val is_empty : 'a t -> bool
val length : 'a t -> int
val push : 'a t -> 'a -> 'a t

val push_live : is_live:('a -> bool) -> 'a t -> 'a -> 'a t
(** [push] that drops dead entries now and then, so that at most half of a long queue is dead. *)

type 'a popped = Empty | Oldest of 'a * 'a t

val pop : 'a t -> 'a popped
val exists : ('a -> bool) -> 'a t -> bool

(** In lists the oldest comes first. *)

val of_list : 'a list -> 'a t
val to_list : 'a t -> 'a list
