(* Prefixes of lists, cut as those of arrays are (Reduce). A walk finds where the blocks begin. *)

open Muster_core
open Muster_loop
module A = Stdlib.Array
module L = Stdlib.List

let fold_block op l n =
  let rec go acc l n = match l with x :: l when n > 0 -> go (op acc x) l (n - 1) | _ -> acc in
  go (L.hd l) (L.tl l) (n - 1)

(* [n] prefixes, of which the first is given. *)
let scan_block op first l n =
  let[@tail_mod_cons] rec go acc l n =
    match l with
    | x :: l when n > 0 ->
      let acc = op acc x in
      acc :: go acc l (n - 1)
    | _ -> []
  in
  first :: go first l (n - 1)

(* One block, whose length nobody counts where it is short. *)
let alone op x l =
  let code = Machine.code_of op in
  let cost = Site.cost code in
  let op = Reduce.checked_if_long cost op in
  if Site.estimate cost Reduce.one_block < Loop.worth && Site.is_trusted () then
    scan_block op x l max_int
  else begin
    let since = Machine.ticks () in
    let made = scan_block op x l max_int in
    let ticks = Machine.ticks () - since in
    let calls = if cost = Site.unknown || ticks >= Loop.worth then L.length l else 0 in
    if calls > 0 then Site.confirm code cost ~ticks ~iterations:calls;
    made
  end

let blocks op l n =
  let size = Reduce.scan_size n in
  let rec begins l = if L.is_empty l then [] else l :: begins (List_work.skip size l) in
  let begins = A.of_list (begins l) in
  let from lo = begins.(lo / size) and length lo hi = hi - lo + 1 in
  let total lo hi = fold_block op (from lo) (length lo hi) in
  let scan op chains carry lo hi =
    let x = L.hd (from lo) in
    let first = match carry with None -> x | Some carry -> op carry x in
    let prefixes = scan_block op first (L.tl (from lo)) (length lo hi) in
    chains.(lo / size) <- Chain.of_list ~index:lo prefixes
  in
  let make () = A.make (A.length begins) Chain.empty in
  let chains = Reduce.scan_in_blocks ~code:(Machine.code_of op) n ~make ~total ~scan op in
  Chain.join (A.to_list chains)
