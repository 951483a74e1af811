type law = { one : float; sigma : float; kappa : float; error : float }

(* {2 Least squares} *)

let dot u v = Array.fold_left ( +. ) 0. (Array.map2 ( *. ) u v)

(* Gauss and Jordan, of a square matrix with its right side as the last column. *)
let solve matrix =
  let n = Array.length matrix in
  let eliminate i =
    let pivot = ref i in
    for k = i + 1 to n - 1 do
      if Float.abs matrix.(k).(i) > Float.abs matrix.(!pivot).(i) then pivot := k
    done;
    let row = matrix.(!pivot) in
    matrix.(!pivot) <- matrix.(i);
    matrix.(i) <- Array.map (fun x -> x /. row.(i)) row;
    let reduce k row =
      if k <> i then matrix.(k) <- Array.mapi (fun j x -> x -. (row.(i) *. matrix.(i).(j))) row
    in
    if Float.abs row.(i) > 1e-9 then Array.iteri reduce matrix else raise Exit
  in
  match
    for i = 0 to n - 1 do
      eliminate i
    done
  with
  | () -> Some (Array.map (fun row -> row.(n)) matrix)
  | exception Exit -> None

(* The weights of the columns whose sum comes nearest to 1 everywhere. *)
let weights columns =
  let target = Array.map (fun _ -> 1.) columns.(0) in
  let row u = Array.append (Array.map (dot u) columns) [| dot u target |] in
  solve (Array.map row columns)

let off columns weights =
  let n = Array.length columns.(0) in
  let error i =
    let sum = ref (-1.) in
    Array.iteri (fun j w -> sum := !sum +. (w *. columns.(j).(i))) weights;
    !sum *. !sum
  in
  sqrt (Array.fold_left ( +. ) 0. (Array.init n error) /. float_of_int n)

(* {2 The laws} *)

let at_work ~cpus n = Float.min (float_of_int n) (Float.max 1. cpus)

(* What [a], [a σ] and [a κ] are multiplied with. *)
let terms ~cpus n =
  let c = at_work ~cpus n in
  [| 1. /. c; 1. -. (1. /. c); float_of_int (n - 1) |]

let time ~cpus law n = law.one *. dot [| 1.; law.sigma; law.kappa |] (terms ~cpus n)

(* The error is convex: with no weight below 0 it is least where it is so with some of them 0. *)
let fit ~cpus sets samples =
  let column j = Array.of_list (List.map (fun (n, t) -> (terms ~cpus n).(j) /. t) samples) in
  let attempt set =
    let columns = Array.of_list (List.map column set) in
    let law weights =
      let weight j =
        List.fold_left2 (fun sum i w -> if i = j then w else sum) 0. set (Array.to_list weights)
      in
      let one = weight 0 in
      { one; sigma = weight 1 /. one; kappa = weight 2 /. one; error = off columns weights }
    in
    Option.map law (weights columns)
  in
  let possible law = law.one > 0. && law.sigma >= 0. && law.kappa >= 0. in
  match attempt (List.hd sets) with
  | None -> None
  | Some _ ->
    List.filter possible (List.filter_map attempt sets)
    |> List.sort (fun a b -> Float.compare a.error b.error)
    |> fun laws -> List.nth_opt laws 0

let with_a_cpu_each ~cpus = List.filter (fun (n, _) -> float_of_int n <= Float.ceil cpus)

let amdahl ~cpus samples =
  match with_a_cpu_each ~cpus samples with
  | [] | [ _ ] -> None
  | samples -> fit ~cpus [ [ 0; 1 ]; [ 0 ] ] samples

let universal ~cpus samples =
  if List.length samples < 3 then None
  else fit ~cpus [ [ 0; 1; 2 ]; [ 0; 1 ]; [ 0; 2 ]; [ 0 ] ] samples

let speed_up law n = n /. (1. +. ((n -. 1.) *. (law.sigma +. (law.kappa *. n))))

let best ~cpus law =
  let better best n = if time ~cpus law n < time ~cpus law best *. (1. -. 1e-9) then n else best in
  List.fold_left better 1 (List.init (Int.max 1 (int_of_float (Float.ceil cpus))) succ)

let peak law =
  if law.sigma >= 1. then 1.
  else if law.kappa = 0. then infinity
  else Float.max 1. (sqrt ((1. -. law.sigma) /. law.kappa))
