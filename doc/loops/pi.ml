let hits ~start ~finish =
  let random = Muster.random_state ~seed:1 start and hits = ref 0 in
  for _ = start to finish do
    let x = Random.State.float random 1. and y = Random.State.float random 1. in
    if (x *. x) +. (y *. y) < 1. then incr hits
  done;
  !hits

let () =
  Muster_mpi.run @@ fun () ->
  let finish = 10_000_000 in
  let all = Muster_mpi.parallel_reduce_range ~start:1 ~finish ~combine:( + ) ~init:0 hits in
  if Muster_mpi.rank () = 0 then Printf.printf "%g\n" (4. *. float all /. float finish)
