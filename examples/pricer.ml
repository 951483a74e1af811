(* Finds the price of an Asian option by the method of Monte Carlo: it is the mean payment over
   many random paths of a price. The parts depend on the number of paths alone, and each part has
   a random generator for its index. So the answer has the same bits on any number of domains. *)

let days = 50
let part_size = 500
let start_price = 100.
let strike = 100.
let rate = 0.05
let volatility = 0.3

(* Box and Muller's two normal numbers are one here: the other is dropped. *)
let normal random =
  let radius = sqrt (-2. *. log (1. -. Random.State.float random 1.)) in
  radius *. cos (2. *. Float.pi *. Random.State.float random 1.)

let payoff random =
  let step = 1. /. float_of_int days in
  let drift = (rate -. (volatility *. volatility /. 2.)) *. step in
  let noise = volatility *. sqrt step in
  let price = ref start_price and sum = ref 0. in
  for _ = 1 to days do
    price := !price *. exp (drift +. (noise *. normal random));
    sum := !sum +. !price
  done;
  Float.max 0. ((!sum /. float_of_int days) -. strike)

(* The sum over the paths of part [i]. *)
let part ~seed ~paths i =
  let random = Muster.random_state ~seed i in
  let sum = ref 0. in
  for _ = 1 to Int.min part_size (paths - (i * part_size)) do
    sum := !sum +. payoff random
  done;
  !sum

let price ~paths sums = exp (-.rate) *. Array.fold_left ( +. ) 0. sums /. float_of_int paths
let parts paths = (paths + part_size - 1) / part_size
let sequential ~seed paths = price ~paths (Array.init (parts paths) (part ~seed ~paths))

let parallel ~seed paths =
  let sums = Array.make (parts paths) 0. in
  let compute i = sums.(i) <- part ~seed ~paths i in
  Muster.parallel_for ~start:0 ~finish:(Array.length sums - 1) compute;
  price ~paths sums

let rows seed paths =
  [
    Example.row
      (Printf.sprintf "%d paths" paths)
      ~shows:
        "A generator for each part, by its index: the same bits on any number of domains. Expect \
         nearly the number of domains."
      ~show:(Printf.sprintf "%.17g")
      ~sequential:(fun () -> sequential ~seed paths)
      ~parallel:(fun _ -> parallel ~seed paths);
  ]

let example =
  let size = Example.size ~default:200_000 "Draw $(docv) paths." in
  let seed = Example.option ~min:0 ~default:1 "seed" "Begin with the seed $(docv)." in
  Example.command ~name:"pricer" ~doc:"an option by Monte Carlo, the same on any number of domains"
    ~size
    Cmdliner.Term.(const rows $ seed)
