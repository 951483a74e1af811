(** Reductions of elements that come piece by piece. The bracketing depends on their number
    alone. *)

val run : int
(** The elements of a leaf of most reductions, all but the last. *)

type ('a, 'v) fold = private {
  run : int;  (** the elements of a leaf, a power of 2 *)
  first : 'a -> 'v;  (** the first leaf begins with it *)
  next : 'a -> 'v;  (** and so does each other one *)
  add : 'v -> 'a -> 'v;
  combine : 'v -> 'v -> 'v;
}
(** How elements are combined. *)

val start : ('a, 'v) fold -> int -> 'a -> 'v
(** [start fold i x] is what leaf [i] begins with, from its first element. *)

val of_operation : ?run:int -> ('a -> 'a -> 'a) -> ('a, 'a) fold

val adding : (float, float) fold
(** A sum, in leaves of 16: so an element takes part in at most 15 additions in its leaf and log2
    (n / 16), rounded up, of leaves. *)

val mapping : run:int -> combine:('v -> 'v -> 'v) -> init:'v -> ('a -> 'v) -> ('a, 'v) fold
(** Of the values of a function; [init] is the leftmost operand. *)

val in_parts :
  run:int -> init:(unit -> 'v) -> add:('v -> 'a -> 'v) -> combine:('v -> 'v -> 'v) -> ('a, 'v) fold
(** Each leaf is a part, with an accumulator of its own. *)

type 'a nodes
(** The nodes of the tree so far, of all pieces or of one. *)

val none : 'a nodes

val push : ('a -> 'a -> 'a) -> int -> int -> 'a -> 'a nodes -> 'a nodes
(** [push op at rank value nodes] adds the node of that rank that begins at leaf [at]. *)

val widest : int -> int -> int
(** [widest i leaves] is the highest rank of a node that begins at leaf [i] and has at most so many
    leaves. *)

val failed : Outcome.failure -> 'a nodes -> 'a nodes
(** The nodes of a piece that was stopped by an exception. *)

val append : ('a -> 'a -> 'a) -> 'a nodes -> 'a nodes -> 'a nodes
(** Puts a piece to the nodes left of it; raises its failure. *)

val total : ('a -> 'a -> 'a) -> 'a nodes -> 'a option

val leaves : 'v nodes -> int
(** The leaves before the next one. *)

(** {2 Reductions} *)

type 's at = { mutable rest : 's }
(** A place in a list or sequence. *)

type ('a, 'v, 's) source = {
  node : ('a, 'v) fold -> 's at -> int -> int -> 'v;
      (** [node fold at i rank] is the node of that rank which begins at leaf [i], or as much of it
          as there is, of elements from [at] on, where there is one; then [at] is behind it. *)
  is_end : 's -> bool;
  others : int -> ('a, 'v) fold -> 'v nodes -> 's -> 'v nodes;
      (** [others code fold nodes s] adds what [s] has, where leaves are not cheap. *)
}
(** A kind of list. *)

val reduce : ('a, 'v, 's) source -> int -> ('a, 'v) fold -> 's -> 'v
(** [reduce source code fold s] folds the elements of [s], at least one. *)
