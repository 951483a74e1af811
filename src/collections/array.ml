(* Each function is the user's function in a tight loop over a chunk (Chunks), and fewer than two
   elements are left to the stdlib. *)

module Compat = Muster_core.Compat
module Machine = Muster_core.Machine
module Chunks = Muster_loop.Chunks
module Pages = Muster_loop.Pages
module Reduce = Muster_loop.Reduce
module Fresh = Muster_collections_engine.Fresh
module Groups = Muster_collections_engine.Groups
module Leaves = Muster_collections_engine.Leaves
module Merge_sort = Muster_collections_engine.Merge_sort
module Pieces = Muster_collections_engine.Pieces
module Select = Muster_collections_engine.Select
include Stdlib.Array
module List = Stdlib.List

let code = Machine.code_of
let put = Fresh.put
let[@inline] run f a chunk = Chunks.run (code f) 0 (length a - 1) chunk
let[@inline] search f a chunk = Chunks.search (code f) 0 (length a - 1) chunk

(* {2 One result for each element}

   These loops are functions of their own, whose free variables are in registers. *)

let[@inline never] init_chunk f r lo hi =
  for i = lo to hi do
    put r i (f i)
  done

let init n f =
  if n < 2 || n > Sys.max_array_length then Stdlib.Array.init n f
  else Fresh.build (code f) n f (fun r lo hi -> init_chunk f r lo hi)

let[@inline never] map_chunk f a r lo hi =
  for i = lo to hi do
    put r i (f (unsafe_get a i))
  done

let map f a =
  if length a < 2 then Stdlib.Array.map f a
  else
    let value i = f (unsafe_get a i) in
    Fresh.build (code f) (length a) value (fun r lo hi -> map_chunk f a r lo hi)

let[@inline never] mapi_chunk f a r lo hi =
  for i = lo to hi do
    put r i (f i (unsafe_get a i))
  done

let mapi f a =
  if length a < 2 then Stdlib.Array.mapi f a
  else
    let value i = f i (unsafe_get a i) in
    Fresh.build (code f) (length a) value (fun r lo hi -> mapi_chunk f a r lo hi)

let[@inline never] map2_chunk f a b r lo hi =
  for i = lo to hi do
    put r i (f (unsafe_get a i) (unsafe_get b i))
  done

let map2 f a b =
  if length a < 2 || length a <> length b then Stdlib.Array.map2 f a b
  else
    let value i = f (unsafe_get a i) (unsafe_get b i) in
    Fresh.build (code f) (length a) value (fun r lo hi -> map2_chunk f a b r lo hi)

let map_inplace f a =
  if length a < 2 then Stdlib.Array.map_inplace f a
  else
    run f a (fun lo hi ->
        for i = lo to hi do
          Compat.replace a i (f (unsafe_get a i))
        done)

let mapi_inplace f a =
  if length a < 2 then Stdlib.Array.mapi_inplace f a
  else
    run f a (fun lo hi ->
        for i = lo to hi do
          Compat.replace a i (f i (unsafe_get a i))
        done)

