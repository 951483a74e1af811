(* As Array, over characters. *)

open Muster_core
open Muster_loop
module Std = Stdlib.Bytes
include Std
module Seq = Stdlib.Seq

let code = Machine.code_of
let[@inline] run f b chunk = Chunks.run (code f) 0 (length b - 1) chunk
let[@inline] search f b chunk = Chunks.search (code f) 0 (length b - 1) chunk

(* {2 One result for each element} *)

let build code n chunk =
  let r = create n in
  Chunks.run code 0 (n - 1) (chunk r);
  r

let[@inline never] init_chunk f r lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    unsafe_set r j (f j);
    unsafe_set r (j + 1) (f (j + 1));
    unsafe_set r (j + 2) (f (j + 2));
    unsafe_set r (j + 3) (f (j + 3));
    i := j + 4
  done;
  for j = !i to hi do
    unsafe_set r j (f j)
  done

let init n f = if n < 2 then Std.init n f else build (code f) n (init_chunk f)

let[@inline never] map_chunk f b r lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    unsafe_set r j (f (unsafe_get b j));
    unsafe_set r (j + 1) (f (unsafe_get b (j + 1)));
    unsafe_set r (j + 2) (f (unsafe_get b (j + 2)));
    unsafe_set r (j + 3) (f (unsafe_get b (j + 3)));
    i := j + 4
  done;
  for j = !i to hi do
    unsafe_set r j (f (unsafe_get b j))
  done

let map f b = if length b < 2 then Std.map f b else build (code f) (length b) (map_chunk f b)

let[@inline never] mapi_chunk f b r lo hi =
  for i = lo to hi do
    unsafe_set r i (f i (unsafe_get b i))
  done

let mapi f b = if length b < 2 then Std.mapi f b else build (code f) (length b) (mapi_chunk f b)

let[@inline never] map2_chunk f a b r lo hi =
  for i = lo to hi do
    unsafe_set r i (f (unsafe_get a i) (unsafe_get b i))
  done

let map2 f a b =
  if length a <> length b then
    Loop.invalid "Bytes.map2" "lengths = %d and %d differ" (length a) (length b);
  build (code f) (length a) (map2_chunk f a b)

let[@inline never] to_array_chunk f b r lo hi =
  for i = lo to hi do
    Fresh.put r i (f (unsafe_get b i))
  done

let map_to_array f b =
  if length b = 0 then [||]
  else Fresh.build (code f) (length b) (fun i -> f (unsafe_get b i)) (to_array_chunk f b)

(* {2 Effects} *)

let[@inline never] iter_chunk f b lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    f (unsafe_get b j);
    f (unsafe_get b (j + 1));
    f (unsafe_get b (j + 2));
    f (unsafe_get b (j + 3));
    i := j + 4
  done;
  for j = !i to hi do
    f (unsafe_get b j)
  done

let iter f b = if length b < 2 then Std.iter f b else run f b (iter_chunk f b)

let[@inline never] iteri_chunk f b lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    f j (unsafe_get b j);
    f (j + 1) (unsafe_get b (j + 1));
    f (j + 2) (unsafe_get b (j + 2));
    f (j + 3) (unsafe_get b (j + 3));
    i := j + 4
  done;
  for j = !i to hi do
    f j (unsafe_get b j)
  done

let iteri f b = if length b < 2 then Std.iteri f b else run f b (iteri_chunk f b)

(* {2 Reductions} *)

let[@inline never] fold_from op acc b lo hi =
  let acc = ref acc in
  for i = lo to hi do
    acc := op !acc (unsafe_get b i)
  done;
  !acc

let fold_chunk op b lo hi = fold_from op (unsafe_get b lo) b (lo + 1) hi
let reduce_keyed code op b = Leaves.reduce ~code (length b) (fold_chunk op b) op

let fold op init b =
  if length b <= Leaves.shortest then fold_left op init b
  else
    let leaf lo hi = if lo = 0 then fold_from op init b lo hi else fold_chunk op b lo hi in
    Leaves.reduce ~code:(code op) (length b) leaf op

let reduce_by code op b =
  match length b with 0 -> None | 1 -> Some (unsafe_get b 0) | _ -> Some (reduce_keyed code op b)

let reduce op b = reduce_by (code op) op b
let min cmp b = reduce_by (code cmp) (Leaves.least cmp) b
let max cmp b = reduce_by (code cmp) (Leaves.greatest cmp) b

let[@inline never] scan_chunk op b r carry lo hi =
  let first = unsafe_get b lo in
  let acc = ref (match carry with None -> first | Some carry -> op carry first) in
  unsafe_set r lo !acc;
  for i = lo + 1 to hi do
    acc := op !acc (unsafe_get b i);
    unsafe_set r i !acc
  done

let scan op b =
  let n = length b in
  if n < 2 then copy b
  else
    let make () = create n in
    Reduce.scan_in_blocks ~code:(code op) n ~make ~total:(fold_chunk op b)
      ~scan:(fun op -> scan_chunk op b)
      op

let[@inline never] count_chunk p b lo hi =
  let count = ref 0 in
  for i = lo to hi do
    count := !count + Bool.to_int (p (unsafe_get b i))
  done;
  !count

