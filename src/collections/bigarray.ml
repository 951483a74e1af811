(* As Array, over bigarrays of one dimension.

   Which element an address holds is known where kind and layout are: elsewhere every access is a
   call of C. So each operation asks for both once, and takes functions that read and write
   elements of that kind. The layout is no matter: a view of the array counts from 0. *)

module Machine = Muster_core.Machine
module Chunks = Muster_loop.Chunks
module Loop = Muster_loop.Loop
module Scan = Muster_loop.Scan
module Fresh = Muster_collections_engine.Fresh
module Groups = Muster_collections_engine.Groups
module Leaves = Muster_collections_engine.Leaves
module Merge_sort = Muster_collections_engine.Merge_sort
module Select = Muster_collections_engine.Select
include Stdlib.Bigarray

module Array1 = struct
  module Std = Stdlib.Bigarray.Array1
  include Std

  let code = Machine.code_of

  (* {2 Views} *)

  type ('a, 'b) view = ('a, 'b, c_layout) Std.t

  let view a : _ view = change_layout a c_layout

  let getter : type a b. (a, b) view -> int -> a =
   fun a ->
    match kind a with
    | Float32 -> fun i -> unsafe_get a i
    | Float64 -> fun i -> unsafe_get a i
    | Int8_signed -> fun i -> unsafe_get a i
    | Int8_unsigned -> fun i -> unsafe_get a i
    | Int16_signed -> fun i -> unsafe_get a i
    | Int16_unsigned -> fun i -> unsafe_get a i
    | Int32 -> fun i -> unsafe_get a i
    | Int64 -> fun i -> unsafe_get a i
    | Int -> fun i -> unsafe_get a i
    | Nativeint -> fun i -> unsafe_get a i
    | Char -> fun i -> unsafe_get a i
    | _ -> fun i -> unsafe_get a i

  let setter : type a b. (a, b) view -> int -> a -> unit =
   fun a ->
    match kind a with
    | Float32 -> fun i v -> unsafe_set a i v
    | Float64 -> fun i v -> unsafe_set a i v
    | Int8_signed -> fun i v -> unsafe_set a i v
    | Int8_unsigned -> fun i v -> unsafe_set a i v
    | Int16_signed -> fun i v -> unsafe_set a i v
    | Int16_unsigned -> fun i v -> unsafe_set a i v
    | Int32 -> fun i v -> unsafe_set a i v
    | Int64 -> fun i v -> unsafe_set a i v
    | Int -> fun i v -> unsafe_set a i v
    | Nativeint -> fun i v -> unsafe_set a i v
    | Char -> fun i v -> unsafe_set a i v
    | _ -> fun i v -> unsafe_set a i v

  let first : type c. c layout -> int = function C_layout -> 0 | Fortran_layout -> 1
  let like a n = create (kind a) (layout a) n
  let reader a = getter (view a)
  let writer a = setter (view a)
  let run f n chunk = Chunks.run (code f) 0 (n - 1) chunk
  let search f a chunk = Chunks.search (code f) 0 (dim a - 1) chunk

  (* {2 One result for each element} *)

  let init kind layout n f =
    if n < 2 then Std.init kind layout n f
    else begin
      let r = create kind layout n and from = first layout in
      let set = writer r in
      run f n (fun lo hi ->
          for i = lo to hi do
            set i (f (from + i))
          done);
      r
    end

  let of_array kind layout (a : _ array) =
    let n = Stdlib.Array.length a in
    if n < 2 then Std.of_array kind layout a
    else begin
      let r = create kind layout n in
      let set = writer r in
      run of_array n (fun lo hi ->
          for i = lo to hi do
            set i (Stdlib.Array.unsafe_get a i)
          done);
      r
    end

  let map_into f a r =
    let get = reader a and set = writer r in
    run f (dim a) (fun lo hi ->
        for i = lo to hi do
          set i (f (get i))
        done)

  let map_to kind f a =
    let r = create kind (layout a) (dim a) in
    map_into f a r;
    r

  let map f a = map_to (kind a) f a
  let map_inplace f a = map_into f a a

  let mapi f a =
    let r = like a (dim a) and from = first (layout a) in
    let get = reader a and set = writer r in
    run f (dim a) (fun lo hi ->
        for i = lo to hi do
          set i (f (from + i) (get i))
        done);
    r

  let check_same fn a b =
    if dim a <> dim b then
      Loop.invalid ("Bigarray.Array1." ^ fn) "dimensions = %d and %d differ" (dim a) (dim b)

  let map2 f a b =
    check_same "map2" a b;
    let r = like a (dim a) in
    let get = reader a and other = reader b and set = writer r in
    run f (dim a) (fun lo hi ->
        for i = lo to hi do
          set i (f (get i) (other i))
        done);
    r

  let map_to_array f a =
    let get = reader a in
    let put_chunk r lo hi =
      for i = lo to hi do
        Fresh.put r i (f (get i))
      done
    in
    if dim a = 0 then [||] else Fresh.build (code f) (dim a) (fun i -> f (get i)) put_chunk

  (* {2 Effects} *)

  let iter f a =
    let get = reader a in
    run f (dim a) (fun lo hi ->
        for i = lo to hi do
          f (get i)
        done)

  let iteri f a =
    let get = reader a and from = first (layout a) in
    run f (dim a) (fun lo hi ->
        for i = lo to hi do
          f (from + i) (get i)
        done)

  (* {2 Reductions} *)

  let fold_from op acc get lo hi =
    let acc = ref acc in
    for i = lo to hi do
      acc := op !acc (get i)
    done;
    !acc

  let fold_chunk op get lo hi = fold_from op (get lo) get (lo + 1) hi

  let reduce_by code op a =
    if dim a = 0 then None else Some (Leaves.reduce ~code (dim a) (fold_chunk op (reader a)) op)

  let reduce op a = reduce_by (code op) op a

  let fold op init a =
    let get = reader a in
    let leaf lo hi = if lo = 0 then fold_from op init get lo hi else fold_chunk op get lo hi in
    if dim a = 0 then init else Leaves.reduce ~code:(code op) (dim a) leaf op

  let min cmp a = reduce_by (code cmp) (Leaves.least cmp) a
  let max cmp a = reduce_by (code cmp) (Leaves.greatest cmp) a

  let scan_chunk op get set carry lo hi =
    let first = get lo in
    let acc = ref (match carry with None -> first | Some carry -> op carry first) in
    set lo !acc;
    for i = lo + 1 to hi do
      acc := op !acc (get i);
      set i !acc
    done

  let scan op a =
    let n = dim a and get = reader a in
    let r = like a n in
    let set = writer r in
    let scan op () carry lo hi = scan_chunk op get set carry lo hi in
    if n > 0 then
      Scan.scan_in_blocks ~code:(code op) n ~make:ignore ~total:(fold_chunk op get) ~scan op;
    r

  let count p a =
    let total = Atomic.make 0 and get = reader a in
    run p (dim a) (fun lo hi ->
        let count = ref 0 in
        for i = lo to hi do
          count := !count + Bool.to_int (p (get i))
        done;
        ignore (Atomic.fetch_and_add total !count));
    Atomic.get total

  (* {2 Searches} *)

  let rec find_chunk f get from lo hi =
    if lo > hi then None
    else
      match f (from + lo) (get lo) with None -> find_chunk f get from (lo + 1) hi | found -> found

  (* [key]: the user's function, which [f] calls. *)
  let find_keyed key f a = search key a (find_chunk f (reader a) (first (layout a)))
  let find_mapi f a = find_keyed f f a
  let find_map f a = find_keyed f (fun _ v -> f v) a
  let find_opt p a = find_keyed p (fun _ v -> if p v then Some v else None) a
  let find_index p a = find_keyed p (fun i v -> if p v then Some i else None) a
  let exists p a = Option.is_some (find_index p a)
  let for_all p a = Option.is_none (find_keyed p (fun _ v -> if p v then None else Some ()) a)
  let mem x a = exists (fun y -> Stdlib.compare y x = 0) a

  (* {2 Some of the elements} *)

  let move_chunk get set at (found : Select.found) =
    for j = 0 to found.count - 1 do
      set (at + j) (get (Select.index found j))
    done

  let pack ?others marks a =
    let get = reader a in
    let make n _ =
      let r = like a n in
      (r, writer r)
    in
    let move (_, set) at found = move_chunk get set at found in
    fst (Select.pack ?others marks ~empty:(make 0 0) ~make ~move)

  let marks p a =
    let get = reader a in
    Select.marks (code p) (dim a) (fun marks lo hi ->
        for i = lo to hi do
          Select.mark marks i (p (get i))
        done)

  let filter p a = pack (marks p a) a

  let partition p a =
    let marks = marks p a in
    (pack marks a, pack ~others:true marks a)

  let filter_map f a =
    let results = like a (dim a) and get = reader a in
    let set = writer results in
    let chunk marks lo hi =
      for i = lo to hi do
        let result = f (get i) in
        Option.iter (set i) result;
        Select.mark marks i (Option.is_some result)
      done
    in
    pack (Select.marks (code f) (dim a) chunk) results

  let concat_map f a =
    let pieces = map_to_array f a in
    let r = like a (Stdlib.Array.fold_left (fun n piece -> n + dim piece) 0 pieces) in
    let whole = view r and at = ref 0 in
    let add piece =
      blit (view piece) (sub whole !at (dim piece));
      at := !at + dim piece
    in
    Stdlib.Array.iter add pieces;
    r

  (* {2 Sorting and groups} *)

  let to_array a = Stdlib.Array.init (dim a) (reader a)

  let sort cmp a =
    let each = to_array a in
    Merge_sort.sort cmp each;
    Stdlib.Array.iteri (writer a) each

  let stable_sort = sort

  let sort_uniq cmp a =
    let sorted = like a (dim a) in
    blit a sorted;
    sort cmp sorted;
    let get = reader sorted in
    let is_first i = i = 0 || cmp (get (i - 1)) (get i) <> 0 in
    let chunk marks lo hi =
      for i = lo to hi do
        Select.mark marks i (is_first i)
      done
    in
    pack (Select.marks (code cmp) (dim a) chunk) sorted

  let gather a indices =
    let r = like a (Stdlib.Array.length indices) and get = reader a in
    let set = writer r in
    Stdlib.Array.iteri (fun j i -> set j (get i)) indices;
    r

  let group_by key a =
    let groups = Groups.indices (map_to_array key a) in
    Stdlib.Array.map (fun (key, indices) -> (key, gather a indices)) groups

  let histogram ~bins f a =
    let get = reader a in
    Groups.histogram "Bigarray.Array1" ~bins (code f) (dim a) (fun t table lo hi ->
        for i = lo to hi do
          Groups.add t table (f (get i))
        done)
end
