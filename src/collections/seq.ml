(* Functions that make a sequence stay the stdlib's, and lazy; so do the searches, which force no
   more than they need. A function that uses a sequence up is a consumer (Reader). *)

module Groups = Muster_collections_engine.Groups
module Leaves = Muster_collections_engine.Leaves
module Work = Muster_collections_engine.List_work
module Reader = Muster_collections_engine.Reader
module Sums = Muster_collections_engine.Sums
module Tally = Muster_collections_engine.Tally
module Machine = Muster_core.Machine
module Tuning = Muster_loop.Tuning
module L = Stdlib.List
include Stdlib.Seq

(* {2 Effects} *)

let rec iter_some f s n =
  if n = 0 then Some s
  else
    match s () with
    | Nil -> None
    | Cons (x, s) ->
      f x;
      iter_some f s (n - 1)

let iter f s =
  let in_place _ s n = iter_some f s n and block _ l = List.iter f l in
  Reader.run { code = Machine.code_of f; unit = 1; in_place; block } s

let rec iteri_some f i s n =
  if n = 0 then Some s
  else
    match s () with
    | Nil -> None
    | Cons (x, s) ->
      f i x;
      iteri_some f (i + 1) s (n - 1)

let iteri f s =
  let code = Machine.code_of f in
  let block start l = ignore (Work.run start code Work.iteri f l) in
  Reader.run { code; unit = 1; in_place = iteri_some f; block } s

(* {2 Reductions} *)

let count f s =
  let total = ref 0 in
  let in_place _ s n = iter_some (fun x -> if f x then incr total) s n in
  let block _ l = total := !total + List.count f l in
  Reader.run { code = Machine.code_of f; unit = 1; in_place; block } s;
  !total

(* [acc] is the value so far of a leaf that lacks [more] elements. *)
let rec leaf add acc s more =
  match s () with
  | Nil -> Tally.Last acc
  | Cons (x, s) when more >= 2 -> (
    let acc = add acc x in
    match s () with
    | Nil -> Tally.Last acc
    | Cons (x, s) -> leaf add (add acc x) s (more - 2))
  | Cons (x, s) -> if more = 0 then Tally.Leaf (acc, x, s) else leaf add (add acc x) s (more - 1)

let rec leaves (fold : _ Tally.fold) nodes last x s =
  let at = Tally.leaves !nodes in
  let add value = nodes := Tally.push fold.combine at 0 value !nodes in
  if at = last then Some (cons x s)
  else
    match leaf fold.add (fold.first at x) s (fold.run - 1) with
    | Last value ->
      add value;
      None
    | Leaf (value, x, s) ->
      add value;
      leaves fold nodes last x s

let rest code (fold : _ Tally.fold) nodes x s =
  let start = Tally.leaves nodes * fold.run and nodes = ref nodes and unit = fold.run in
  let in_place start s n =
    match s () with Nil -> None | Cons (x, s) -> leaves fold nodes ((start + n) / unit) x s
  in
  let block start l = nodes := Work.append start code fold !nodes l in
  Reader.run ~start { code; unit; in_place; block } (cons x s);
  !nodes

let fold_by code fold s =
  match s () with
  | Nil -> None
  | Cons (x, s) -> Some (Tally.reduce { leaf; rest } code fold x s)

let reduce_by code op s = fold_by code (Tally.of_operation op) s

let fold_parts ~init ~add ~combine s =
  let fold = Tally.in_parts ~run:Tuning.seq_part ~init ~add ~combine in
  match fold_by (Machine.code_of add) fold s with Some v -> v | None -> init ()

let map_reduce ~combine ~init f s =
  let fold = Tally.mapping ~run:Tuning.seq_run ~combine ~init f in
  Option.value (fold_by (Machine.code_of f) fold s) ~default:init

let fold op init s = Option.get (reduce_by (Machine.code_of op) op (cons init s))
let reduce op s = reduce_by (Machine.code_of op) op s
let sum = Sums.seq_floats
let sum_ints = Sums.seq_ints
let min cmp s = reduce_by (Machine.code_of cmp) (Leaves.least cmp) s
let max cmp s = reduce_by (Machine.code_of cmp) (Leaves.greatest cmp) s

let histogram ~bins f s =
  let t = Groups.tables "Parallel.Seq" ~bins and code = Machine.code_of f in
  let add table (s, n) = iter_some (fun x -> Groups.add t table (f x)) s n in
  let in_place _ s n = Groups.with_table t add (s, n) in
  let block _ l = ignore (Work.run 0 code (Work.histogram t) f l) in
  Reader.run { code; unit = 1; in_place; block } s;
  Groups.total t

(* {2 Searches} *)

let find_opt = find
let mem x s = exists (fun y -> Stdlib.compare x y = 0) s

(* {2 By way of lists} *)

let stable_sort cmp s () = L.to_seq (List.stable_sort cmp (L.of_seq s)) ()
let sort = stable_sort
let sort_uniq cmp s () = L.to_seq (List.sort_uniq cmp (L.of_seq s)) ()

let group_by key s () =
  let group (key, elements) = (key, L.to_seq elements) in
  map group (L.to_seq (List.group_by key (L.of_seq s))) ()
