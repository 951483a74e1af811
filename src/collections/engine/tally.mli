(** Reductions of elements that come piece by piece. The bracketing depends on their number
    alone. *)

val run : int
(** The elements of a leaf, all but the last. *)

type 'a nodes
(** The nodes of the tree so far, of all pieces or of one. *)

val none : 'a nodes

val push : ('a -> 'a -> 'a) -> int -> int -> 'a -> 'a nodes -> 'a nodes
(** [push op at rank value nodes] adds the node of that rank that begins at leaf [at]. *)

val failed : Muster_core.Outcome.failure -> 'a nodes -> 'a nodes
(** The nodes of a piece that was stopped by an exception. *)

val append : ('a -> 'a -> 'a) -> 'a nodes -> 'a nodes -> 'a nodes
(** Puts a piece to the nodes left of it; raises its failure. *)

val total : ('a -> 'a -> 'a) -> 'a nodes -> 'a option

val value : ('a -> 'a -> 'a) -> 'a nodes list -> 'a option
(** The value of pieces in order; raises the leftmost failure. *)