(* [combine], [split] and [mem] have no function of the user's to call. *)
let[@inline never] combine_chunk a b r lo hi =
  for i = lo to hi do
    put r i (unsafe_get a i, unsafe_get b i)
  done

let combine a b =
  if length a < 2 || length a <> length b then Stdlib.Array.combine a b
  else
    let value i = (unsafe_get a i, unsafe_get b i) in
    Fresh.build (code combine_chunk) (length a) value (fun r lo hi -> combine_chunk a b r lo hi)

let[@inline never] fst_chunk a r lo hi =
  for i = lo to hi do
    put r i (fst (unsafe_get a i))
  done

let[@inline never] snd_chunk a r lo hi =
  for i = lo to hi do
    put r i (snd (unsafe_get a i))
  done

let split a =
  if length a < 2 then Stdlib.Array.split a
  else
    let part of_pair chunk =
      let value i = of_pair (unsafe_get a i) in
      Fresh.build (code chunk) (length a) value (fun r lo hi -> chunk a r lo hi)
    in
    let firsts = part fst fst_chunk in
    (firsts, part snd snd_chunk)

(* {2 Effects} *)

(* Four a turn, as around short calls that make nothing the loop itself is felt. *)
let[@inline never] iter_chunk f a lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    f (unsafe_get a j);
    f (unsafe_get a (j + 1));
    f (unsafe_get a (j + 2));
    f (unsafe_get a (j + 3));
    i := j + 4
  done;
  for j = !i to hi do
    f (unsafe_get a j)
  done

let iter f a =
  if length a < 2 then Stdlib.Array.iter f a else run f a (fun lo hi -> iter_chunk f a lo hi)

let[@inline never] iteri_chunk f a lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    f j (unsafe_get a j);
    f (j + 1) (unsafe_get a (j + 1));
    f (j + 2) (unsafe_get a (j + 2));
    f (j + 3) (unsafe_get a (j + 3));
    i := j + 4
  done;
  for j = !i to hi do
    f j (unsafe_get a j)
  done

let iteri f a =
  if length a < 2 then Stdlib.Array.iteri f a else run f a (fun lo hi -> iteri_chunk f a lo hi)

let iter2 f a b =
  if length a < 2 || length a <> length b then Stdlib.Array.iter2 f a b
  else
    run f a (fun lo hi ->
        for i = lo to hi do
          f (unsafe_get a i) (unsafe_get b i)
        done)

(* {2 Reductions} *)

let fold_from = Reduce.fold_from
let fold_chunk = Reduce.fold_range
let reduce_keyed code op a = Leaves.reduce ~code (length a) (fun lo hi -> fold_chunk op a lo hi) op

let fold op init a =
  if length a <= Leaves.shortest then fold_left op init a
  else
    let leaf lo hi = if lo = 0 then fold_from op init a lo hi else fold_chunk op a lo hi in
    Leaves.reduce ~code:(code op) (length a) leaf op

let reduce_by code op a =
  match length a with 0 -> None | 1 -> Some (unsafe_get a 0) | _ -> Some (reduce_keyed code op a)

let reduce op a = reduce_by (code op) op a
let scan = Muster_loop.Scan.parallel_scan
let min cmp a = reduce_by (code cmp) (Leaves.least cmp) a
let max cmp a = reduce_by (code cmp) (Leaves.greatest cmp) a

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

(* Two a turn. *)
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

(* Where [p] is [wanted] for the pair. *)
let[@inline never] pair_chunk p (wanted : bool) a b lo hi =
  let i = ref lo in
  while !i <= hi && p (unsafe_get a !i) (unsafe_get b !i) <> wanted do
    incr i
  done;
  if !i <= hi then Some () else None

let search_index p a = search p a (fun lo hi -> index_chunk p a lo hi)

let find_mapi f a =
  if length a < 2 then Stdlib.Array.find_mapi f a
  else search f a (fun lo hi -> find_mapi_chunk f a lo hi)

let find_map f a =
  if length a < 2 then Stdlib.Array.find_map f a
  else search f a (fun lo hi -> find_map_chunk f a lo hi)

let find_opt p a =
  if length a < 2 then Stdlib.Array.find_opt p a else search p a (fun lo hi -> find_chunk p a lo hi)

let find_index p a = if length a < 2 then Stdlib.Array.find_index p a else search_index p a
let exists p a = if length a < 2 then Stdlib.Array.exists p a else Option.is_some (search_index p a)

let for_all p a =
  if length a < 2 then Stdlib.Array.for_all p a
  else Option.is_none (search p a (fun lo hi -> failing_chunk p a lo hi))

let has_pair p wanted a b = Option.is_some (search p a (fun lo hi -> pair_chunk p wanted a b lo hi))

let exists2 p a b =
  if length a < 2 || length a <> length b then Stdlib.Array.exists2 p a b else has_pair p true a b

let for_all2 p a b =
  if length a < 2 || length a <> length b then Stdlib.Array.for_all2 p a b
  else not (has_pair p false a b)

let[@inline never] equal_chunk x a lo hi =
  let i = ref lo in
  while !i <= hi && Stdlib.compare (unsafe_get a !i) x <> 0 do
    incr i
  done;
  if !i <= hi then Some () else None

let[@inline never] same_chunk x a lo hi =
  let i = ref lo in
  while !i <= hi && unsafe_get a !i != x do
    incr i
  done;
  if !i <= hi then Some () else None

let mem x a =
  if length a < 2 then Stdlib.Array.mem x a
  else Option.is_some (search equal_chunk a (fun lo hi -> equal_chunk x a lo hi))

let memq x a =
  if length a < 2 then Stdlib.Array.memq x a
  else Option.is_some (search same_chunk a (fun lo hi -> same_chunk x a lo hi))

(* {2 Some of the elements} *)

let[@inline never] mark_chunk p a marks lo hi =
  for i = lo to hi do
    Select.mark marks i (p (unsafe_get a i))
  done

let marks p a = Select.marks (code p) (length a) (fun marks lo hi -> mark_chunk p a marks lo hi)

let[@inline never] move_chunk a r at (found : Select.found) =
  for j = 0 to found.count - 1 do
    put r (at + j) (unsafe_get a (Select.index found j))
  done

let pack ?others marks a =
  let move r at found = move_chunk a r at found in
  let make n i = Pages.make n (unsafe_get a i) in
  Select.pack ?others marks ~empty:[||] ~make ~move

let filter_short p a =
  Pieces.collect (code p) (length a) (fun lo hi ->
      let kept = Pieces.buffer () in
      for i = lo to hi do
        let x = unsafe_get a i in
        if p x then Pieces.keep kept x ~room:(hi - i + 1)
      done;
      Pieces.contents kept)

let filter p a =
  if length a < 2 then of_list (List.filter p (to_list a))
  else if length a <= Select.block then filter_short p a
  else pack (marks p a) a

let partition p a =
  if length a < 2 then
    let chosen, others = List.partition p (to_list a) in
    (of_list chosen, of_list others)
  else
    let marks = marks p a in
    (pack marks a, pack ~others:true marks a)

let filter_map f a =
  if length a < 2 then of_list (List.filter_map f (to_list a))
  else
    Pieces.collect (code f) (length a) (fun lo hi ->
        let kept = Pieces.buffer () in
        for i = lo to hi do
          match f (unsafe_get a i) with
          | None -> ()
          | Some v -> Pieces.keep kept v ~room:(hi - i + 1)
        done;
        Pieces.contents kept)

let concat_map f a =
  if length a < 2 then concat (List.map f (to_list a))
  else
    Pieces.collect (code f) (length a) (fun lo hi ->
        let rec from acc i =
          if i > hi then concat (List.rev acc) else from (f (unsafe_get a i) :: acc) (i + 1)
        in
        from [] lo)

(* {2 Sorting} *)

let sort = Merge_sort.sort
let stable_sort = sort
let fast_sort = sort

let without_equals cmp sorted =
  let is_first i = i = 0 || cmp (unsafe_get sorted (i - 1)) (unsafe_get sorted i) <> 0 in
  let chunk marks lo hi =
    for i = lo to hi do
      Select.mark marks i (is_first i)
    done
  in
  pack (Select.marks (code cmp) (length sorted) chunk) sorted

let sort_uniq cmp a =
  let sorted = copy a in
  sort cmp sorted;
  if length a < 2 then sorted else without_equals cmp sorted

(* {2 Groups} *)

let group_by key a =
  let elements (key, indices) = (key, map (unsafe_get a) indices) in
  map elements (Groups.indices (map key a))

let histogram ~bins f a =
  Groups.histogram "Array" ~bins (code f) (length a) (fun t table lo hi ->
      for i = lo to hi do
        Groups.add t table (f (unsafe_get a i))
      done)
