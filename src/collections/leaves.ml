(* Where reductions are cut: by the length alone, so that what they compute does not depend on how
   many workers there are. *)

open Muster_loop
module Array = Stdlib.Array

(* A leaf is a loop, and a branch of the tree costs as much as some turns of it. *)
let shortest = 32
let most = 512

(* Of [n] elements, at least 1: [leaf lo hi] reduces these. *)
let reduce ~code n leaf op =
  let size = Int.max shortest (((n - 1) / most) + 1) in
  if n <= size then leaf 0 (n - 1)
  else
    let leaf b = leaf (b * size) (Int.min n ((b + 1) * size) - 1) in
    Reduce.over ~code ~per_leaf:size ~last:((n - 1) / size) leaf op

(* Of equal ones the leftmost. *)
let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x
