(* Each function is a work for Walk: what to do with so many elements. *)

open Muster_core
open Muster_loop
module A = Stdlib.Array
module L = Stdlib.List
include Stdlib.List

let invalid fn fmt = Printf.ksprintf (fun s -> invalid_arg ("Muster.List." ^ fn ^ ": " ^ s)) fmt
let rec skip n l = match l with _ :: l when n > 0 -> skip (n - 1) l | l -> l
let source = Walk.{ skip; is_end = (function [] -> true | _ -> false) }
let never _ = false

let job ?(unit = 1) ?(found = never) code source work =
  Walk.{ source; work; code; unit; failures = Leftmost.create (); found }

let run code work l = fst (Walk.run (job code source work) l)
let ended (p : _ Walk.piece) rest left = p.rest <- rest; p.left <- left

(* {2 map} *)

type ('a, 'b) mapping = {
  f : 'a -> 'b;
  piece : 'a list Walk.piece;
  mutable last : 'b list;
}

(* Two at a time: the loop is a third of what a cheap [f] costs. *)
let[@tail_mod_cons] rec map_from m l n =
  match l with
  | x1 :: x2 :: (_ :: _ as l) when n > 2 ->
    let y1 = m.f x1 in
    let y2 = m.f x2 in
    y1 :: y2 :: map_from m l (n - 2)
  | x1 :: (_ :: _ as l) when n > 1 ->
    let y1 = m.f x1 in
    y1 :: map_from m l (n - 1)
  | x :: l ->
    let cell = [ m.f x ] in
    m.last <- cell;
    ended m.piece l (n - 1);
    cell
  | [] -> []

let map_piece f (piece : _ Walk.piece) =
  let m = { f; piece; last = [] } in
  let first = map_from m piece.rest piece.left in
  Chain.{ first; last = m.last }

let map f = function
  | ([] | [ _ ]) as l -> L.map f l
  | l -> Chain.join (run (Machine.code_of f) (map_piece f) l)

let mapi_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last i l n =
    match l with
    | x :: l when n > 0 -> go (Chain.add last (f i x)) (i + 1) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.start p.rest p.left

let mapi f = function
  | ([] | [ _ ]) as l -> L.mapi f l
  | l -> Chain.join (run (Machine.code_of f) (mapi_piece f) l)

let pairs =
  let rec skip n = function
    | _ :: a, _ :: b when n > 0 -> skip (n - 1) (a, b)
    | ends -> ends
  in
  Walk.{ skip; is_end = (function [], _ | _, [] -> true | _ -> false) }

let map2_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last a b n =
    match (a, b) with
    | x :: a, y :: b when n > 0 -> go (Chain.add last (f x y)) a b (n - 1)
    | _ -> ended p (a, b) n; Chain.from hook last
  in
  let a, b = p.rest in
  go hook a b p.left

let map2 f a b =
  match (a, b) with
  | ([] | [ _ ]), _ | _, ([] | [ _ ]) -> L.map2 f a b
  | _ -> (
    match Walk.run (job (Machine.code_of f) pairs (map2_piece f)) (a, b) with
    | chains, ([], []) -> Chain.join chains
    | _ -> invalid_arg "List.map2")

(* {2 init} *)

