(* Solves Cram: two players place dominoes on a board, and the one who finds no room loses. The
   Grundy number of a position is the least number that no move leads to; 0 is lost for the player
   to move. Many moves lead to the same position. All tasks share a Muster.Table of the positions,
   so each position is computed once, even if several tasks reach it at the same time. *)

module Table = Muster.Table

let rows = 5

(* A position is a word: a bit for each square that is taken. *)
type board = { columns : int; moves : int array }

let board columns =
  let square row column = 1 lsl ((row * columns) + column) in
  let at row column =
    (if column + 1 < columns then [ square row column lor square row (column + 1) ] else [])
    @ if row + 1 < rows then [ square row column lor square (row + 1) column ] else []
  in
  let all = List.init (rows * columns) (fun i -> at (i / columns) (i mod columns)) in
  { columns; moves = Array.of_list (List.concat all) }

let row_of b position row = (position lsr (row * b.columns)) land ((1 lsl b.columns) - 1)

let upside_down b position =
  let flipped = ref 0 in
  for row = 0 to rows - 1 do
    flipped := !flipped lor (row_of b position row lsl ((rows - 1 - row) * b.columns))
  done;
  !flipped

(* All squares in the other order: turned by half a circle. *)
let turned b position =
  let rest = ref position and turned = ref 0 in
  for _ = 1 to rows * b.columns do
    turned := (!turned lsl 1) lor (!rest land 1);
    rest := !rest lsr 1
  done;
  !turned

(* One for all positions that are the same but for turning the board. *)
let canonical b position =
  let half = turned b position in
  Int.min
    (Int.min position half)
    (Int.min (upside_down b position) (upside_down b half))

let rec least_missing set i = if set land (1 lsl i) = 0 then i else least_missing set (i + 1)

(* The set of the Grundy numbers to which move [i] leads: one, or none. *)
let by_move b grundy position i =
  if position land b.moves.(i) = 0 then 1 lsl grundy (canonical b (position lor b.moves.(i))) else 0

let sequential b =
  let known = Hashtbl.create 16 in
  let rec grundy position =
    match Hashtbl.find_opt known position with
    | Some value -> value
    | None ->
      let set = ref 0 in
      for i = 0 to Array.length b.moves - 1 do
        set := !set lor by_move b grundy position i
      done;
      let value = least_missing !set 0 in
      Hashtbl.add known position value;
      value
  in
  grundy 0

let parallel b =
  let finish = Array.length b.moves - 1 in
  let grundy =
    Table.memo ~hash:Hashtbl.hash ~equal:Int.equal (fun grundy position ->
        let by_moves ~start ~finish =
          let set = ref 0 in
          for i = start to finish do
            set := !set lor by_move b grundy position i
          done;
          !set
        in
        least_missing
          (Muster.parallel_reduce_range ~grain:10 ~start:0 ~finish ~combine:( lor ) ~init:0 by_moves)
          0)
  in
  grundy 0

let rows_of columns =
  let b = board columns in
  [
    Example.row
      (Printf.sprintf "%d x %d" rows columns)
      ~shows:
        "A table that tasks share: each position is computed once, and lookups take no lock. Expect \
         1.3 to 1.6 on 2 domains, and no gain where a message between their CPUs takes long."
      ~show:(Printf.sprintf "Grundy number %d")
      ~sequential:(fun () -> sequential b)
      ~parallel:(fun _ -> parallel b);
  ]

let example =
  let size = Example.size ~max:6 ~default:5 "The board has 5 rows and $(docv) columns." in
  Example.command ~name:"cram" ~doc:"a solved game, with a table that tasks share" ~size
    (Cmdliner.Term.const rows_of)
