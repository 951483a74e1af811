(** Reductions of elements that come piece by piece. The bracketing depends on their number
    alone. *)

val run : int
(** The elements of a leaf of most reductions, all but the last. *)

type ('a, 'v) fold = private {
  run : int;  (** the elements of a leaf, a power of 2 *)
  first : int -> 'a -> 'v;  (** a leaf begins with it; its index comes first *)
  add : 'v -> 'a -> 'v;
  combine : 'v -> 'v -> 'v;
}
(** How elements are combined. *)

val of_operation : ('a -> 'a -> 'a) -> ('a, 'a) fold

val mapping : run:int -> combine:('v -> 'v -> 'v) -> init:'v -> ('a -> 'v) -> ('a, 'v) fold
(** Of the values of a function; [init] is the leftmost operand. *)

val in_parts :
  run:int ->
  init:(unit -> 'v) ->
  add:('v -> 'a -> 'v) ->
  combine:('v -> 'v -> 'v) ->
  ('a, 'v) fold
(** Each leaf is a part, with an accumulator of its own. *)

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

val leaves : 'v nodes -> int
(** The leaves before the next one. *)

(** {2 Reductions} *)

(** A leaf's value. Unless it is the last one, then come the next one's first element and the
    elements after that. *)
type ('a, 'v, 's) leaf = Last of 'v | Leaf of 'v * 'a * 's

type ('a, 'v, 's) walk = {
  leaf : ('v -> 'a -> 'v) -> 'v -> 's -> int -> ('a, 'v, 's) leaf;
      (** [leaf add v s n] adds [n] elements of [s] to [v]. *)
  rest : int -> ('a, 'v) fold -> 'v nodes -> 'a -> 's -> 'v nodes;
      (** [rest code fold nodes x s] adds [x] and [s], where leaves are not cheap. *)
}
(** How to walk. *)

val reduce : ('a, 'v, 's) walk -> int -> ('a, 'v) fold -> 'a -> 's -> 'v
(** [reduce walk code fold x s] folds [x] and the elements of [s]. *)
