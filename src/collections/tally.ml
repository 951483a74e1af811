(* Reductions of what comes piece by piece, whose bracketing depends on the length alone.

   Runs of [run] elements are combined from left to right and are the leaves of a binary tree that
   grows as a binary counter does: two neighbours of one rank become one of the next, if the left
   one's position is even at that rank; at the end what is left is combined from the right. So a
   piece may begin at any leaf: it combines what it has both sides of, and the rest is done when
   the pieces are put together, in the same tree. *)

open Muster_core

let run = 4

type 'a node = { at : int;  (** its first leaf *) rank : int; value : 'a }

type 'a t = { nodes : 'a node list; failure : Outcome.failure option }
(** The last node first; what stopped it, if anything did. *)

let rec push f node = function
  | left :: nodes when left.rank = node.rank && (left.at lsr left.rank) land 1 = 0 ->
    push f { at = left.at; rank = left.rank + 1; value = f left.value node.value } nodes
  | nodes -> node :: nodes

(* Puts a piece to what lies left of it; raises the first failure. *)
let append f nodes { nodes = more; failure } =
  let nodes = Stdlib.List.fold_right (push f) more nodes in
  Option.iter Context.rethrow failure;
  nodes

let total f = function
  | [] -> None
  | last :: nodes ->
    Some (Stdlib.List.fold_left (fun right left -> f left.value right) last.value nodes)

(* The value of pieces in order, if there is an element; raises the leftmost failure. *)
let value f tallies = total f (Stdlib.List.fold_left (append f) [] tallies)
