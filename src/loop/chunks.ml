let each code n sweep = ignore (Loop.sweep code 0 (n - 1) sweep)

(* One call, and nobody to share it with, unless it would hold up a fiber's loop. *)
let is_plain code n = n < 2 && not (n = 1 && Adaptive.holds_up code ~n)

let run code n chunk f s =
  if is_plain code n then chunk f s 0 (n - 1)
  else
    each code n (fun lo hi ->
        chunk f s lo hi;
        None)

let fill code n chunk f s r =
  if is_plain code n then chunk f s r 0 (n - 1)
  else
    each code n (fun lo hi ->
        chunk f s r lo hi;
        None)

let search code n chunk f s =
  if is_plain code n then chunk f s 0 (n - 1)
  else Loop.search code 0 (n - 1) (fun lo hi -> chunk f s lo hi)
