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
  let op = Scan.checked_if_long cost op in
  if Site.estimate cost Scan.one_block < Loop.worth && Site.is_trusted () then
    scan_block op x l max_int
  else begin
    let since = Machine.ticks () in
    let made = scan_block op x l max_int in
    let ticks = Machine.ticks () - since in
    let calls = if cost = Site.unknown || ticks >= Loop.worth then L.length l else 0 in
    if calls > 0 then Site.confirm code cost ~ticks ~iterations:calls;
    made
  end

(* {2 Blocks in one walk}

   What is too short to share, with the very operands that it would have if it were: the prefixes of a block, from its carry, and
   its total for the next one's. *)

type 'a block = {
  mutable before : 'a option;  (** its carry *)
  mutable from : 'a list;
  mutable later : int;  (** how many follow *)
}

let[@inline] carried op before x = match before with None -> x | Some before -> op before x

let walk op b size =
  let[@tail_mod_cons] rec both acc total l n =
    match l with
    | x :: l when n > 0 ->
      let acc = op acc x in
      let total = op total x in
      acc :: both acc total l (n - 1)
    | [] -> []
    | _ ->
      Loop.look_up_between_chunks ();
      b.before <- Some (carried op b.before total);
      b.from <- l;
      b.later <- b.later - 1;
      begin_block l
  and[@tail_mod_cons] begin_block l =
    match l with
    | [] -> []
    | x :: l ->
      let first = carried op b.before x in
      if b.later > 0 then first :: both first x l (size - 1)
      else (scan_block [@tailcall false]) op first l max_int
  in
  begin_block b.from

(* Where a total raises, the prefixes of its block come first, as in Reduce. *)
let in_place op l n =
  let size = Scan.scan_size n and tell_again = Context.to_tell_again () in
  let b = { before = None; from = l; later = (n - 1) / size } in
  match walk op b size with
  | made -> made
  | exception exn ->
    let failure = Outcome.caught exn in
    tell_again ();
    ignore (scan_block op (carried op b.before (L.hd b.from)) (L.tl b.from) size);
    Outcome.raise failure

(* The list is walked twice before anything is shared, and once more to link the parts, where two workers save no more than
   a call for each element. Long ones are collected by all, too. *)
let walks = Machine.ticks_of_us 4

let is_worth_sharing cost n =
  n >= Chain.far || Site.estimate cost n - (n * walks / 1000) >= Walk.worth

(* Two calls for each element. *)
let in_place_timed code cost op l n =
  let since = Machine.ticks () in
  let made = in_place op l n in
  Site.confirm code cost ~ticks:(Machine.ticks () - since) ~iterations:(2 * n);
  made

let shared op l n =
  let size = Scan.scan_size n in
  let rec begins l = if L.is_empty l then [] else l :: begins (List_work.skip size l) in
  let begins = A.of_list (begins l) in
  let from lo = begins.(lo / size) and length lo hi = hi - lo + 1 in
  let total lo hi = fold_block op (from lo) (length lo hi) in
  let scan op chains carry lo hi =
    let first = carried op carry (L.hd (from lo)) in
    let prefixes = scan_block op first (L.tl (from lo)) (length lo hi) in
    chains.(lo / size) <- Chain.of_list ~index:lo prefixes
  in
  let make () = A.make (A.length begins) Chain.empty in
  let chains = Scan.scan_in_blocks ~code:(Machine.code_of op) n ~make ~total ~scan op in
  Chain.join (A.to_list chains)

let blocks op l n =
  let code = Machine.code_of op in
  let cost = Site.cost code in
  if is_worth_sharing cost n then shared op l n
  else begin
    Context.check_if_any ();
    in_place_timed code cost op l n
  end
