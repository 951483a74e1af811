(* Reductions of elements that come piece by piece, whose bracketing depends on the length alone.

   Runs of equal length are combined from left to right and are the leaves of a binary tree that
   grows as a binary counter does: two neighbours of one rank become one of the next, if the left
   one's position is even at that rank; at the end what is left is combined from the right. So a
   piece may begin at any leaf: it combines what it has both sides of, and the rest is done when
   the pieces are put together, in the same tree. *)

module Fiber = Muster_core.Fiber
module Outcome = Muster_core.Outcome

let run = 16

type ('a, 'v) fold = {
  run : int;
  first : int -> 'a -> 'v;
  add : 'v -> 'a -> 'v;
  combine : 'v -> 'v -> 'v;
}

let of_operation op = { run; first = (fun _ x -> x); add = op; combine = op }

let mapping ~run ~combine ~init f =
  let first at x =
    let v = f x in
    if at = 0 then combine init v else v
  in
  { run; first; add = (fun acc x -> combine acc (f x)); combine }

let in_parts ~run ~init ~add ~combine =
  { run; first = (fun _ x -> add (init ()) x); add; combine }

(* The last one first; where a piece has failed, that it did so comes last. *)
type 'a nodes =
  | Nothing
  | Node of { at : int;  (** its first leaf *) rank : int; value : 'a; before : 'a nodes }
  | Failed of { failure : Outcome.failure; before : 'a nodes }

let none = Nothing
let failed failure before = Failed { failure; before }

let rec push f at rank value = function
  | Node left when left.rank = rank && (left.at lsr rank) land 1 = 0 ->
    push f left.at (rank + 1) (f left.value value) left.before
  | before -> Node { at; rank; value; before }

let rec append f nodes = function
  | Nothing -> nodes
  | Node { at; rank; value; before } -> push f at rank value (append f nodes before)
  | Failed { failure; before } ->
    ignore (append f nodes before);
    Fiber.rethrow failure

let rec total_with f right = function
  | Node { value; before; _ } -> total_with f (f value right) before
  | Nothing | Failed _ -> right

let total f = function
  | Nothing -> None
  | Node { value; before; _ } -> Some (total_with f value before)
  | Failed { failure; _ } -> Fiber.rethrow failure

let value f = function
  | [ nodes ] -> total f nodes
  | pieces -> total f (Stdlib.List.fold_left (append f) Nothing pieces)
