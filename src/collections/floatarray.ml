(* As Array, over unboxed floats: results need no first element to be made. *)

module Machine = Muster_core.Machine
module Chunks = Muster_loop.Chunks
module Scan = Muster_loop.Scan
module Fresh = Muster_collections_engine.Fresh
module Groups = Muster_collections_engine.Groups
module Leaves = Muster_collections_engine.Leaves
module Merge_sort = Muster_collections_engine.Merge_sort
module Select = Muster_collections_engine.Select
module Std = Stdlib.Float.Array
include Std
module List = Stdlib.List

let code = Machine.code_of
let[@inline] run f a chunk = Chunks.run (code f) 0 (length a - 1) chunk
let[@inline] search f a chunk = Chunks.search (code f) 0 (length a - 1) chunk

(* {2 One result for each element} *)

let build code n chunk =
  let r = create n in
  Chunks.run code 0 (n - 1) (chunk r);
  r

let[@inline never] init_chunk f r lo hi =
  for i = lo to hi do
    unsafe_set r i (f i)
  done

let init n f = if n < 2 then Std.init n f else build (code f) n (init_chunk f)

let[@inline never] map_chunk f a r lo hi =
  for i = lo to hi do
    unsafe_set r i (f (unsafe_get a i))
  done

let map f a = if length a < 2 then Std.map f a else build (code f) (length a) (map_chunk f a)
let map_inplace f a = if length a < 2 then Std.map_inplace f a else run f a (map_chunk f a a)

let[@inline never] mapi_chunk f a r lo hi =
  for i = lo to hi do
    unsafe_set r i (f i (unsafe_get a i))
  done

let mapi f a = if length a < 2 then Std.mapi f a else build (code f) (length a) (mapi_chunk f a)
let mapi_inplace f a = if length a < 2 then Std.mapi_inplace f a else run f a (mapi_chunk f a a)

let[@inline never] map2_chunk f a b r lo hi =
  for i = lo to hi do
    unsafe_set r i (f (unsafe_get a i) (unsafe_get b i))
  done

let map2 f a b =
  if length a < 2 || length a <> length b then Std.map2 f a b
  else build (code f) (length a) (map2_chunk f a b)

let[@inline never] to_array_chunk f a r lo hi =
  for i = lo to hi do
    Fresh.put r i (f (unsafe_get a i))
  done

let map_to_array f a =
  if length a < 2 then Std.map_to_array f a
  else Fresh.build (code f) (length a) (fun i -> f (unsafe_get a i)) (to_array_chunk f a)

let[@inline never] from_array_chunk f a r lo hi =
  for i = lo to hi do
    unsafe_set r i (f (Stdlib.Array.unsafe_get a i))
  done

let map_from_array f a =
  let n = Stdlib.Array.length a in
  if n < 2 then Std.map_from_array f a else build (code f) n (from_array_chunk f a)

(* {2 Effects} *)

let[@inline never] iter_chunk f a lo hi =
  for i = lo to hi do
    f (unsafe_get a i)
  done

let iter f a = if length a < 2 then Std.iter f a else run f a (iter_chunk f a)

let[@inline never] iteri_chunk f a lo hi =
  for i = lo to hi do
    f i (unsafe_get a i)
  done

let iteri f a = if length a < 2 then Std.iteri f a else run f a (iteri_chunk f a)

let[@inline never] iter2_chunk f a b lo hi =
  for i = lo to hi do
    f (unsafe_get a i) (unsafe_get b i)
  done

let iter2 f a b =
  if length a < 2 || length a <> length b then Std.iter2 f a b else run f a (iter2_chunk f a b)

(* {2 Reductions} *)

let[@inline never] fold_from op acc a lo hi =
  let acc = ref acc in
  for i = lo to hi do
    acc := op !acc (unsafe_get a i)
  done;
  !acc

let fold_chunk op a lo hi = fold_from op (unsafe_get a lo) a (lo + 1) hi
let reduce_keyed code op a = Leaves.reduce ~code (length a) (fold_chunk op a) op

