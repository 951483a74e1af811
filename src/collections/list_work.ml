(* What to do with a piece of a list (Walk), for lists and for what is read from sequences. The
   works that make lists link them (Chain); nothing is copied. *)

open Muster_core
module L = Stdlib.List

let rec skip n l = match l with _ :: l when n > 0 -> skip (n - 1) l | l -> l
let source = Walk.{ skip; is_end = (function [] -> true | _ -> false) }
let never _ = false

let job ?(unit = 1) ?(found = never) code source work =
  Walk.{ source; work; code; unit; failures = Leftmost.create (); found }

let run code work l = fst (Walk.run (job code source work) l)
let ended (p : _ Walk.piece) rest left = p.rest <- rest; p.left <- left

(* {2 Lists from lists} *)

type ('a, 'b) mapping = {
  f : 'a -> 'b;
  piece : 'a list Walk.piece;
  mutable last : 'b list;
}

(* Four at a time: the loop is a third of what a cheap [f] costs. *)
let[@tail_mod_cons] rec map_from m l n =
  match l with
  | x1 :: x2 :: x3 :: x4 :: (_ :: _ as l) when n > 4 ->
    let y1 = m.f x1 in
    let y2 = m.f x2 in
    let y3 = m.f x3 in
    let y4 = m.f x4 in
    y1 :: y2 :: y3 :: y4 :: map_from m l (n - 4)
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

let mapi_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last i l n =
    match l with
    | x :: l when n > 0 -> go (Chain.add last (f i x)) (i + 1) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.start p.rest p.left

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

