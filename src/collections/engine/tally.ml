(* Reductions of elements that come piece by piece, whose bracketing depends on the length alone.

   Runs of equal length are combined from left to right and are the leaves of a binary tree that
   grows as a binary counter does: two neighbours of one rank become one of the next, if the left
   one's position is even at that rank; at the end what is left is combined from the right. So a
   piece may begin at any leaf: it combines what it has both sides of, and the rest is done when
   the pieces are put together, in the same tree. *)

module Fiber = Muster_core.Fiber
module Machine = Muster_core.Machine
module Outcome = Muster_core.Outcome
module Site = Muster_loop.Site
module Tuning = Muster_loop.Tuning

let run = Tuning.shortest_leaf

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

(* {2 While leaves are cheap}

   A leaf is never cut, so the first one is walked without a clock if it is remembered as cheap. So
   are those behind it, with a look at the clock after 1, 2, 4, 8 … of them, until they last. *)

type ('a, 'v, 's) leaf = Last of 'v | Leaf of 'v * 'a * 's

type ('a, 'v, 's) walk = {
  leaf : ('v -> 'a -> 'v) -> 'v -> 's -> int -> ('a, 'v, 's) leaf;
  rest : int -> ('a, 'v) fold -> 'v nodes -> 'a -> 's -> 'v nodes;
}

let leaves = function Node { at; rank; _ } -> at + (1 lsl rank) | Nothing | Failed _ -> 0

let lasts code since iterations =
  let ticks = Machine.ticks () - since in
  ticks >= Tuning.between_looks
  && begin
    Site.confirm code (Site.cost code) ~ticks ~iterations;
    true
  end

let rest walk code fold nodes x s =
  Option.get (total fold.combine (walk.rest code fold nodes x s))

let cheap_leaves walk code fold nodes x s =
  let since = Machine.ticks () in
  let rec go nodes x s =
    let at = leaves nodes in
    if at land (at - 1) = 0 && at > 1 && lasts code since ((at - 1) * fold.run) then
      rest walk code fold nodes x s
    else
      match walk.leaf fold.add (fold.first at x) s (fold.run - 1) with
      | Last value -> total_with fold.combine value nodes
      | Leaf (value, x, s) -> go (push fold.combine at 0 value nodes) x s
  in
  go nodes x s

let reduce walk code fold x s =
  Fiber.check ();
  if Site.estimate (Site.cost code) fold.run >= Tuning.min_shared then
    rest walk code fold none x s
  else
    match walk.leaf fold.add (fold.first 0 x) s (fold.run - 1) with
    | Last value -> value
    | Leaf (value, x, s) ->
      cheap_leaves walk code fold (push fold.combine 0 0 value none) x s
