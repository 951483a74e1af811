let each code n sweep = ignore (Loop.sweep code 0 (n - 1) sweep)

(* One alone may take long, too: beside another scheduler's loop it runs in the pool. *)
let rec run code n chunk f s =
  if n > 1 then
    each code n (fun lo hi ->
        chunk f s lo hi;
        None)
  else if Adaptive.holds_up code ~n then Adaptive.in_pool (fun () -> run code n chunk f s)
  else chunk f s 0 (n - 1)

let rec fill code n chunk f s r =
  if n > 1 then
    each code n (fun lo hi ->
        chunk f s r lo hi;
        None)
  else if Adaptive.holds_up code ~n then Adaptive.in_pool (fun () -> fill code n chunk f s r)
  else chunk f s r 0 (n - 1)

let rec search code n chunk f s =
  if n > 1 then Loop.search code 0 (n - 1) (fun lo hi -> chunk f s lo hi)
  else if Adaptive.holds_up code ~n then Adaptive.in_pool (fun () -> search code n chunk f s)
  else chunk f s 0 (n - 1)
