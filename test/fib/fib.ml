let rec by_forks n =
  if n < 2 then n
  else
    let a, b = Muster.both (fun () -> by_forks (n - 1)) (fun () -> by_forks (n - 2)) in
    a + b

let rec by_tasks ~async ~await n =
  if n < 2 then n
  else
    let a = async (fun () -> by_tasks ~async ~await (n - 1)) in
    let b = async (fun () -> by_tasks ~async ~await (n - 2)) in
    await a + await b
