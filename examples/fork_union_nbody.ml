(* The n-body benchmark of Fork Union (https://github.com/ashvardanian/fork_union). It has so few
   bodies that a step takes some ten microseconds. Each step has two calls of [Team]: one computes
   the forces, and one applies them. So the example measures the cost of such calls, for static
   slices and for dynamic indices. *)

module Team = Muster.Team

(* Bodies and forces apart: a worker writes the forces of its bodies while the others read all bodies. *)

type body = {
  mutable x : float;
  mutable y : float;
  mutable z : float;
  mutable vx : float;
  mutable vy : float;
  mutable vz : float;
  mass : float;
}

type force = { mutable fx : float; mutable fy : float; mutable fz : float }
type system = { bodies : body array; forces : force array }

let random size =
  let state = Random.State.make [| size |] in
  let uniform from until = from +. Random.State.float state (until -. from) in
  let body _ =
    let x = uniform 0. 10. in
    let y = uniform 0. 10. in
    let z = uniform 0. 10. in
    { x; y; z; vx = 0.; vy = 0.; vz = 0.; mass = uniform 1e9 1e10 }
  in
  let bodies = Array.init size body in
  { bodies; forces = Array.init size (fun _ -> { fx = 0.; fy = 0.; fz = 0. }) }

let gravity = 6.674e-11
let dt = 0.01

(* Makes the pull of a body on itself 0 / softening, that is 0, without a branch. *)
let softening = 1e-9

let compute_force { bodies; forces } i =
  let me = bodies.(i) and force = forces.(i) in
  let xi = me.x and yi = me.y and zi = me.z in
  let sx = ref 0. and sy = ref 0. and sz = ref 0. in
  for j = 0 to Array.length bodies - 1 do
    let other = bodies.(j) in
    let dx = other.x -. xi and dy = other.y -. yi and dz = other.z -. zi in
    let square = (dx *. dx) +. (dy *. dy) +. (dz *. dz) +. softening in
    let pull = other.mass /. (square *. sqrt square) in
    sx := !sx +. (pull *. dx);
    sy := !sy +. (pull *. dy);
    sz := !sz +. (pull *. dz)
  done;
  let scale = gravity *. me.mass in
  force.fx <- scale *. !sx;
  force.fy <- scale *. !sy;
  force.fz <- scale *. !sz

let apply_force { bodies; forces } i =
  let me = bodies.(i) and { fx; fy; fz } = forces.(i) in
  let step = dt /. me.mass in
  me.vx <- me.vx +. (step *. fx);
  me.vy <- me.vy +. (step *. fy);
  me.vz <- me.vz +. (step *. fz);
  me.x <- me.x +. (dt *. me.vx);
  me.y <- me.y +. (dt *. me.vy);
  me.z <- me.z +. (dt *. me.vz)

let positions { bodies; _ } =
  let position { x; y; z; _ } = [| x; y; z |] in
  Array.concat (Array.to_list (Array.map position bodies))

let sequential ~iterations system =
  let last = Array.length system.bodies - 1 in
  for _ = 1 to iterations do
    for i = 0 to last do
      compute_force system i
    done;
    for i = 0 to last do
      apply_force system i
    done
  done

let parallel_slices pool ~iterations system =
  let size = Array.length system.bodies in
  let compute ~worker:_ ~start ~count =
    for i = start to start + count - 1 do
      compute_force system i
    done
  in
  let apply ~worker:_ ~start ~count =
    for i = start to start + count - 1 do
      apply_force system i
    done
  in
  for _ = 1 to iterations do
    Team.for_slices pool size compute;
    Team.for_slices pool size apply
  done

let parallel_dynamic pool ~iterations system =
  let size = Array.length system.bodies in
  let compute ~worker:_ i = compute_force system i in
  let apply ~worker:_ i = apply_force system i in
  for _ = 1 to iterations do
    Team.for_n_dynamic pool size compute;
    Team.for_n_dynamic pool size apply
  done

let rows iterations size =
  let advanced run =
    let system = random size in
    run ~iterations system;
    system
  in
  let row label parallel =
    Example.row label
      ~shows:"The bodies are few: two calls of Team in a step, some 30 us of work each, still pay."
      ~show:(fun system -> "positions " ^ Example.checksum (positions system))
      ~sequential:(fun () -> advanced sequential)
      ~parallel:(fun pool -> advanced (parallel pool))
  in
  [ row "Team.for_slices" parallel_slices; row "Team.for_n_dynamic" parallel_dynamic ]

let example =
  let size = Example.size ~max:1_000_000 ~default:128 "Simulate $(docv) bodies." in
  let iterations = Example.option ~default:10_000 "iterations" "Advance by $(docv) time steps." in
  Example.command ~name:"fork_union_nbody" ~doc:"Fork Union's n-body, two calls of Team a step" ~size
    Cmdliner.Term.(const rows $ iterations)
