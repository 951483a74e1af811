let each code n sweep = ignore (Loop.sweep code 0 (n - 1) sweep)

let run code n chunk f s =
  if n < 2 then chunk f s 0 (n - 1)
  else
    each code n (fun lo hi ->
        chunk f s lo hi;
        None)

let fill code n chunk f s r =
  if n < 2 then chunk f s r 0 (n - 1)
  else
    each code n (fun lo hi ->
        chunk f s r lo hi;
        None)

let search code n chunk f s =
  if n < 2 then chunk f s 0 (n - 1)
  else Loop.search code 0 (n - 1) (fun lo hi -> chunk f s lo hi)
