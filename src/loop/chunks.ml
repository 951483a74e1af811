let[@inline] is_short code n = n < 2 || Adaptive.is_trusted code ~n
let find code lo hi body = if lo > hi then None else Loop.search code lo hi body

let each code lo hi body =
  let sweep lo hi =
    body lo hi;
    None
  in
  ignore (find code lo hi sweep)

let run code n chunk f s =
  if is_short code n then chunk f s 0 (n - 1)
  else each code 0 (n - 1) (fun lo hi -> chunk f s lo hi)

let fill code n chunk f s r =
  if is_short code n then chunk f s r 0 (n - 1)
  else each code 0 (n - 1) (fun lo hi -> chunk f s r lo hi)

let search code n chunk f s =
  if is_short code n then chunk f s 0 (n - 1)
  else find code 0 (n - 1) (fun lo hi -> chunk f s lo hi)
