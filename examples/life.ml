(* Conway's Game of Life on a square whose opposite edges touch. Every row of the next
   board depends on three rows of this one, so all rows of a generation are computed in
   parallel. *)

(* One byte a cell: 1 is alive, 0 is dead. *)
type board = Bytes.t array

let random size : board =
  let state = Random.State.make [| size |] in
  let cell _ = Char.chr (Random.State.int state 2) in
  Array.init size (fun _ -> Bytes.init size cell)

let[@inline] cell row x = Char.code (Bytes.get row x)

(* [next] from the sums of three neighbouring columns, which slide along the row. With
   [n] live neighbours, 3 gives life and 2 keeps it: [n lor alive = 3] says both without
   a branch. *)
let next_row above row below next =
  let last = Bytes.length row - 1 in
  let left = ref (cell above last + cell row last + cell below last) in
  let middle = ref (cell above 0 + cell row 0 + cell below 0) in
  for x = 0 to last do
    let x' = if x = last then 0 else x + 1 in
    let right = cell above x' + cell row x' + cell below x' in
    let alive = cell row x in
    let neighbours = !left + !middle + right - alive in
    Bytes.set next x (Char.unsafe_chr (Bool.to_int (neighbours lor alive = 3)));
    left := !middle;
    middle := right
  done

let next_row_of (board : board) (next : board) y =
  let last = Array.length board - 1 in
  let above = board.(if y = 0 then last else y - 1) in
  let below = board.(if y = last then 0 else y + 1) in
  next_row above board.(y) below next.(y)

let generation_sequential board next =
  for y = 0 to Array.length board - 1 do
    next_row_of board next y
  done

let generation_parallel board next =
  Muster.parallel_for ~start:0 ~finish:(Array.length board - 1) (next_row_of board next)

let rec play generation iterations board next =
  if iterations = 0 then board
  else begin
    generation board next;
    play generation (iterations - 1) next board
  end

let after generation ~iterations board =
  play generation iterations (Array.map Bytes.copy board) (Array.map Bytes.copy board)

let sequential ~iterations board = after generation_sequential ~iterations board
let parallel ~iterations board = after generation_parallel ~iterations board

let population board =
  let count row = Bytes.fold_left (fun alive cell -> alive + Char.code cell) 0 row in
  Array.fold_left (fun alive row -> alive + count row) 0 board

let rows iterations size =
  let board = random size in
  [
    Example.row "rows by parallel_for"
      ~shows:"Each generation is one loop over the rows, with no grain to choose."
      ~show:(fun board -> Printf.sprintf "%d alive" (population board))
      ~sequential:(fun () -> sequential ~iterations board)
      ~parallel:(fun _ -> parallel ~iterations board);
  ]

let example =
  let size = Example.size ~max:32_768 ~default:1024 "Play on $(docv) by $(docv) cells." in
  let iterations = Example.option ~default:512 "iterations" "Compute $(docv) generations." in
  Example.command ~name:"life" ~doc:"Conway's Game of Life, rows in parallel" ~size
    Cmdliner.Term.(const rows $ iterations)
