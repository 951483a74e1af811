let[@inline] is_short code n = n < 2 || Adaptive.is_trusted code ~n

let each code lo hi body =
  let sweep lo hi =
    body lo hi;
    None
  in
  if lo <= hi then ignore (Loop.sweep code lo hi sweep)

let run code n chunk f s =
  if is_short code n then chunk f s 0 (n - 1)
  else each code 0 (n - 1) (fun lo hi -> chunk f s lo hi)

let fill code n chunk f s r =
  if is_short code n then chunk f s r 0 (n - 1)
  else each code 0 (n - 1) (fun lo hi -> chunk f s r lo hi)

let search code n chunk f s =
  if is_short code n then chunk f s 0 (n - 1)
  else Loop.search code 0 (n - 1) (fun lo hi -> chunk f s lo hi)
