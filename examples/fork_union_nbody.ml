(* The n-body benchmark of Fork Union (https://github.com/ashvardanian/fork_union): so
   few bodies that an iteration takes some ten microseconds and holds two regions of the
   whole team, one that computes forces and one that applies them. What the team costs
   to start and to join is what this example measures, for static slices and for dynamic
   indices. *)

module Team = Muster.Team

type bodies = {
  x : float array;
  y : float array;
  z : float array;
  vx : float array;
  vy : float array;
  vz : float array;
  mass : float array;
  fx : float array;
  fy : float array;
  fz : float array;
}

let random size =
  let state = Random.State.make [| size |] in
  let uniform from until = from +. Random.State.float state (until -. from) in
  let array from until = Array.init size (fun _ -> uniform from until) in
  let zeros () = Array.make size 0. in
  let x = array 0. 10. in
  let y = array 0. 10. in
  let z = array 0. 10. in
  let mass = array 1e9 1e10 in
  let vx = zeros () and vy = zeros () and vz = zeros () in
  { x; y; z; vx; vy; vz; mass; fx = zeros (); fy = zeros (); fz = zeros () }

let gravity = 6.674e-11
let dt = 0.01

(* Makes the pull of a body on itself 0 / softening, that is 0, without a branch. *)
let softening = 1e-9

let compute_force { x; y; z; mass; fx; fy; fz; _ } i =
  let xi = x.(i) and yi = y.(i) and zi = z.(i) in
  let sx = ref 0. and sy = ref 0. and sz = ref 0. in
  for j = 0 to Array.length x - 1 do
    let dx = x.(j) -. xi and dy = y.(j) -. yi and dz = z.(j) -. zi in
    let square = (dx *. dx) +. (dy *. dy) +. (dz *. dz) +. softening in
    let pull = mass.(j) /. (square *. sqrt square) in
    sx := !sx +. (pull *. dx);
    sy := !sy +. (pull *. dy);
    sz := !sz +. (pull *. dz)
  done;
  let scale = gravity *. mass.(i) in
  fx.(i) <- scale *. !sx;
  fy.(i) <- scale *. !sy;
  fz.(i) <- scale *. !sz

let apply_force { x; y; z; vx; vy; vz; mass; fx; fy; fz } i =
  let step = dt /. mass.(i) in
  vx.(i) <- vx.(i) +. (step *. fx.(i));
  vy.(i) <- vy.(i) +. (step *. fy.(i));
  vz.(i) <- vz.(i) +. (step *. fz.(i));
  x.(i) <- x.(i) +. (dt *. vx.(i));
  y.(i) <- y.(i) +. (dt *. vy.(i));
  z.(i) <- z.(i) +. (dt *. vz.(i))

let sequential ~iterations bodies =
  let last = Array.length bodies.x - 1 in
  for _ = 1 to iterations do
    for i = 0 to last do
      compute_force bodies i
    done;
    for i = 0 to last do
      apply_force bodies i
    done
  done

let parallel_slices pool ~iterations bodies =
  let size = Array.length bodies.x in
  let compute ~worker:_ ~start ~count =
    for i = start to start + count - 1 do
      compute_force bodies i
    done
  in
  let apply ~worker:_ ~start ~count =
    for i = start to start + count - 1 do
      apply_force bodies i
    done
  in
  for _ = 1 to iterations do
    Team.for_slices pool size compute;
    Team.for_slices pool size apply
  done

let parallel_dynamic pool ~iterations bodies =
  let size = Array.length bodies.x in
  let compute ~worker:_ i = compute_force bodies i in
  let apply ~worker:_ i = apply_force bodies i in
  for _ = 1 to iterations do
    Team.for_n_dynamic pool size compute;
    Team.for_n_dynamic pool size apply
  done

let rows iterations size =
  let advanced run =
    let bodies = random size in
    run ~iterations bodies;
    bodies
  in
  let row label parallel =
    Example.row label
      ~show:(fun bodies -> "positions " ^ Example.checksum bodies.x)
      ~sequential:(fun () -> advanced sequential)
      ~parallel:(fun pool -> advanced (parallel pool))
  in
  [ row "Team.for_slices" parallel_slices; row "Team.for_n_dynamic" parallel_dynamic ]

let example =
  let size = Example.size ~max:1_000_000 ~default:128 "Simulate $(docv) bodies." in
  let iterations = Example.option ~default:10_000 "iterations" "Advance by $(docv) time steps." in
  Example.command ~name:"fork_union_nbody" ~doc:"Fork Union's n-body, two regions a time step" ~size
    Cmdliner.Term.(const rows $ iterations)
