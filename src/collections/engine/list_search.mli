(** Searches in lists. *)

val seek : ('a -> bool) -> 'a list -> (int * 'a) option
(** The first element that satisfies the predicate, with its index. *)

val find_map : ('a -> 'b option) -> 'a list -> 'b option
val find_mapi : (int -> 'a -> 'b option) -> 'a list -> 'b option
val for_all : ('a -> bool) -> 'a list -> bool
val exists : ('a -> bool) -> 'a list -> bool
val mem : 'a -> 'a list -> bool
val memq : 'a -> 'a list -> bool
