(* Gravity between many bodies (after The Computer Language Benchmarks Game), written
   twice. [pull_in_place] writes a body's velocity after every other body that it looks at. The
   cache line of the velocity also holds the position, which all other domains read. So the line
   moves between cores all the time, though no domain uses the velocity of another one's body (false
   sharing). [pull_locally] accumulates in registers and writes once. *)

type body = {
  mutable x : float;
  mutable y : float;
  mutable z : float;
  mutable vx : float;
  mutable vy : float;
  mutable vz : float;
  mass : float;
}

let random size =
  let state = Random.State.make [| size |] in
  let coordinate () = Random.State.float state 2. -. 1. in
  let body _ =
    let x = coordinate () and y = coordinate () and z = coordinate () in
    { x; y; z; vx = 0.; vy = 0.; vz = 0.; mass = Random.State.float state 1e-3 }
  in
  Array.init size body

let dt = 0.001

(* Keeps two bodies that meet from throwing each other out at any speed. *)
let softening = 1e-6

let pull_in_place bodies i =
  let b = bodies.(i) in
  for j = 0 to Array.length bodies - 1 do
    let b' = bodies.(j) in
    let dx = b.x -. b'.x and dy = b.y -. b'.y and dz = b.z -. b'.z in
    let square = (dx *. dx) +. (dy *. dy) +. (dz *. dz) +. softening in
    let pull = dt *. b'.mass /. (square *. sqrt square) in
    b.vx <- b.vx -. (dx *. pull);
    b.vy <- b.vy -. (dy *. pull);
    b.vz <- b.vz -. (dz *. pull)
  done

let pull_locally bodies i =
  let b = bodies.(i) in
  let vx = ref b.vx and vy = ref b.vy and vz = ref b.vz in
  for j = 0 to Array.length bodies - 1 do
    let b' = bodies.(j) in
    let dx = b.x -. b'.x and dy = b.y -. b'.y and dz = b.z -. b'.z in
    let square = (dx *. dx) +. (dy *. dy) +. (dz *. dz) +. softening in
    let pull = dt *. b'.mass /. (square *. sqrt square) in
    vx := !vx -. (dx *. pull);
    vy := !vy -. (dy *. pull);
    vz := !vz -. (dz *. pull)
  done;
  b.vx <- !vx;
  b.vy <- !vy;
  b.vz <- !vz

let move b =
  b.x <- b.x +. (dt *. b.vx);
  b.y <- b.y +. (dt *. b.vy);
  b.z <- b.z +. (dt *. b.vz)

let sequential ~pull ~iterations bodies =
  for _ = 1 to iterations do
    for i = 0 to Array.length bodies - 1 do
      pull bodies i
    done;
    Array.iter move bodies
  done

(* Moving is linear, pulling quadratic: only the latter is worth handing out. *)
let parallel ~pull ~iterations bodies =
  for _ = 1 to iterations do
    Muster.parallel_for ~start:0 ~finish:(Array.length bodies - 1) (pull bodies);
    Array.iter move bodies
  done

let energy bodies =
  let kinetic b = 0.5 *. b.mass *. ((b.vx *. b.vx) +. (b.vy *. b.vy) +. (b.vz *. b.vz)) in
  Array.fold_left (fun sum b -> sum +. kinetic b) 0. bodies

let rows iterations size =
  let advanced run =
    let bodies = random size in
    run bodies;
    bodies
  in
  let row label shows pull =
    Example.row label ~shows
      ~show:(fun bodies -> Printf.sprintf "kinetic energy %.12g" (energy bodies))
      ~sequential:(fun () -> advanced (sequential ~pull ~iterations))
      ~parallel:(fun _ -> advanced (parallel ~pull ~iterations))
  in
  [
    row "false sharing"
      "Neighbours share cache lines that several domains write: expect less than the line below."
      pull_in_place;
    row "accumulate locally" "Each body is written once: near the number of domains." pull_locally;
  ]

let example =
  let size = Example.size ~max:1_000_000 ~default:1024 "Simulate $(docv) bodies." in
  let iterations = Example.option ~default:100 "iterations" "Advance by $(docv) time steps." in
  Example.command ~name:"nbody" ~doc:"n-body, with false sharing and without" ~size
    Cmdliner.Term.(const rows $ iterations)
