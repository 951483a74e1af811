(* Runs of equal length are combined from left to right and are the leaves of a binary tree that
   grows as a binary counter does: two neighbours of one rank become one of the next, if the left
   one's position is even at that rank; at the end what is left is combined from the right. So a
   piece may begin at any leaf: it combines what it has both sides of, and the rest is done when
   the pieces are put together, in the same tree. *)

let run = Tuning.shortest_leaf

type ('a, 'v) fold = {
  run : int;
  first : 'a -> 'v;
  next : 'a -> 'v;
  add : 'v -> 'a -> 'v;
  combine : 'v -> 'v -> 'v;
}

let[@inline] start fold leaf x = if leaf = 0 then fold.first x else fold.next x
let of_operation ?(run = run) op = { run; first = Fun.id; next = Fun.id; add = op; combine = op }
let adding = of_operation ~run:16 ( +. )

let mapping ~run ~combine ~init f =
  let first x = combine init (f x) in
  { run; first; next = f; add = (fun acc x -> combine acc (f x)); combine }

let in_parts ~run ~init ~add ~combine =
  let next x = add (init ()) x in
  { run; first = next; next; add; combine }

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

let widest i leaves =
  let rec from rank =
    if leaves lsr (rank + 1) > 0 && i land (1 lsl rank) = 0 then from (rank + 1) else rank
  in
  from 0

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

   The caller makes leaves alone, in the same tree, without a record for each: the finished node
   doubles each time. A leaf is never cut, so the first one needs no clock if it is remembered as
   cheap; from then on the clock is looked at after 2, 4, 8 … leaves. *)

type 's at = { mutable rest : 's }

type ('a, 'v, 's) source = {
  node : ('a, 'v) fold -> 's at -> int -> int -> 'v;
  is_end : 's -> bool;
  others : int -> ('a, 'v) fold -> 'v nodes -> 's -> 'v nodes;
}

let leaves = function Node { at; rank; _ } -> at + (1 lsl rank) | Nothing | Failed _ -> 0

let with_others source code fold nodes at =
  Option.get (total fold.combine (source.others code fold nodes at.rest))

let lasts code since iterations =
  let ticks = Machine.ticks () - since in
  ticks >= Tuning.between_looks
  && begin
    Site.confirm code (Site.cost code) ~ticks ~iterations;
    true
  end

(* [value] is that of the first leaf, later of the node of [rank] that begins all. *)
let doubled source code fold at value =
  let since = Machine.ticks () in
  let rec double value rank =
    let count = 1 lsl rank in
    if source.is_end at.rest then value
    else if rank > 0 && lasts code since ((count - 1) * fold.run) then
      with_others source code fold (Node { at = 0; rank; value; before = Nothing }) at
    else double (fold.combine value (source.node fold at count rank)) (rank + 1)
  in
  double value 0

let reduce source code fold rest =
  Fiber.check ();
  let at = { rest } in
  if Site.estimate (Site.cost code) fold.run >= Tuning.min_shared then
    with_others source code fold Nothing at
  else
    let value = source.node fold at 0 0 in
    if source.is_end at.rest then value else doubled source code fold at value
