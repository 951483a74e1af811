(* The n-body program of fork_union_nbody.ml, with the loops and their bodies in C
   (c_nbody_stubs.c). OCaml calls the stub once, and the stub runs its loops on the pool's workers
   by muster.h. *)

open Bigarray

type matrix = (float, float64_elt, c_layout) Array2.t

(* A row of [bodies] is a [struct body]: position, velocity, mass. *)
type system = { bodies : matrix; forces : matrix }

let random size =
  let state = Random.State.make [| size |] in
  let cell _ column =
    if column < 3 then Random.State.float state 10.
    else if column < 6 then 0.
    else 1e9 +. Random.State.float state 9e9
  in
  let bodies = Array2.init Float64 C_layout size 7 cell in
  { bodies; forces = Array2.create Float64 C_layout size 3 }

external sequential : int -> matrix -> matrix -> unit = "c_nbody_sequential"
external slices : int -> matrix -> matrix -> unit = "c_nbody_slices"
external dynamic : int -> matrix -> matrix -> unit = "c_nbody_dynamic"

let advance kernel ~iterations { bodies; forces } = kernel iterations bodies forces

let parallel kernel pool ~iterations system =
  Muster.Pool.run pool (fun () -> advance kernel ~iterations system)

let parallel_slices = parallel slices
let parallel_dynamic = parallel dynamic
let sequential = advance sequential
let positions { bodies; _ } = Array.init (3 * Array2.dim1 bodies) (fun i -> bodies.{i / 3, i mod 3})

let rows iterations size =
  let advanced run =
    let system = random size in
    run ~iterations system;
    positions system
  in
  let row label parallel =
    Example.row label
      ~shows:
        "The loops are in C, and the bodies few: two calls in a step, some 30 us of work each, \
         still pay."
      ~show:(fun positions -> "positions " ^ Example.checksum positions)
      ~sequential:(fun () -> advanced sequential)
      ~parallel:(fun pool -> advanced (parallel pool))
  in
  [ row "muster_for_slices" parallel_slices; row "muster_for_n_dynamic" parallel_dynamic ]

let example =
  let size = Example.size ~max:1_000_000 ~default:128 "Simulate $(docv) bodies." in
  let iterations = Example.option ~default:10_000 "iterations" "Advance by $(docv) time steps." in
  Example.command ~name:"c_nbody" ~doc:"Fork Union's n-body with the kernel in C" ~size
    Cmdliner.Term.(const rows $ iterations)
