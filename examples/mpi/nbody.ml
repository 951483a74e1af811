(* Each rank pulls its block of the bodies, and then all ranks get all velocities. *)

module Local = Muster_examples.Nbody

let size = 512
let iterations = 20

let step bodies =
  let pulled i =
    Local.pull_locally bodies i;
    let b = bodies.(i) in
    (b.Local.vx, b.vy, b.vz)
  in
  let velocities = Muster_mpi.Array.init size pulled in
  let take (b : Local.body) (vx, vy, vz) =
    b.vx <- vx;
    b.vy <- vy;
    b.vz <- vz;
    Local.move b
  in
  Array.iter2 take bodies velocities

let energy run () =
  let bodies = Local.random size in
  run bodies;
  Printf.sprintf "kinetic energy %.15g" (Local.energy bodies)

let ranks bodies =
  for _ = 1 to iterations do
    step bodies
  done

let local bodies = Local.parallel ~pull:Local.pull_locally ~iterations bodies
let () = Twin.main ~ranks:(energy ranks) ~local:(energy local)
