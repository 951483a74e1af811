(* Where reductions are cut: by the length alone, so that their result does not depend on the number
   of workers. *)

module Adaptive = Muster_loop.Adaptive
module Reduce = Muster_loop.Reduce
module Tuning = Muster_loop.Tuning
module Array = Stdlib.Array

let shortest = Tuning.shortest_leaf
let[@inline] bounds leaf size n b = leaf (b * size) (Int.min n ((b + 1) * size) - 1)

(* [Reduce.over], without a closure around each leaf: a hundred sums take 0.8 to 0.95 of its
   time. *)
let rec plain leaf op size n a b =
  if a = b then bounds leaf size n a
  else
    let m = a + ((b - a) / 2) in
    let left = plain leaf op size n a m in
    op left (plain leaf op size n (m + 1) b)

(* Of [n] elements, at least 1: [leaf lo hi] reduces these. *)
let reduce ~code n leaf op =
  if n <= shortest then leaf 0 (n - 1)
  else
    let size = Int.max shortest (((n - 1) / Tuning.leaves) + 1) in
    let last = (n - 1) / size in
    if Adaptive.is_trusted code ~n then plain leaf op size n 0 last
    else Reduce.over ~code ~per_leaf:size ~last (bounds leaf size n) op

(* Of equal ones the leftmost. *)
let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x
