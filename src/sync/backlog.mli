(** A persistent first-in first-out queue of messages, for states that are changed as a whole by
    one compare-and-set. A step copies at most 16 elements for each factor of 16 in the length,
    not the whole queue: a step that is long loses the race against short ones, and is tried
    again for ever. *)

type 'a t

val empty : 'a t
val push : 'a t -> 'a -> 'a t

type 'a popped = Empty | Oldest of 'a * 'a t

val pop : 'a t -> 'a popped

val of_list : 'a list -> 'a t
(** The oldest first. *)

val to_list : 'a t -> 'a list
