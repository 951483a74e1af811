(* Naive Fibonacci: a fork at every call. A fork that no idle domain takes costs so
   little that the program needs no cut-off; [--cutoff] is there to compare with one. *)

let rec parallel n =
  if n < 2 then 1
  else
    let a, b = Muster.both (fun () -> parallel (n - 1)) (fun () -> parallel (n - 2)) in
    a + b

let rec sequential n = if n < 2 then 1 else sequential (n - 1) + sequential (n - 2)

let rec parallel_above ~cutoff n =
  if n <= cutoff || n < 2 then sequential n
  else
    let a, b =
      Muster.both
        (fun () -> parallel_above ~cutoff (n - 1))
        (fun () -> parallel_above ~cutoff (n - 2))
    in
    a + b

let rows cutoff n =
  let label, fib, shows =
    if cutoff = 0 then
      ( "a fork at every call",
        parallel,
        "A fork costs about as much as a call of fib, so two domains gain little, and may be \
         slower beside other programs. The line shows that forks need no cut-off. With --cutoff 20 the \
         speed-up is near the number of domains." )
    else
      ( Printf.sprintf "a fork above %d" cutoff,
        parallel_above ~cutoff,
        "Few forks: the speed-up is near the number of domains." )
  in
  [
    Example.row label ~shows ~show:string_of_int
      ~sequential:(fun () -> sequential n)
      ~parallel:(fun _ -> fib n);
  ]

let example =
  let size = Example.size ~max:80 ~default:42 "Compute the Fibonacci number $(docv)." in
  let cutoff =
    Example.option ~min:0 ~default:0 "cutoff" "Fork only above $(docv); 0 forks at every call."
  in
  Example.command ~name:"fib" ~doc:"naive Fibonacci with a fork at every call" ~size
    Cmdliner.Term.(const rows $ cutoff)
