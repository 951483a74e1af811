type t = { title : string; header : string list; rows : string list list }

(* Code points, not bytes: a table has [µ] in it. *)
let width cell =
  String.fold_left (fun n c -> if Char.code c land 0xc0 = 0x80 then n else n + 1) 0 cell

let widths table =
  let wider = List.map2 (fun w cell -> Int.max w (width cell)) in
  List.fold_left wider (List.map (fun _ -> 0) table.header) (table.header :: table.rows)

let padded i w cell =
  let space = String.make (w - width cell) ' ' in
  if i = 0 then cell ^ space else space ^ cell

let line widths cells = List.mapi (fun i (w, c) -> padded i w c) (List.combine widths cells)

let to_text table =
  let widths = widths table in
  let text cells = "  " ^ String.concat "  " (line widths cells) in
  let lines = List.map text (table.header :: table.rows) in
  String.concat "\n" ((table.title :: lines) @ [ "" ])

let to_markdown table =
  let widths = widths table in
  let row cells = "| " ^ String.concat " | " (line widths cells) ^ " |" in
  let rule i w = if i = 0 then String.make w '-' else String.make (w - 1) '-' ^ ":" in
  let rules = List.mapi rule widths in
  let lines = row table.header :: row rules :: List.map row table.rows in
  String.concat "\n" ((("### " ^ table.title ^ "\n") :: lines) @ [ "" ])
