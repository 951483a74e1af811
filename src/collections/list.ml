(* Each function is a work (List_work) over pieces of the list (Walk); fewer than two elements
   are left to the stdlib. *)

module Compat = Muster_core.Compat
module Machine = Muster_core.Machine
module Site = Muster_loop.Site
module Tuning = Muster_loop.Tuning
module Chain = Muster_collections_engine.Chain
module Groups = Muster_collections_engine.Groups
module Leaves = Muster_collections_engine.Leaves
module List_search = Muster_collections_engine.List_search
module List_work = Muster_collections_engine.List_work
module Merge_sort = Muster_collections_engine.Merge_sort
module Walk = Muster_collections_engine.Walk
module A = Stdlib.Array
module L = Stdlib.List
include Stdlib.List

(* {2 map} *)

let map f = function
  | ([] | [ _ ]) as l -> L.map f l
  | l -> List_work.(make (Machine.code_of f) map_piece f l)

let mapi f = function
  | ([] | [ _ ]) as l -> L.mapi f l
  | l -> List_work.(make (Machine.code_of f) mapi_piece f l)

let map2 f a b =
  match (a, b) with
  | ([] | [ _ ]), _ | _, ([] | [ _ ]) -> L.map2 f a b
  | _ -> (
    match List_work.(make_from (Machine.code_of f) pairs (map2_piece f) (a, b)) with
    | made, ([], []) -> made
    | _ -> invalid_arg "List.map2")

(* {2 init} *)

let init n f =
  if n <= 1 then L.init n f
  else
    let skip k i = if k < n - i then i + k else n in
    let source = Walk.{ skip; is_end = Int.equal n } in
    fst (List_work.make_from (Machine.code_of f) source (List_work.init_piece f n) 0)

(* {2 iter} *)

let iter f = function
  | ([] | [ _ ]) as l -> L.iter f l
  | l -> ignore (List_work.(run (Machine.code_of f) iter_piece f l))

let iteri f = function
  | ([] | [ _ ]) as l -> L.iteri f l
  | l -> ignore (List_work.(run (Machine.code_of f) iteri_piece f l))

(* {2 filter} *)

let filter f = function
  | ([] | [ _ ]) as l -> L.filter f l
  | l -> List_work.(make (Machine.code_of f) filter_piece f l)

let find_all = filter

let filteri f = function
  | ([] | [ _ ]) as l -> L.filteri f l
  | l -> List_work.(make (Machine.code_of f) filteri_piece f l)

let filter_map f = function
  | ([] | [ _ ]) as l -> L.filter_map f l
  | l -> List_work.(make (Machine.code_of f) filter_map_piece f l)

let concat_map f = function
  | ([] | [ _ ]) as l -> L.concat_map f l
  | l -> List_work.(make (Machine.code_of f) concat_map_piece f l)

let partition f = function
  | ([] | [ _ ]) as l -> L.partition f l
  | l ->
    let chains = List_work.(run (Machine.code_of f) partition_piece f l) in
    (Chain.join (L.map fst chains), Chain.join (L.map snd chains))

(* {2 Searches} *)

let find_mapi f = function ([] | [ _ ]) as l -> L.find_mapi f l | l -> List_search.find_mapi f l
let find_map f = function ([] | [ _ ]) as l -> L.find_map f l | l -> List_search.find_map f l

let find_opt f = function
  | ([] | [ _ ]) as l -> L.find_opt f l
  | l -> Option.map snd (List_search.seek f l)

let find f = function
  | ([] | [ _ ]) as l -> L.find f l
  | l -> ( match List_search.seek f l with Some (_, x) -> x | None -> raise Not_found)

let find_index f = function
  | ([] | [ _ ]) as l -> L.find_index f l
  | l -> Option.map fst (List_search.seek f l)

