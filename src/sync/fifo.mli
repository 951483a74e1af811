(** A persistent first-in first-out queue of waiters, for states that are changed as a whole by one
    compare-and-set. Amortised O(1). *)

type 'a t

val empty : 'a t
val is_empty : 'a t -> bool

val push : is_live:('a -> bool) -> 'a t -> 'a -> 'a t
(** Lets go of entries that are not live, now and then, so that at most half of a long queue is
    dead. *)

val pop : 'a t -> ('a * 'a t) option
(** The oldest entry. *)

val exists : ('a -> bool) -> 'a t -> bool

val to_list : 'a t -> 'a list
(** The oldest first. *)
