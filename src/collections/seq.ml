(* What makes a sequence stays the stdlib's, and lazy; so do the searches, which force no more than
   they need. What uses a sequence up reads it in blocks (Reader). *)

open Muster_core
module L = Stdlib.List
include Stdlib.Seq

let use ?(unit = 1) code s ~some block = Reader.run { code; unit; some; block } s

(* {2 Effects} *)

let iter_all f s =
  let some _ s n = Seq_work.iter_some f s n in
  use (Machine.code_of f) s ~some (fun ~start:_ l -> List.iter f l)

let iter f s =
  match s () with
  | Nil -> ()
  | Cons (x, rest) -> (
    let before = Reader.part_of () in
    match rest () with
    | Nil -> f x
    | more -> iter_all f (Reader.put_back x (fun () -> more))
    | exception exn -> iter_all f (Reader.put_back x (Reader.failing exn ~before)))

let iteri_all f s =
  let code = Machine.code_of f in
  let job = List_work.(job code source (iteri_piece f)) in
  use code s ~some:(Seq_work.iteri_some f) (fun ~start l -> ignore (Walk.run_from start job l))

let iteri f s =
  match s () with
  | Nil -> ()
  | Cons (x, rest) -> (
    let before = Reader.part_of () in
    match rest () with
    | Nil -> f 0 x
    | more -> iteri_all f (Reader.put_back x (fun () -> more))
    | exception exn -> iteri_all f (Reader.put_back x (Reader.failing exn ~before)))

(* {2 Reductions} *)

let count_all f s =
  let total = ref 0 in
  let some _ s n = Seq_work.count_some f total s n 0 in
  use (Machine.code_of f) s ~some (fun ~start:_ l -> total := !total + List.count f l);
  !total

let count f s =
  match s () with
  | Nil -> 0
  | Cons (x, rest) -> (
    let before = Reader.part_of () in
    match rest () with
    | Nil -> Bool.to_int (f x)
    | more -> count_all f (Reader.put_back x (fun () -> more))
    | exception exn -> count_all f (Reader.put_back x (Reader.failing exn ~before)))

let reduce_keyed code op s =
  let nodes = ref [] in
  let block ~start l =
    nodes := L.fold_left (Tally.append op) !nodes (List_work.tallies start code op l)
  in
  use ~unit:Tally.run code s ~some:(Seq_work.tally_some op nodes) block;
  Tally.total op !nodes

let fold_all op init s = Option.get (reduce_keyed (Machine.code_of op) op (cons init s))

let fold op init s =
  match s () with
  | Nil -> init
  | Cons (x, rest) -> (
    let before = Reader.part_of () in
    match rest () with
    | Nil -> op init x
    | more -> fold_all op init (Reader.put_back x (fun () -> more))
    | exception exn -> fold_all op init (Reader.put_back x (Reader.failing exn ~before)))

let reduce_all pick f s = reduce_keyed (Machine.code_of f) (pick f) s

let reduce_by pick f s =
  match s () with
  | Nil -> None
  | Cons (x, rest) -> (
    let before = Reader.part_of () in
    match rest () with
    | Nil -> Some x
    | more -> reduce_all pick f (Reader.put_back x (fun () -> more))
    | exception exn -> reduce_all pick f (Reader.put_back x (Reader.failing exn ~before)))

let reduce op s = reduce_by Fun.id op s
let min cmp s = reduce_by Leaves.least cmp s
let max cmp s = reduce_by Leaves.greatest cmp s

let histogram ~bins f s =
  let t = Groups.tables "Seq" ~bins in
  let add table (s, n) =
    let add x = Groups.add t table (f x) in
    Seq_work.iter_some add s n
  in
  let some _ s n = Groups.with_table t add (s, n) in
  let job = List_work.(job (Machine.code_of f) source (histogram_piece t f)) in
  use (Machine.code_of f) s ~some (fun ~start:_ l -> ignore (Walk.run_from 0 job l));
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
