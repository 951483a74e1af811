let rec reduce ?(most = Tuning.leaves) ~code n leaf op =
  if Adaptive.holds_up code ~n then Adaptive.in_pool (fun () -> reduce ~most ~code n leaf op)
  else if n <= Tuning.shortest_leaf then leaf 0 (n - 1)
  else
    let size = Int.max Tuning.shortest_leaf (((n - 1) / most) + 1) in
    let last = (n - 1) / size in
    let leaf b = leaf (b * size) (Int.min n ((b + 1) * size) - 1) in
    Reduce.over ~code ~per_leaf:size ~last leaf op

let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x