let init_piece f n (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let stop = if p.left < n - p.rest then p.rest + p.left else n in
  let rec go last i = if i = stop then last else go (Chain.add last (f i)) (i + 1) in
  let last = go hook p.rest in
  ended p stop (p.left - (stop - p.rest));
  Chain.from hook last

let init n f =
  if n <= 1 then L.init n f
  else
    let source = Walk.{ skip = (fun k i -> if k < n - i then i + k else n); is_end = Int.equal n } in
    Chain.join (fst (Walk.run (job (Machine.code_of f) source (init_piece f n)) 0))

(* {2 iter} *)

let iter_piece f (p : _ Walk.piece) =
  let rec go l n =
    match l with
    | x :: l when n > 0 -> f x; go l (n - 1)
    | l -> ended p l n
  in
  go p.rest p.left

let iter f = function
  | ([] | [ _ ]) as l -> L.iter f l
  | l -> ignore (run (Machine.code_of f) (iter_piece f) l)

let iteri_piece f (p : _ Walk.piece) =
  let rec go i l n =
    match l with
    | x :: l when n > 0 -> f i x; go (i + 1) l (n - 1)
    | l -> ended p l n
  in
  go p.start p.rest p.left

let iteri f = function
  | ([] | [ _ ]) as l -> L.iteri f l
  | l -> ignore (run (Machine.code_of f) (iteri_piece f) l)

(* {2 filter} *)

let filter_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last l n =
    match l with
    | x :: l when n > 0 -> go (if f x then Chain.add last x else last) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let filter f = function
  | ([] | [ _ ]) as l -> L.filter f l
  | l -> Chain.join (run (Machine.code_of f) (filter_piece f) l)

let find_all = filter

let filteri_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last i l n =
    match l with
    | x :: l when n > 0 -> go (if f i x then Chain.add last x else last) (i + 1) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.start p.rest p.left

let filteri f = function
  | ([] | [ _ ]) as l -> L.filteri f l
  | l -> Chain.join (run (Machine.code_of f) (filteri_piece f) l)

let filter_map_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last l n =
    match l with
    | x :: l when n > 0 ->
      go (match f x with Some y -> Chain.add last y | None -> last) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let filter_map f = function
  | ([] | [ _ ]) as l -> L.filter_map f l
  | l -> Chain.join (run (Machine.code_of f) (filter_map_piece f) l)

let concat_map_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec copy last = function [] -> last | y :: ys -> copy (Chain.add last y) ys in
  let rec go last l n =
    match l with
    | x :: l when n > 0 -> go (copy last (f x)) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let concat_map f = function
  | ([] | [ _ ]) as l -> L.concat_map f l
  | l -> Chain.join (run (Machine.code_of f) (concat_map_piece f) l)

let partition_piece f (p : _ Walk.piece) =
  let yes = Compat.hook () and no = Compat.hook () in
  let rec go last last' l n =
    match l with
    | x :: l when n > 0 ->
      if f x then go (Chain.add last x) last' l (n - 1) else go last (Chain.add last' x) l (n - 1)
    | l -> ended p l n; (Chain.from yes last, Chain.from no last')
  in
  go yes no p.rest p.left

let partition f = function
  | ([] | [ _ ]) as l -> L.partition f l
  | l ->
    let chains = run (Machine.code_of f) (partition_piece f) l in
    (Chain.join (L.map fst chains), Chain.join (L.map snd chains))

(* {2 Searches} *)

type 'b event = Found of 'b | Failed of Outcome.failure

(* A piece ends with the first thing that happens in it. *)
let note first (p : _ Walk.piece) event = Leftmost.note first p.start event; ended p [] 0

let search code l look =
  let first = Leftmost.create () in
  let work (p : _ Walk.piece) =
    match look p p.start p.rest p.left with
    | None -> ()
    | Some v -> note first p (Found v)
    | exception exn -> note first p (Failed (Outcome.caught exn))
  in
  ignore (Walk.run (job ~found:(Leftmost.stops first) code source work) l);
  match Leftmost.get first with
  | None -> None
  | Some (Found v) -> Some v
  | Some (Failed failure) -> Outcome.raise failure

(* The first element of which [f] says [wanted], and its index. *)
let seek f wanted l =
  let rec look p i l n =
    match l with
    | x :: l when n > 0 -> if f x == wanted then Some (i, x) else look p (i + 1) l (n - 1)
    | l -> ended p l n; None
  in
  search (Machine.code_of f) l look

let find_mapi f = function
  | ([] | [ _ ]) as l -> L.find_mapi f l
  | l ->
    let rec look p i l n =
      match l with
      | x :: l when n > 0 -> (
        match f i x with None -> look p (i + 1) l (n - 1) | found -> found)
      | l -> ended p l n; None
    in
    search (Machine.code_of f) l look

let find_map f = function
  | ([] | [ _ ]) as l -> L.find_map f l
  | l ->
    let rec look p i l n =
      match l with
      | x :: l when n > 0 -> (match f x with None -> look p i l (n - 1) | found -> found)
      | l -> ended p l n; None
    in
    search (Machine.code_of f) l look

let find_opt f = function
  | ([] | [ _ ]) as l -> L.find_opt f l
  | l -> Option.map snd (seek f true l)

let find f l = match find_opt f l with Some x -> x | None -> raise Not_found

let find_index f = function
  | ([] | [ _ ]) as l -> L.find_index f l
  | l -> Option.map fst (seek f true l)

let exists f = function ([] | [ _ ]) as l -> L.exists f l | l -> seek f true l <> None
let for_all f = function ([] | [ _ ]) as l -> L.for_all f l | l -> seek f false l = None
