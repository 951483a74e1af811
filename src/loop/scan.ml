module Machine = Muster_core.Machine
module Fiber = Muster_core.Fiber
module Leftmost = Muster_core.Leftmost

(* Each block but the last is reduced, which gives each its carry, and then scanned: two calls of
   the operation for each element, so short arrays are one block.

   To scan a block from its carry is what the sequential program does there. To reduce it is not,
   nor to combine the totals: their arguments are others, and they come out of turn. So where one
   of these raises, all up to that block is scanned, which should raise what the sequential program
   does. If it does not, as with an operation that raises in one bracketing alone, or an exception
   that came from elsewhere (Ctrl-C), the first exception goes on: none may be lost. It may be that
   of a cancellation, which is told again: the operation, called once more, would wait as code that
   cleans up does. *)

let one_block = 1024
let blocks = 64
let each_block ~code ~size last f = Reduce.over ~code ~per_leaf:size ~last f (fun () () -> ())

(* The length of the blocks, all but the last. *)
let scan_size n = if n <= one_block then n else ((n - 1) / blocks) + 1

(* The total of a block, and of all before it. *)
let carry op totals b =
  match (totals.(b - 1), totals.(b)) with
  | Some before, Some total -> totals.(b) <- Some (op before total)
  | _ -> assert false

let scan_blocks ~code n ~make ~total ~scan op =
  let size = scan_size n in
  let last = (n - 1) / size in
  let of_block f b = f (b * size) (Int.min n ((b + 1) * size) - 1) in
  let totals = Array.make last None and failures = Leftmost.create () in
  let keep f b = if not (Leftmost.stops failures b) then Loop.keep_failure failures f b b in
  let reduce_block b = totals.(b) <- Some (of_block total b) in
  let reduce () = each_block ~code ~size (last - 1) (keep reduce_block) in
  let last_known () = Option.value (Leftmost.index failures) ~default:last in
  let scan_block result b = of_block (scan result (if b = 0 then None else totals.(b - 1))) b in
  let put_back = Fiber.to_tell_again () in
  let tell_again () = if Option.is_some (Leftmost.index failures) then put_back () in
  Fiber.raising (fun () -> Leftmost.get failures) @@ fun () ->
  let result = make () in
  reduce ();
  tell_again ();
  for b = 1 to last_known () - 1 do
    keep (carry op totals) b
  done;
  tell_again ();
  each_block ~code ~size (last_known ()) (scan_block result);
  result

(* In one block an operation that is not known to be short is a checkpoint: else a cancelled task
   would go on to its end. *)
let checked_if_long cost op =
  if cost <> Site.unknown && Site.estimate cost Site.sample < Tuning.chunk then op
  else fun x y ->
    Fiber.check_if_any ();
    op x y

let scan_alone ~code n f op =
  let cost = Site.cost code in
  let op = checked_if_long cost op and tiny = Site.estimate cost n < Tuning.tiny in
  if n = 1 then f op else Site.timed code cost ~iterations:(n - 1) ~tiny (fun () -> f op)

(* Of [n] elements, at least 1: [total lo hi] reduces these, [scan op result carry lo hi] puts
   their prefixes into the result, which [make ()] makes. *)
let scan_in_blocks ~code n ~make ~total ~scan op =
  Fiber.check_if_any ();
  if n > one_block then scan_blocks ~code n ~make ~total ~scan:(scan op) op
  else begin
    let result = make () in
    scan_alone ~code n (fun op -> scan op result None 0 (n - 1)) op;
    result
  end

(* A value that was written is not read again: from an array of floats that would allocate. *)
let[@inline never] scan_chunk op a r carry lo hi =
  let first = Array.unsafe_get a lo in
  let acc = ref (match carry with None -> first | Some carry -> op carry first) in
  Muster_core.Compat.set_fresh r lo !acc;
  for i = lo + 1 to hi do
    acc := op !acc (Array.unsafe_get a i);
    Muster_core.Compat.set_fresh r i !acc
  done

let parallel_scan op a =
  let n = Array.length a in
  if n < 2 then begin
    Fiber.check_if_any ();
    Array.copy a
  end
  else
    let make () = Pages.make n (Array.unsafe_get a 0) in
    let total lo hi = Reduce.fold_range op a lo hi in
    let scan op r carry lo hi = scan_chunk op a r carry lo hi in
    scan_in_blocks ~code:(Machine.code_of op) n ~make ~total ~scan op
