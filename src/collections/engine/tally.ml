(* Reductions of elements that come piece by piece, whose bracketing depends on the length alone.

   Runs of [run] elements are combined from left to right and are the leaves of a binary tree that
   grows as a binary counter does: two neighbours of one rank become one of the next, if the left
   one's position is even at that rank; at the end what is left is combined from the right. So a
   piece may begin at any leaf: it combines what it has both sides of, and the rest is done when
   the pieces are put together, in the same tree. *)

module Fiber = Muster_core.Fiber
module Outcome = Muster_core.Outcome

let run = 16

(* The last one first. *)
type 'a nodes =
  | Nothing
  | Node of { at : int;  (** its first leaf *) rank : int; value : 'a; before : 'a nodes }

let none = Nothing

type 'a t = { nodes : 'a nodes; failure : Outcome.failure option }
(** A piece's nodes, and the failure that stopped it. *)

let rec push f at rank value = function
  | Node left when left.rank = rank && (left.at lsr rank) land 1 = 0 ->
    push f left.at (rank + 1) (f left.value value) left.before
  | before -> Node { at; rank; value; before }

let rec push_all f nodes = function
  | Nothing -> nodes
  | Node { at; rank; value; before } -> push f at rank value (push_all f nodes before)

(* Puts a piece to the nodes left of it; raises the first failure. *)
let append f nodes { nodes = more; failure } =
  let nodes = push_all f nodes more in
  Option.iter Fiber.rethrow failure;
  nodes

let rec total_with f right = function
  | Nothing -> right
  | Node { value; before; _ } -> total_with f (f value right) before

let total f = function
  | Nothing -> None
  | Node { value; before; _ } -> Some (total_with f value before)

(* The value of pieces in order, if there is an element; raises the leftmost failure. *)
let value f tallies = total f (Stdlib.List.fold_left (append f) Nothing tallies)