let fold op init a =
  if length a <= Leaves.shortest then fold_left op init a
  else
    let leaf lo hi = if lo = 0 then fold_from op init a lo hi else fold_chunk op a lo hi in
    Leaves.reduce ~code:(code op) (length a) leaf op

let reduce_by code op a =
  match length a with 0 -> None | 1 -> Some (unsafe_get a 0) | _ -> Some (reduce_keyed code op a)

let reduce op a = reduce_by (code op) op a
let min cmp a = reduce_by (code cmp) (Leaves.least cmp) a
let max cmp a = reduce_by (code cmp) (Leaves.greatest cmp) a

let[@inline never] scan_chunk op a r carry lo hi =
  let first = unsafe_get a lo in
  let acc = ref (match carry with None -> first | Some carry -> op carry first) in
  unsafe_set r lo !acc;
  for i = lo + 1 to hi do
    acc := op !acc (unsafe_get a i);
    unsafe_set r i !acc
  done

let scan op a =
  let n = length a in
  if n < 2 then copy a
  else
    let make () = create n in
    Scan.scan_in_blocks ~code:(code op) n ~make ~total:(fold_chunk op a)
      ~scan:(fun op -> scan_chunk op a)
      op

let[@inline never] count_chunk p a lo hi =
  let count = ref 0 in
  for i = lo to hi do
    count := !count + Bool.to_int (p (unsafe_get a i))
  done;
  !count

let count_shared p a =
  let total = Atomic.make 0 in
  run p a (fun lo hi -> ignore (Atomic.fetch_and_add total (count_chunk p a lo hi)));
  Atomic.get total

let count p a = if length a < 2 then count_chunk p a 0 (length a - 1) else count_shared p a

(* {2 Searches} *)

let[@inline never] find_mapi_chunk f a lo hi =
  let i = ref lo and found = ref None in
  while !found == None && !i < hi do
    found := f !i (unsafe_get a !i);
    if !found == None then begin
      found := f (!i + 1) (unsafe_get a (!i + 1));
      i := !i + 2
    end
  done;
  if !found == None && !i <= hi then f !i (unsafe_get a !i) else !found

let[@inline never] find_map_chunk f a lo hi =
  let i = ref lo and found = ref None in
  while !found == None && !i < hi do
    found := f (unsafe_get a !i);
    if !found == None then begin
      found := f (unsafe_get a (!i + 1));
      i := !i + 2
    end
  done;
  if !found == None && !i <= hi then f (unsafe_get a !i) else !found

(* Two a turn, as in Array. *)
let[@inline never] index_chunk p a lo hi =
  let i = ref lo and found = ref false in
  while (not !found) && !i < hi do
    found := p (unsafe_get a !i);
    if not !found then begin
      incr i;
      found := p (unsafe_get a !i);
      if not !found then incr i
    end
  done;
  if !found || (!i <= hi && p (unsafe_get a !i)) then Some !i else None

let[@inline never] failing_chunk p a lo hi =
  let i = ref lo and holds = ref true in
  while !holds && !i < hi do
    holds := p (unsafe_get a !i);
    if !holds then begin
      holds := p (unsafe_get a (!i + 1));
      i := !i + 2
    end
  done;
  if !holds && (!i > hi || p (unsafe_get a !i)) then None else Some ()

(* The element is what [p] saw: it may have changed since. *)
let[@inline never] find_chunk p a lo hi =
  let i = ref lo and found = ref None in
  while !found == None && !i < hi do
    let x = unsafe_get a !i in
    if p x then found := Some x
    else begin
      let x = unsafe_get a (!i + 1) in
      if p x then found := Some x;
      i := !i + 2
    end
  done;
  if !found == None && !i <= hi then
    let x = unsafe_get a !i in
    if p x then Some x else None
  else !found

let find_mapi f a = if length a < 2 then Std.find_mapi f a else search f a (find_mapi_chunk f a)
let find_map f a = if length a < 2 then Std.find_map f a else search f a (find_map_chunk f a)
let find_opt p a = if length a < 2 then Std.find_opt p a else search p a (find_chunk p a)
let search_index p a = search p a (index_chunk p a)
let find_index p a = if length a < 2 then Std.find_index p a else search_index p a
let exists p a = if length a < 2 then Std.exists p a else Option.is_some (search_index p a)

