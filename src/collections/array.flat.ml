(* The text that Array and Floatarray share beside that of all arrays. The own text has [floats],
   too, which makes a block of floats of one of its arrays. *)

let iter2_chunk f (s, t) lo hi =
  for i = lo to hi do
    f (read s i) (read t i)
  done

let iter2 f a b =
  if length a < 2 || length a <> length b then few iter2 f a b
  else Chunks.run (code f) (length a) iter2_chunk f (source a, source b)

let sum a = Numeric.sum Heap (floats a) (length a)
let mean a = Numeric.mean Heap (floats a) (length a)
let min_max a = Numeric.extremes Heap (floats a) (length a)

let dot a b =
  let n = length a and m = length b in
  if n <> m then Caller.invalid (name ^ ".dot") "lengths = %d and %d differ" n m;
  Numeric.dot Heap (floats a) (floats b) n

let stable_sort = sort
let fast_sort = sort
