(* Functions that make a sequence stay the stdlib's, and lazy; so do the searches, which force no
   more than they need. A function that uses a sequence up is a consumer (Reader). *)

module Work = Muster_collections_engine.List_work
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

(* A place is a node, as only that tells whether there is one more. *)
let ended (at : _ Tally.at) acc node =
  at.rest <- node;
  acc

(* Four elements a turn, as the processor guesses the end of eight turns right (List_work). [acc] is
   a leaf's value so far, of which [n] turns lack, or the others of the first and [n - 1]. *)
let rec turns add acc at s n =
  match s () with
  | Cons (x, s) when n > 0 -> others_of_turn add (add acc x) at s n
  | node -> ended at acc node

and others_of_turn add acc at s n =
  match s () with
  | Nil -> ended at acc Nil
  | Cons (x2, s) -> (
    let acc = add acc x2 in
    match s () with
    | Nil -> ended at acc Nil
    | Cons (x3, s) -> (
      let acc = add acc x3 in
      match s () with
      | Nil -> ended at acc Nil
      | Cons (x4, s) -> turns add (add acc x4) at s (n - 1)))

let[@inline] leaf (fold : _ Tally.fold) (at : _ Tally.at) i =
  match at.rest with
  | Cons (x, s) -> others_of_turn fold.add (Tally.start fold i x) at s (fold.run / 4)
  | Nil -> invalid_arg "leaf"

let is_end = function Nil -> true | Cons _ -> false

let rec node (fold : _ Tally.fold) (at : _ Tally.at) i rank =
  if rank = 0 then leaf fold at i
  else
    let left = node fold at i (rank - 1) in
    if is_end at.rest then left
    else fold.combine left (node fold at (i + (1 lsl (rank - 1))) (rank - 1))

let others code (fold : _ Tally.fold) nodes from =
  let start = Tally.leaves nodes * fold.run and nodes = ref nodes in
  let in_place start s n =
    let at = { Tally.rest = s () } in
    let rec go i left =
      if is_end at.rest then None
      else if left <= 0 then Some (fun () -> at.rest)
      else begin
        let rank = Tally.widest i left in
        nodes := Tally.push fold.combine i rank (node fold at i rank) !nodes;
        go (i + (1 lsl rank)) (left - (1 lsl rank))
      end
    in
    go (start / fold.run) (n / fold.run)
  in
  let block start l = nodes := Work.append start code fold !nodes l in
  Reader.run ~start { code; unit = fold.run; in_place; block } (fun () -> from);
  !nodes

let fold_by code fold s =
  match s () with
  | Nil -> None
  | first -> Some (Tally.reduce { node; is_end; others } code fold first)

let reduce_by code op s = fold_by code (Tally.of_operation op) s

let fold_parts ~init ~add ~combine s =
  let fold = Tally.in_parts ~run:Tuning.seq_part ~init ~add ~combine in
  match fold_by (Machine.code_of add) fold s with Some v -> v | None -> init ()

let map_reduce ~combine ~init f s =
  let fold = Tally.mapping ~run:Tuning.seq_run ~combine ~init f in
  Option.value (fold_by (Machine.code_of f) fold s) ~default:init

let fold op init s = Option.get (reduce_by (Machine.code_of op) op (cons init s))
let reduce op s = reduce_by (Machine.code_of op) op s
let sum s = Option.get (fold_by (Machine.code_of ( +. )) Tally.adding (cons 0. s))
let sum_ints s = fold ( + ) 0 s
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