let count_shared p b =
  let total = Atomic.make 0 in
  run p b (fun lo hi -> ignore (Atomic.fetch_and_add total (count_chunk p b lo hi)));
  Atomic.get total

let count p b = if length b < 2 then count_chunk p b 0 (length b - 1) else count_shared p b

(* {2 Searches} *)

(* Two a turn, as in Array. *)
let[@inline never] index_chunk p b lo hi =
  let i = ref lo and found = ref false in
  while (not !found) && !i < hi do
    found := p (unsafe_get b !i);
    if not !found then begin
      incr i;
      found := p (unsafe_get b !i);
      if not !found then incr i
    end
  done;
  if !found || (!i <= hi && p (unsafe_get b !i)) then Some !i else None

let[@inline never] failing_chunk p b lo hi =
  let i = ref lo and holds = ref true in
  while !holds && !i < hi do
    holds := p (unsafe_get b !i);
    if !holds then begin
      holds := p (unsafe_get b (!i + 1));
      i := !i + 2
    end
  done;
  if !holds && (!i > hi || p (unsafe_get b !i)) then None else Some ()

(* The character is what [p] saw: it may have changed since. *)
let[@inline never] find_chunk p b lo hi =
  let i = ref lo and found = ref None in
  while !found == None && !i < hi do
    let c = unsafe_get b !i in
    if p c then found := Some c
    else begin
      let c = unsafe_get b (!i + 1) in
      if p c then found := Some c;
      i := !i + 2
    end
  done;
  if !found == None && !i <= hi then
    let c = unsafe_get b !i in
    if p c then Some c else None
  else !found

let search_index p b = search p b (index_chunk p b)
let find_opt p b = search p b (find_chunk p b)
let find_index p b = search_index p b
let exists p b = if length b < 2 then Std.exists p b else Option.is_some (search_index p b)

let for_all p b =
  if length b < 2 then Std.for_all p b else Option.is_none (search p b (failing_chunk p b))

(* Without a call for each character. *)
let[@inline never] char_chunk (c : char) b lo hi =
  let i = ref lo in
  while !i <= hi && unsafe_get b !i <> c do
    incr i
  done;
  if !i <= hi then Some !i else None

let index_opt b c =
  if length b < 2 then Std.index_opt b c
  else Chunks.search (code char_chunk) 0 (length b - 1) (char_chunk c b)

let index b c =
  if length b < 2 then Std.index b c
  else match index_opt b c with Some i -> i | None -> raise Not_found

let contains b c = if length b < 2 then Std.contains b c else Option.is_some (index_opt b c)
let mem c b = contains b c

(* {2 Some of the elements} *)

let[@inline never] mark_chunk p b marks lo hi =
  for i = lo to hi do
    Select.mark marks i (p (unsafe_get b i))
  done

let[@inline never] move_chunk b r at (found : Select.found) =
  for j = 0 to found.count - 1 do
    unsafe_set r (at + j) (unsafe_get b (Select.index found j))
  done

let pack ?others marks b =
  Select.pack ?others marks ~empty ~make:(fun n _ -> create n) ~move:(move_chunk b)

let marks p b = Select.marks (code p) (length b) (mark_chunk p b)
let filter p b = if length b < 2 then of_seq (Seq.filter p (to_seq b)) else pack (marks p b) b

let partition p b =
  let marks = marks p b in
  (pack marks b, pack ~others:true marks b)

let[@inline never] filter_map_chunk f b results marks lo hi =
  for i = lo to hi do
    match f (unsafe_get b i) with
    | None -> Select.mark marks i false
    | Some c ->
      unsafe_set results i c;
      Select.mark marks i true
  done

let filter_map_shared f b =
  let n = length b in
  let results = create n in
  pack (Select.marks (code f) n (filter_map_chunk f b results)) results

let filter_map f b =
  if length b < 2 then of_seq (Seq.filter_map f (to_seq b)) else filter_map_shared f b

let concat_map f b = concat empty (Stdlib.Array.to_list (map_to_array f b))

(* {2 Sorting and groups} *)

let sort cmp b =
  let each = Stdlib.Array.init (length b) (unsafe_get b) in
  Merge_sort.sort cmp each;
  Stdlib.Array.iteri (unsafe_set b) each

let stable_sort = sort

let[@inline never] first_chunk cmp b marks lo hi =
  for i = lo to hi do
    Select.mark marks i (i = 0 || cmp (unsafe_get b (i - 1)) (unsafe_get b i) <> 0)
  done

let sort_uniq cmp b =
  let sorted = copy b in
  sort cmp sorted;
  pack (Select.marks (code cmp) (length b) (first_chunk cmp sorted)) sorted

let group_by key b =
  let element indices j = unsafe_get b (Stdlib.Array.unsafe_get indices j) in
  let elements indices = init (Stdlib.Array.length indices) (element indices) in
  let groups = Groups.indices (map_to_array key b) in
  Stdlib.Array.map (fun (key, indices) -> (key, elements indices)) groups

let[@inline never] histogram_chunk f b t table lo hi =
  for i = lo to hi do
    Groups.add t table (f (unsafe_get b i))
  done

let histogram ~bins f b = Groups.histogram "Bytes" ~bins (code f) (length b) (histogram_chunk f b)
