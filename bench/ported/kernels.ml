(* What loop bodies compute, once for both libraries: how a short loop happens to be aligned makes
   a third of its speed. *)

open Muster_examples

let add_to a i = a.(i) <- a.(i) + i
let[@inline] next x = ((x * 48_271) + 11) mod 2_147_483_647
let random_to a i = a.(i) <- next (next (next (a.(i) + i)))
let inverse i = 1. /. float_of_int i

type product = { left : float array array; right : float array array; result : float array array }

let row_of_product { left; right; result } i =
  let row = left.(i) and into = result.(i) in
  Array.iteri
    (fun k x ->
      let column = right.(k) in
      for j = 0 to Array.length into - 1 do
        into.(j) <- into.(j) +. (x *. column.(j))
      done)
    row

let random_product size () =
  let left = Lu.random size
  and right = Array.map (fun row -> Array.sub row 0 size) (Lu.random (size + 1)) in
  { left; right; result = Array.make_matrix size size 0. }

(* Some four of [size] indices, others in every round. *)
let needle ~round ~size i =
  let hash = (i + (round * size)) * 0x9E3779B97F4A7C1 in
  if (hash lsr 20) mod size < 4 then Some i else None

let float_sum = Array.fold_left ( +. ) 0.
let show_matrix m = Printf.sprintf "%h" (float_sum (Array.map float_sum m))
let show_board board = Digest.to_hex (Digest.bytes (Bytes.concat Bytes.empty (Array.to_list board)))
