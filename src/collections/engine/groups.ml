(* {2 Groups}

   A counting sort, in blocks. Every block numbers the keys that it meets; then the blocks' keys
   are joined in order, which gives each block its place in each group; then every block puts the
   indices of its elements there. *)

type 'k block = {
  lo : int;
  hi : int;
  keys : 'k array;  (** in order of their first occurrence here *)
  ids : int array;  (** of each element, which of [keys] *)
  groups : int array;  (** of each of [keys], its group's number; set when blocks are joined *)
  next : int array;  (** of each of [keys], how many are here; later where the next one goes *)
}

let number keys lo hi =
  let seen = Hashtbl.create 16 and order = ref [] in
  let id_of i =
    let key = Array.unsafe_get keys i in
    match Hashtbl.find_opt seen key with
    | Some id -> id
    | None ->
      let id = Hashtbl.length seen in
      Hashtbl.add seen key id;
      order := key :: !order;
      id
  in
  let ids = Array.init (hi - lo + 1) (fun d -> id_of (lo + d)) in
  let count = Hashtbl.length seen in
  let next = Array.make count 0 in
  Array.iter (fun id -> next.(id) <- next.(id) + 1) ids;
  { lo; hi; keys = Array.of_list (List.rev !order); ids; groups = Array.make count 0; next }

(* The groups' keys, last first, and their lengths. *)
let join blocks =
  let seen = Hashtbl.create 16 and order = ref [] in
  let join_key block id key =
    let group, length =
      match Hashtbl.find_opt seen key with
      | Some found -> found
      | None ->
        let made = (Hashtbl.length seen, ref 0) in
        Hashtbl.add seen key made;
        order := (key, snd made) :: !order;
        made
    in
    let start = !length in
    length := start + block.next.(id);
    block.groups.(id) <- group;
    block.next.(id) <- start
  in
  Array.iter (fun block -> Array.iteri (join_key block) block.keys) blocks;
  Array.of_list (List.rev !order)

let spread groups block =
  for i = block.lo to block.hi do
    let id = block.ids.(i - block.lo) in
    let _, indices = groups.(block.groups.(id)) in
    indices.(block.next.(id)) <- i;
    block.next.(id) <- block.next.(id) + 1
  done

(* Keys and the indices of their elements, in order of first occurrence. *)
let indices keys =
  let n = Array.length keys in
  let size = Int.max Tuning.short_result (((n - 1) / Tuning.blocks) + 1) in
  let last = (n - 1) / size in
  let number_block b = [ number keys (b * size) (Int.min n ((b + 1) * size) - 1) ] in
  let each code leaf = Reduce.over ~code ~per_leaf:size ~last leaf in
  let blocks = Array.of_list (each (Machine.code_of number) number_block List.append) in
  let groups = Array.map (fun (key, n) -> (key, Array.make !n 0)) (join blocks) in
  each (Machine.code_of spread) (fun b -> spread groups blocks.(b)) (fun () () -> ());
  groups

let group_of gather groups g =
  let key, indices = Array.unsafe_get groups g in
  (key, gather indices)

let put_groups gather groups made lo hi =
  for g = lo to hi do
    Fresh.put made g (group_of gather groups g)
  done

let by keys gather =
  let groups = if Array.length keys = 0 then [||] else indices keys in
  Fresh.build (Machine.code_of gather) (Array.length groups) group_of put_groups gather groups

(* {2 Histograms} *)

type tables = { name : string; bins : int; tables : int array States.t }

let[@inline never] out_of_range t bin =
  let fn = t.name ^ ".histogram" in
  Caller.invalid fn "bin = %d is not less than bins = %d, or negative" bin t.bins

let[@inline] add t table bin =
  if bin < 0 || bin >= t.bins then out_of_range t bin;
  Array.unsafe_set table bin (Array.unsafe_get table bin + 1)

let tables name ~bins =
  let refuse why = Caller.invalid (name ^ ".histogram") "bins = %d is %s" bins why in
  if bins < 0 then refuse "negative";
  if bins > Sys.max_array_length then refuse "more than Sys.max_array_length";
  { name; bins; tables = States.create (fun () -> Array.make bins 0) }

let with_table t count x = States.use t.tables (fun table -> count table x)

let total t =
  match States.idle t.tables with
  | [] -> Array.make t.bins 0
  | sum :: others ->
    let join table = Array.iteri (fun bin count -> sum.(bin) <- sum.(bin) + count) table in
    List.iter join others;
    sum
