(* LU decomposition in place, without pivoting: after column [k] is eliminated, the
   matrix holds U on and above its diagonal and the factors of L below it. The rows
   below [k] are independent of each other, so each of the [n] steps is one parallel
   loop, over ever fewer and shorter rows. *)

type matrix = float array array

(* A large diagonal makes pivoting unnecessary. *)
let random size : matrix =
  let state = Random.State.make [| size |] in
  let entry i j =
    let noise = Random.State.float state 1. in
    if i = j then noise +. float_of_int size else noise
  in
  Array.init size (fun i -> Array.init size (entry i))

let eliminate (m : matrix) k i =
  let pivot_row = m.(k) and row = m.(i) in
  let factor = row.(k) /. pivot_row.(k) in
  row.(k) <- factor;
  for j = k + 1 to Array.length row - 1 do
    row.(j) <- row.(j) -. (factor *. pivot_row.(j))
  done

let sequential m =
  let last = Array.length m - 1 in
  for k = 0 to last - 1 do
    for i = k + 1 to last do
      eliminate m k i
    done
  done

let parallel m =
  let last = Array.length m - 1 in
  for k = 0 to last - 1 do
    Muster.parallel_for ~start:(k + 1) ~finish:last (eliminate m k)
  done

let log_determinant m =
  let sum = ref 0. in
  Array.iteri (fun i row -> sum := !sum +. log row.(i)) m;
  !sum

let rows size =
  let decomposed decompose m =
    decompose m;
    m
  in
  let input = random size in
  let mine = Array.map Array.copy input in
  [
    Example.row "rows by parallel_for"
      ~shows:"The loops grow shorter from step to step, and the last ones run as plain loops."
      ~show:(fun m -> Printf.sprintf "log of determinant %.12g" (log_determinant m))
      ~sequential:(fun () -> decomposed sequential input)
      ~parallel:(fun _ -> decomposed parallel mine);
  ]

let example =
  let size = Example.size ~max:16_384 ~default:1024 "Decompose $(docv) by $(docv) numbers." in
  Example.command ~name:"lu" ~doc:"LU decomposition, rows in parallel" ~size
    (Cmdliner.Term.const rows)
