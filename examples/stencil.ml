(* Heat on a square plate whose edges keep their temperature. Each cell of the next grid depends on
   five cells of this one, so all cells of a step are computed in parallel: row by row, or each by a
   call of its own. *)

module Array2 = Muster.Parallel.Bigarray.Array2

type grid = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array2.t
type row = (float, Bigarray.float64_elt, Bigarray.c_layout) Bigarray.Array1.t

(* Hot on one edge, cold elsewhere. *)
let plate size : grid =
  Bigarray.Array2.init Float64 C_layout size size (fun i _ -> if i = 0 then 100. else 0.)

let[@inline] next_cell (now : grid) i j =
  let here = now.{i, j} in
  let around = now.{i - 1, j} +. now.{i + 1, j} +. now.{i, j - 1} +. now.{i, j + 1} in
  here +. (0.2 *. (around -. (4. *. here)))

let next_row now i (next : row) =
  for j = 1 to Bigarray.Array1.dim next - 2 do
    next.{j} <- next_cell now i j
  done

let last (grid : grid) = Bigarray.Array2.dim1 grid - 1

let step_sequential now next =
  for i = 1 to last now - 1 do
    next_row now i (Bigarray.Array2.slice_left next i)
  done

let step_by_rows now next =
  let edge = last now in
  Array2.iteri_rows (fun i row -> if i > 0 && i < edge then next_row now i row) next

let step_by_cells now (next : grid) =
  let inner = last now - 1 in
  let cell i j = next.{i, j} <- next_cell now i j in
  Muster.parallel_for2 ~start:(1, 1) ~finish:(inner, inner) cell

(* The two grids change places at each step. *)
let rec play step iterations now next =
  if iterations = 0 then now
  else begin
    step now next;
    play step (iterations - 1) next now
  end

let after step ~iterations size = play step iterations (plate size) (plate size)

let heat (grid : grid) =
  let cells = Bigarray.Array2.(dim1 grid * dim2 grid) in
  Muster.Parallel.Bigarray.Array1.sum
    Bigarray.(reshape_1 (genarray_of_array2 grid) cells)

let rows iterations size =
  let row name ~shows step =
    Example.row name ~shows
      ~show:(fun grid -> Printf.sprintf "%.17g" (heat grid))
      ~sequential:(fun () -> after step_sequential ~iterations size)
      ~parallel:(fun pool -> Muster.Pool.run pool (fun () -> after step ~iterations size))
  in
  [
    row "rows by iteri_rows" step_by_rows
      ~shows:"A call for each row, which is a plain loop. Expect nearly the number of domains.";
    row "cells by parallel_for2" step_by_cells
      ~shows:"A call for each cell costs as much as the cell: expect less.";
  ]

let example =
  let size = Example.size ~max:32_768 ~default:1024 "Heat a plate of $(docv) by $(docv) cells." in
  let iterations = Example.option ~default:200 "iterations" "Compute $(docv) steps." in
  Example.command ~name:"stencil" ~doc:"Heat on a plate, rows or cells in parallel" ~size
    Cmdliner.Term.(const rows $ iterations)
