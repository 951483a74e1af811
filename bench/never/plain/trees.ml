(* With five words to a node, the minor collections come upon trees in five stages of
   growth, whatever power of two the minor heap's size is. With four they would all come
   upon the same stage, and a run promote twice as much as another by chance. *)
type t = Leaf | Node of { left : t; key : int; value : int; right : t }

let rec build depth key =
  if depth = 0 then Leaf
  else
    let left = build (depth - 1) (2 * key) in
    let right = build (depth - 1) ((2 * key) + 1) in
    Node { left; key; value = depth; right }

let rec sum = function
  | Leaf -> 0
  | Node { left; key; value; right } -> sum left + key + value + sum right

let depth = 14

let build_and_drop count =
  let rec more left total =
    if left = 0 then total
    else more (left - 1) (total + sum (Sys.opaque_identity (build depth left)))
  in
  more count 0
