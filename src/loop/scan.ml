(* Each block but the last is reduced, which gives each its carry, and then scanned: two calls of
   the operation for each element, so short arrays are one block.

   To scan a block from its carry is what the sequential program does there. To reduce it is not,
   nor to combine the totals: their arguments are others, and they come out of turn. So where one
   of these raises, all up to that block is scanned, which should raise what the sequential program
   does. If it does not, as with an operation that raises in one bracketing alone, or an exception
   that came from elsewhere (Ctrl-C), the first exception goes on: none may be lost. It may be that
   of a cancellation, which is told again: the operation, called once more, would wait as code that
   cleans up does. *)

let each_block code size last f = Reduce.over ~code ~per_leaf:size ~last f (fun () () -> ())

(* The total of a block, and of all before it. *)
let carry op totals b =
  match (totals.(b - 1), totals.(b)) with
  | Some before, Some total -> totals.(b) <- Some (op before total)
  | _ -> assert false

let in_many code n ~total ~scan op =
  let size = ((n - 1) / Tuning.blocks) + 1 in
  let last = (n - 1) / size in
  let of_block f b = f (b * size) (Int.min n ((b + 1) * size) - 1) in
  let totals = Array.make last None and failures = Leftmost.create () in
  let keep f b =
    if not (Leftmost.stops failures b) then
      try f b with exn when exn != Sys.Break -> Leftmost.note failures b (Outcome.caught exn)
  in
  let last_known () = Option.value (Leftmost.index failures) ~default:last in
  let scan_block b = of_block (scan op (if b = 0 then None else totals.(b - 1))) b in
  let put_back = Fiber.to_tell_again () in
  let tell_again () = if Option.is_some (Leftmost.index failures) then put_back () in
  Fiber.raising (fun () -> Leftmost.get failures) @@ fun () ->
  each_block code size (last - 1) (keep (fun b -> totals.(b) <- Some (of_block (total op) b)));
  tell_again ();
  for b = 1 to last_known () - 1 do
    keep (carry op totals) b
  done;
  tell_again ();
  each_block code size (last_known ()) scan_block

(* An operation that is not known to be short is a checkpoint: else a cancelled task would go on to
   the end of the block. *)
let checked_if_long cost op =
  if cost <> Site.unknown && Site.estimate cost Site.sample < Tuning.chunk then op
  else fun x y ->
    Fiber.check ();
    op x y

let in_one code n ~scan op =
  let cost = Site.cost code in
  let op = checked_if_long cost op in
  Site.timed code cost ~iterations:n (fun () -> scan op None 0 (n - 1))

let prefixes code n ~total ~scan op =
  Fiber.check ();
  if n > Tuning.one_block then in_many code n ~total ~scan op
  else if n > 0 then Adaptive.beside_loop code ~n (fun () -> in_one code n ~scan op)
