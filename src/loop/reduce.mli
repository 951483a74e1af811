(** Reductions: only associativity is needed, and the result is the same to the last bit whatever
    the number of workers, because the tree of combinations depends on the range and the grain
    alone. Scheduling decides where a subtree is computed, not its shape. *)

val parallel_reduce :
  ?grain:int -> start:int -> finish:int -> combine:('a -> 'a -> 'a) -> init:'a -> (int -> 'a) -> 'a

(** {2 For collections} *)

val over :
  code:int -> per_leaf:int -> last:int -> (int -> 'a) -> ('a -> 'a -> 'a) -> 'a
(** [over ~code ~per_leaf ~last leaf combine] combines leaves [0] to [last] that are a tight loop
    each, about [per_leaf] iterations of the user's function, whose code is [code]. *)

val indices : ?grain:int -> int -> int -> int -> ('a -> 'a -> 'a) -> (int -> 'a) -> 'a
(** [indices code start finish combine f] is {!parallel_reduce} of a range that is not empty; costs
    are remembered under [code]. *)

val cut : ?grain:int -> int -> int -> int * int
(** [cut ?grain start finish]: the length of the leaves, and the index of the last. *)