let for_all p a =
  if length a < 2 then Std.for_all p a else Option.is_none (search p a (failing_chunk p a))

(* Without a call, and a box, for each element. *)
let[@inline never] equal_chunk (x : float) a lo hi =
  let i = ref lo in
  while !i <= hi && Float.compare (unsafe_get a !i) x <> 0 do
    incr i
  done;
  if !i <= hi then Some () else None

let[@inline never] ieee_chunk (x : float) a lo hi =
  let i = ref lo in
  while !i <= hi && unsafe_get a !i <> x do
    incr i
  done;
  if !i <= hi then Some () else None

let mem x a =
  if length a < 2 then Std.mem x a else Option.is_some (search equal_chunk a (equal_chunk x a))

let mem_ieee x a =
  if length a < 2 then Std.mem_ieee x a else Option.is_some (search ieee_chunk a (ieee_chunk x a))

(* {2 Some of the elements} *)

let[@inline never] mark_chunk p a marks lo hi =
  for i = lo to hi do
    Select.mark marks i (p (unsafe_get a i))
  done

let[@inline never] move_chunk a r at (found : Select.found) =
  for j = 0 to found.count - 1 do
    unsafe_set r (at + j) (unsafe_get a (Select.index found j))
  done

let pack ?others marks a =
  Select.pack ?others marks ~empty:(create 0) ~make:(fun n _ -> create n) ~move:(move_chunk a)

let marks p a = Select.marks (code p) (length a) (mark_chunk p a)
let filter p a = if length a < 2 then of_list (List.filter p (to_list a)) else pack (marks p a) a

let partition p a =
  if length a < 2 then
    let chosen, others = List.partition p (to_list a) in
    (of_list chosen, of_list others)
  else
    let marks = marks p a in
    (pack marks a, pack ~others:true marks a)

let[@inline never] filter_map_chunk f a results marks lo hi =
  for i = lo to hi do
    match f (unsafe_get a i) with
    | None -> Select.mark marks i false
    | Some v ->
      unsafe_set results i v;
      Select.mark marks i true
  done

let filter_map_shared f a =
  let n = length a in
  let results = create n in
  pack (Select.marks (code f) n (filter_map_chunk f a results)) results

let filter_map f a =
  if length a < 2 then of_list (List.filter_map f (to_list a)) else filter_map_shared f a

(* Not the stdlib's [concat] of nothing, which [compare] tells from the empty array (OCaml 5.4). *)
let joined pieces =
  if List.for_all (fun piece -> length piece = 0) pieces then create 0 else concat pieces

let concat_map f a =
  if length a < 2 then joined (List.map f (to_list a))
  else joined (Stdlib.Array.to_list (map_to_array f a))

(* {2 Sorting and groups} *)

(* Loops that box no element. *)
let sort cmp a =
  let n = length a in
  let floats = Stdlib.Array.create_float n in
  for i = 0 to n - 1 do
    Stdlib.Array.unsafe_set floats i (unsafe_get a i)
  done;
  Merge_sort.sort cmp floats;
  for i = 0 to n - 1 do
    unsafe_set a i (Stdlib.Array.unsafe_get floats i)
  done

let stable_sort = sort
let fast_sort = sort

let[@inline never] first_chunk cmp a marks lo hi =
  for i = lo to hi do
    Select.mark marks i (i = 0 || cmp (unsafe_get a (i - 1)) (unsafe_get a i) <> 0)
  done

let sort_uniq cmp a =
  let sorted = copy a in
  sort cmp sorted;
  pack (Select.marks (code cmp) (length a) (first_chunk cmp sorted)) sorted

let group_by key a =
  let elements indices = map_from_array (fun i -> unsafe_get a i) indices in
  let groups = Groups.indices (map_to_array key a) in
  Stdlib.Array.map (fun (key, indices) -> (key, elements indices)) groups

let[@inline never] histogram_chunk f a t table lo hi =
  for i = lo to hi do
    Groups.add t table (f (unsafe_get a i))
  done

let histogram ~bins f a =
  Groups.histogram "Floatarray" ~bins (code f) (length a) (histogram_chunk f a)
