(* Computes one number twice at the same time: with two domains this takes as long as once. *)

let sequential n =
  let a = Fib.sequential n in
  let b = Fib.sequential n in
  (a, b)

let parallel n = Muster.both (fun () -> Fib.sequential n) (fun () -> Fib.sequential n)
let show (a, b) = Printf.sprintf "%d, %d" a b

let rows n =
  [
    Example.row "one fork"
      ~shows:
        "One fork of two equal halves: close to twice as fast on two domains or more."
      ~show
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> parallel n);
  ]

let example =
  let size = Example.size ~max:80 ~default:42 "Compute the Fibonacci number $(docv)." in
  Example.command ~name:"fib_twice" ~doc:"naive Fibonacci, twice in parallel" ~size
    (Cmdliner.Term.const rows)
