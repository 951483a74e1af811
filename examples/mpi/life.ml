(* Each rank has a block of the rows, and before each generation sends its first and its last row to
   its neighbours: the halo. *)

module Local = Muster_examples.Life

let size = 300
let iterations = 50

let exchange ~up ~down rows =
  let rank = Muster_mpi.rank () and ranks = Muster_mpi.ranks () in
  let above = (rank + ranks - 1) mod ranks and below = (rank + 1) mod ranks in
  Muster_mpi.Port.send up ~dest:above rows.(0);
  Muster_mpi.Port.send down ~dest:below rows.(Array.length rows - 1);
  let row_above = Muster_mpi.Port.receive down ~source:above in
  let row_below = Muster_mpi.Port.receive up ~source:below in
  (row_above, row_below)

let generation ~up ~down rows =
  let above, below = exchange ~up ~down rows in
  let last = Array.length rows - 1 in
  let next = Array.map Bytes.copy rows in
  Muster.parallel_for ~start:0 ~finish:last (fun y ->
      let row_above = if y = 0 then above else rows.(y - 1) in
      let row_below = if y = last then below else rows.(y + 1) in
      Local.next_row row_above rows.(y) row_below next.(y));
  next

let alive population = Printf.sprintf "%d alive" population

let ranks () =
  let board = Local.random size in
  let up = Muster_mpi.Port.create () and down = Muster_mpi.Port.create () in
  let rows = ref Muster_mpi.Spread.(own (init size (Array.get board))) in
  for _ = 1 to iterations do
    rows := generation ~up ~down !rows
  done;
  let own = Local.population !rows in
  let start = 0 and finish = Muster_mpi.ranks () - 1 in
  alive (Muster_mpi.parallel_reduce ~start ~finish ~combine:( + ) ~init:0 (fun _ -> own))

let local () = alive (Local.population (Local.parallel ~iterations (Local.random size)))
let () = Twin.main ~ranks ~local
