(* Where reductions and scans are cut: by the length alone, so that what they compute does not
   depend on how many workers there are. *)

open Muster_core
open Muster_loop
module Array = Stdlib.Array

(* A leaf is a loop, and a branch of the tree costs as much as some turns of it. *)
let shortest = 32
let most = 512

(* Of [n] elements, at least 1: [leaf lo hi] reduces these. *)
let reduce ~code n leaf op =
  let size = max shortest (((n - 1) / most) + 1) in
  if n <= size then leaf 0 (n - 1)
  else
    let leaf b = leaf (b * size) (min n ((b + 1) * size) - 1) in
    Reduce.over ~code ~per_leaf:size ~last:((n - 1) / size) leaf op

(* Of equal ones the leftmost. *)
let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x

(* {2 Scans}

   Each block but the last is reduced, which gives each its carry, and then scanned: two calls of
   the operation for each element, so short arrays are one block. *)

let one_block = 1024
let blocks = 64

(* Making a long result takes as long as reducing: both at once. *)
let long = 1 lsl 16

let each_block ~code ~size last f = Reduce.over ~code ~per_leaf:size ~last f (fun () () -> ())

(* The length of the blocks, all but the last. *)
let scan_size n = if n <= one_block then n else ((n - 1) / blocks) + 1

(* Of [n] elements, more than 1: [total lo hi] reduces these, [scan result carry lo hi] puts
   their prefixes into the result, which [make ()] makes. *)
let scan ~code n ~make ~total ~scan op =
  if n <= one_block then begin
    let result = make () in
    scan result None 0 (n - 1);
    result
  end
  else begin
    let size = scan_size n in
    let last = (n - 1) / size in
    let of_block f b = f (b * size) (min n ((b + 1) * size) - 1) in
    let totals = Array.make last None in
    let reduce () =
      each_block ~code ~size (last - 1) (fun b -> totals.(b) <- Some (of_block total b))
    in
    let result =
      if n < long then begin
        reduce ();
        make ()
      end
      else fst (Fork.both make reduce)
    in
    for b = 1 to last - 1 do
      match (totals.(b - 1), totals.(b)) with
      | Some before, Some total -> totals.(b) <- Some (op before total)
      | _ -> assert false
    done;
    each_block ~code ~size last (fun b ->
        of_block (scan result (if b = 0 then None else totals.(b - 1))) b);
    result
  end
