(* Each function is a work (List_work) over pieces of the list (Walk); fewer than two elements
   are left to the stdlib, a single one beside an event loop in the pool. *)

module Work = Muster_collections_engine.List_work
module A = Stdlib.Array
module L = Stdlib.List
include Stdlib.List

let code = Machine.code_of

let[@inline] one call f x =
  if Adaptive.holds_up (code f) ~n:1 then Adaptive.in_pool (fun () -> call f x) else call f x

let[@inline] one2 call f x y =
  if Adaptive.holds_up (code f) ~n:1 then Adaptive.in_pool (fun () -> call f x y)
  else call f x y

(* {2 Lists from lists} *)

let[@inline] made few work f = function
  | [] -> []
  | [ _ ] as l -> one few f l
  | l -> Work.make (code f) work f l

let map f l = made L.map Work.map f l

let map_init ~init f = function
  | [] -> []
  | l ->
    let states = States.create init in
    let work f p = States.use states (fun state -> Work.map (f state) p) in
    Work.make (code f) work f l

let mapi f l = made L.mapi Work.mapi f l
let filter f l = made L.filter Work.filter f l
let find_all = filter
let filteri f l = made L.filteri Work.filteri f l
let filter_map f l = made L.filter_map Work.filter_map f l
let concat_map f l = made L.concat_map Work.concat_map f l

let map2 f a b =
  match (a, b) with
  | [], _ | _, [] -> L.map2 f a b
  | [ _ ], _ | _, [ _ ] -> one2 L.map2 f a b
  | _ -> (
    match Work.(make_from (code f) pairs map2 f (a, b)) with
    | made, ([], []) -> made
    | _ -> invalid_arg "List.map2")

let init n f =
  if n <= 0 then L.init n f
  else if n = 1 then one (fun f n -> L.init n f) f n
  else fst Work.(make_from (code f) (indices n) init (f, n) 0)

let partition f = function
  | [] -> ([], [])
  | [ _ ] as l -> one L.partition f l
  | l -> Work.partition (code f) f l

(* {2 Effects and counts} *)

let[@inline] ran few work f = function
  | [] -> ()
  | [ _ ] as l -> one few f l
  | l -> ignore (Work.run 0 (code f) work f l)

let iter f l = ran L.iter Work.iter f l
let iteri f l = ran L.iteri Work.iteri f l

let count f = function
  | [] -> 0
  | [ _ ] as l -> Bool.to_int (one L.exists f l)
  | l -> L.fold_left ( + ) 0 Work.(run 0 (code f) count f l)

(* {2 Searches}

   To compare by [==] takes no longer than the walk: [memq] is the stdlib's. *)

let[@inline] sought few look f = function
  | [] -> None
  | [ _ ] as l -> one few f l
  | l -> Work.search (code f) look f l

let find_mapi f l = sought L.find_mapi Work.find_mapi f l
let find_map f l = sought L.find_map Work.find_map f l

(* [of_found] makes the result of the first element that satisfies [f], and its index. *)
let[@inline] seek few of_found f = function
  | [] -> few f []
  | [ _ ] as l -> one few f l
  | l -> of_found Work.(search (code f) seek f l)

let find_opt f l = seek L.find_opt (fun found -> Option.map snd found) f l
let find f l = seek L.find (function Some (_, x) -> x | None -> raise Not_found) f l
let find_index f l = seek L.find_index (fun found -> Option.map fst found) f l
let exists f l = seek L.exists Option.is_some f l

let for_all f = function
  | [] -> true
  | [ _ ] as l -> one L.for_all f l
  | l -> Option.is_none Work.(search (code f) seek_bad f l)

let mem x = function ([] | [ _ ]) as l -> L.mem x l | l -> Work.mem x l

(* {2 Reductions} *)

let reduce_by code op = function
  | [] -> None
  | [ x ] -> Some x
  | l -> Some (Work.reduce code (Tally.of_operation op) l)

let reduce op l = reduce_by (code op) op l
let min cmp l = reduce_by (code cmp) (Leaves.least cmp) l
let max cmp l = reduce_by (code cmp) (Leaves.greatest cmp) l

let fold op init = function
  | [] -> init
  | [ x ] -> one2 Fun.id op init x
  | l -> Work.reduce (code op) (Tally.of_operation op) (init :: l)

(* As many parts as of an array, or half as many: their length is a power of 2. *)
let fold_parts ~init ~add ~combine l =
  let n = L.length l in
  let rec run_from run = if run * Tuning.few_parts < n then run_from (2 * run) else run in
  let fold = Tally.in_parts ~run:(run_from Tuning.shortest_leaf) ~init ~add ~combine in
  match l with [] -> init () | l -> Work.reduce (code add) fold l

(* Of a few elements each may be a job of its own. *)
let map_reduce ~combine ~init f l =
  let run = if L.compare_length_with l Tuning.leaves <= 0 then 1 else Tally.run in
  match l with [] -> init | l -> Work.reduce (code f) (Tally.mapping ~run ~combine ~init f) l

let sum = Sums.floats
let sum_ints = Sums.ints

(* {2 By way of arrays} *)

let of_array a =
  if A.length a < Chain.long then A.to_list a else init (A.length a) (fun i -> A.unsafe_get a i)

let to_array l =
  let a = Compat.make_blank (L.length l) ~like:(L.hd l) in
  L.iteri (fun i x -> Compat.set_fresh a i x) l;
  a

let takes_long cmp x y =
  let since = Machine.ticks () in
  ignore (cmp x y);
  Machine.ticks () - since > Tuning.long_comparison

(* A short list is sorted as the stdlib does, if the first comparison is as short as it was. *)
let sort_by in_place by_array cmp = function
  | ([] | [ _ ]) as l -> l
  | x :: y :: _ as l ->
    let code = code cmp and n = Merge_sort.comparisons (L.length l) in
    let cost = Site.cost code in
    let estimate = Site.estimate cost n in
    if estimate >= Tuning.min_moved || takes_long cmp x y then by_array cmp l
    else Site.timed code cost ~iterations:n (fun () -> in_place cmp l)

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

(* One block is scanned in place by arrays, too (Scan). To count the elements would take a third of
   the time: so only a scan that is longer than was remembered is measured. *)
let scan_short op l =
  Fiber.check ();
  let since = Machine.ticks () in
  let made = Work.prefixes op l in
  let ticks = Machine.ticks () - since in
  if ticks > Tuning.min_shared then
    ignore (Site.learn (code op) ~ticks ~iterations:(L.length l));
  made

let scan op l =
  if is_empty l then []
  else
    let estimate = Site.estimate (Site.cost (code op)) Tuning.few_unknown in
    if estimate < Tuning.min_shared && L.compare_length_with l Tuning.one_block <= 0 then
      scan_short op l
    else of_array (Array.scan op (to_array l))

let group_by key = function
  | [] -> []
  | l ->
    let elements (key, a) = (key, A.to_list a) in
    A.to_list (Array.map elements (Array.group_by key (A.of_list l)))

let histogram ~bins f l =
  let t = Groups.tables "Parallel.List" ~bins in
  if not (is_empty l) then ignore Work.(run 0 (code f) (histogram t) f l);
  Groups.total t
