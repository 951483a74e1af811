(** Where reductions of arrays are cut: by the length alone, so that the result does not depend on
    the number of workers. *)

val reduce : ?most:int -> code:int -> int -> (int -> int -> 'a) -> ('a -> 'a -> 'a) -> 'a
(** [reduce ~code n leaf op], of [n] elements, at least 1: [leaf lo hi] reduces these. There are at
    most [most] leaves. *)

val least : ('a -> 'a -> int) -> 'a -> 'a -> 'a
(** The lesser of two; the left one, if they are equal. *)

val greatest : ('a -> 'a -> int) -> 'a -> 'a -> 'a
