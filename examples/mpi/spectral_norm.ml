(* Each product of the matrix and a vector is an array of which each rank computes a block. *)

module Local = Muster_examples.Spectral_norm

let n = 1_000

let multiply times u v =
  let product = Muster_mpi.Array.init (Array.length v) (times u) in
  Array.blit product 0 v 0 (Array.length v)

let norm multiply () = Printf.sprintf "%.15f" (Local.norm multiply n)
let () = Twin.main ~ranks:(norm multiply) ~local:(norm Local.multiply_parallel)
