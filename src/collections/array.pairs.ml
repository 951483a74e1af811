(* The end of Array's own text. *)

let pair x y = (x, y)
let combine a b = if length a <> length b then combine a b else map2 pair a b
let split a = (map fst a, map snd a)