let exists f = function ([] | [ _ ]) as l -> L.exists f l | l -> List_search.exists f l
let for_all f = function ([] | [ _ ]) as l -> L.for_all f l | l -> List_search.for_all f l
let mem x = function ([] | [ _ ]) as l -> L.mem x l | l -> List_search.mem x l
let memq x = function ([] | [ _ ]) as l -> L.memq x l | l -> List_search.memq x l

let count f = function
  | [] -> 0
  | [ x ] -> Bool.to_int (f x)
  | l -> L.fold_left ( + ) 0 (List_work.(run (Machine.code_of f) count_piece f l))

(* {2 Reductions} *)

let reduce op = function
  | [] -> None
  | [ x ] -> Some x
  | l -> List_work.reduce (Machine.code_of op) op l

let fold op init = function
  | [] -> init
  | [ x ] -> op init x
  | l -> Option.get (List_work.reduce (Machine.code_of op) op (init :: l))

let extreme pick cmp = function
  | [] -> None
  | [ x ] -> Some x
  | l -> List_work.reduce (Machine.code_of cmp) (pick cmp) l

let min cmp l = extreme Leaves.least cmp l
let max cmp l = extreme Leaves.greatest cmp l

(* {2 By way of arrays} *)

let of_array a =
  if A.length a < Chain.long then A.to_list a else init (A.length a) (fun i -> A.unsafe_get a i)

let to_array l =
  let a = Compat.make_blank (L.length l) ~like:(L.hd l) in
  L.iteri (fun i x -> Compat.set_fresh a i x) l;
  a

(* A short list is sorted as the stdlib does, if the first comparison is as short as it was. *)
let sort_in_place in_place cmp l code cost n =
  let since = Machine.ticks () in
  (match l with x :: y :: _ -> ignore (cmp x y) | _ -> ());
  if Machine.ticks () - since > Tuning.long_comparison then None
  else begin
    let made = in_place cmp l in
    Site.confirm code cost ~ticks:(Machine.ticks () - since) ~iterations:n;
    Some made
  end

let sort_by in_place by_array cmp = function
  | ([] | [ _ ]) as l -> l
  | l -> (
    let code = Machine.code_of cmp and n = Merge_sort.comparisons (L.length l) in
    let cost = Site.cost code in
    let estimate = Site.estimate cost n in
    if estimate < Tuning.min_shared && Site.is_trusted () then in_place cmp l
    else if estimate >= Tuning.min_moved then by_array cmp l
    else
      match sort_in_place in_place cmp l code cost n with
      | Some made -> made
      | None -> by_array cmp l)

let sort_by_array cmp l =
  let a = to_array l in
  Merge_sort.sort cmp a;
  of_array a

let stable_sort cmp l = sort_by L.stable_sort sort_by_array cmp l
let sort = stable_sort
let fast_sort = stable_sort
let unique_by_array cmp l = of_array (Array.sort_uniq cmp (to_array l))

(* The stdlib's does so from OCaml 5.4 on. *)
let keeps_first = Sys.ocaml_release.major > 5 || Sys.ocaml_release.minor >= 4

let sort_uniq cmp l =
  sort_by (if keeps_first then L.sort_uniq else unique_by_array) unique_by_array cmp l

let scan_by_array op l = of_array (Array.scan op (to_array l))

(* Short ones are scanned in one block by arrays, too (Scan). *)
let scan op l =
  let is_block = L.compare_length_with l Tuning.one_block <= 0 in
  if is_block && Walk.is_short (Machine.code_of op) then begin
    Muster_core.Fiber.check ();
    List_work.prefixes op l
  end
  else if is_empty l then []
  else scan_by_array op l

let group_by key = function
  | [] -> []
  | l ->
    let elements (key, a) = (key, A.to_list a) in
    A.to_list (Array.map elements (Array.group_by key (A.of_list l)))

let histogram ~bins f l =
  let t = Groups.tables "List" ~bins in
  if not (is_empty l) then ignore (List_work.(run (Machine.code_of f) (histogram_piece t) f l));
  Groups.total t
