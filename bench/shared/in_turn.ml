(* What [Muster.both] cannot do without: the closures and the pair, called one after the other. *)

let[@inline] both f g =
  let a = f () in
  let b = g () in
  (a, b)

let rec fib n =
  if n < 2 then 1
  else
    let a, b = both (fun () -> fib (n - 1)) (fun () -> fib (n - 2)) in
    a + b