let init_piece f n (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let stop = if p.left < n - p.rest then p.rest + p.left else n in
  let rec go last i = if i = stop then last else go (Chain.add last (f i)) (i + 1) in
  let last = go hook p.rest in
  ended p stop (p.left - (stop - p.rest));
  Chain.from hook last

let filter_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last l n =
    match l with
    | x :: l when n > 0 -> go (if f x then Chain.add last x else last) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let filteri_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last i l n =
    match l with
    | x :: l when n > 0 -> go (if f i x then Chain.add last x else last) (i + 1) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.start p.rest p.left

let filter_map_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec go last l n =
    match l with
    | x :: l when n > 0 ->
      go (match f x with Some y -> Chain.add last y | None -> last) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let concat_map_piece f (p : _ Walk.piece) =
  let hook = Compat.hook () in
  let rec copy last = function [] -> last | y :: ys -> copy (Chain.add last y) ys in
  let rec go last l n =
    match l with
    | x :: l when n > 0 -> go (copy last (f x)) l (n - 1)
    | l -> ended p l n; Chain.from hook last
  in
  go hook p.rest p.left

let partition_piece f (p : _ Walk.piece) =
  let yes = Compat.hook () and no = Compat.hook () in
  let rec go last last' l n =
    match l with
    | x :: l when n > 0 ->
      if f x then go (Chain.add last x) last' l (n - 1) else go last (Chain.add last' x) l (n - 1)
    | l -> ended p l n; (Chain.from yes last, Chain.from no last')
  in
  go yes no p.rest p.left

(* {2 Effects and counts} *)

let iter_piece f (p : _ Walk.piece) =
  let rec go l n =
    match l with
    | x :: l when n > 0 -> f x; go l (n - 1)
    | l -> ended p l n
  in
  go p.rest p.left

let iteri_piece f (p : _ Walk.piece) =
  let rec go i l n =
    match l with
    | x :: l when n > 0 -> f i x; go (i + 1) l (n - 1)
    | l -> ended p l n
  in
  go p.start p.rest p.left

let count_piece f (p : _ Walk.piece) =
  let rec go count l n =
    match l with
    | x :: l when n > 0 -> go (if f x then count + 1 else count) l (n - 1)
    | l -> ended p l n; count
  in
  go 0 p.rest p.left

let histogram_piece t f =
  let count table (p : _ Walk.piece) =
    let rec go l n =
      match l with
      | x :: l when n > 0 -> Groups.add t table (f x); go l (n - 1)
      | l -> ended p l n
    in
    go p.rest p.left
  in
  Groups.with_table t count

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
  | Some (Failed failure) -> Context.rethrow failure

(* The first element of which [f] says yes, and its index. *)
let seek f l =
  let look (p : _ Walk.piece) start l n =
    let stop = if n < max_int - start then start + n else max_int in
    let rec from i l =
      match l with
      | x :: l when i < stop -> if f x then Some (i, x) else from (i + 1) l
      | l -> ended p l (stop - i); None
    in
    from start l
  in
  search (Machine.code_of f) l look

(* The same for those who only ask whether there is one: short loops, for these often are all
   there is to it. *)
let rec all f p l n =
  match l with
  | x :: l when n > 0 -> if f x then all f p l (n - 1) else Some ()
  | l -> ended p l n; None

let rec none f p l n =
  match l with
  | x :: l when n > 0 -> if f x then Some () else none f p l (n - 1)
  | l -> ended p l n; None

let for_all f l = Option.is_none (search (Machine.code_of f) l (fun p _ l n -> all f p l n))
let exists f l = Option.is_some (search (Machine.code_of f) l (fun p _ l n -> none f p l n))

(* {2 Reductions} *)

(* A leaf's value, and what comes after it. *)
let leaf op = function
  | x1 :: x2 :: x3 :: x4 :: l -> (op (op (op x1 x2) x3) x4, l)
  | l -> (L.fold_left op (L.hd l) (L.tl l), [])

(* Four leaves that make a node of rank 2, where such a one may begin: in one go. *)
let four_leaves op (p : _ Walk.piece) at nodes =
  match p.rest with
  | x1 :: x2 :: x3 :: x4 :: x5 :: x6 :: x7 :: x8
    :: y1 :: y2 :: y3 :: y4 :: y5 :: y6 :: y7 :: y8 :: l
    when at land 3 = 0 && p.left >= 16 ->
    let a = op (op (op x1 x2) x3) x4 in
    let b = op a (op (op (op x5 x6) x7) x8) in
    let c = op (op (op y1 y2) y3) y4 in
    let d = op c (op (op (op y5 y6) y7) y8) in
    ended p l (p.left - 16);
    nodes := Tally.push op { at; rank = 2; value = op b d } !nodes;
    true
  | _ -> false

let one_leaf op (p : _ Walk.piece) at nodes =
  let value, rest = leaf op p.rest in
  nodes := Tally.push op { at; rank = 0; value } !nodes;
  ended p rest (p.left - Tally.run)

(* A piece that fails keeps what it had: what lies left of it may be what fails first. *)
let tally_piece op failed (p : _ Walk.piece) =
  let nodes = ref [] and at = ref (p.start / Tally.run) in
  try
    while p.left > 0 && not (L.is_empty p.rest) do
      if four_leaves op p !at nodes then at := !at + 4
      else begin
        one_leaf op p !at nodes;
        incr at
      end
    done;
    Tally.{ nodes = !nodes; failure = None }
  with exn ->
    let failure = Outcome.caught exn in
    Leftmost.note failed p.start ();
    ended p [] 0;
    Tally.{ nodes = !nodes; failure = Some failure }

let tallies first code op l =
  let failed = Leftmost.create () in
  let found = Leftmost.stops failed in
  fst (Walk.run_from first (job ~unit:Tally.run ~found code source (tally_piece op failed)) l)

let reduce_keyed code op l = Tally.value op (tallies 0 code op l)

(* Of equal ones the first. *)
let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x

(* Prefixes, one after the other. *)
let scan_in_place op x l =
  let first = [ x ] in
  let rec go last acc = function
    | [] -> first
    | x :: l ->
      let acc = op acc x in
      go (Chain.add last acc) acc l
  in
  go first x l
