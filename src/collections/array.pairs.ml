(* The end of Array's own text. *)

let pair x y = (x, y)
let combine a b = if length a <> length b then combine a b else map2 pair a b
let split a = (map fst a, map snd a)

(* Where [p] is [wanted] for the pair. *)
let rec pair_is p ((a, b, wanted) as s) i hi =
  if i > hi then None
  else if Bool.equal (p (unsafe_get a i) (unsafe_get b i)) wanted then Some ()
  else pair_is p s (i + 1) hi

let has_pair p wanted a b =
  Option.is_some (Chunks.search (code p) (length a) pair_is p (a, b, wanted))

let exists2 p a b =
  if length a < 2 || length a <> length b then few exists2 p a b else has_pair p true a b

let for_all2 p a b =
  if length a < 2 || length a <> length b then few for_all2 p a b
  else not (has_pair p false a b)
