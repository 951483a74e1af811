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
let ended = Walk.ended

(* {2 Lists from lists}

   As the compiler builds what is linked from the front ([tail_mod_cons]): as fast as the stdlib. *)

let chain source work (p : _ Walk.piece) =
  let made = work p in
  if p.start = 0 && source.Walk.is_end p.rest then Chain.whole made
  else Chain.of_list ~index:p.start made

let run_chains code source work from =
  let chains, rest = Walk.run (job code source (chain source work)) from in
  (Chain.join chains, rest)

let make code work l = fst (run_chains code source work l)

(* Four at a time: the loop is a third of what a cheap [f] costs. *)
let map_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go l n =
    match l with
    | x1 :: x2 :: x3 :: x4 :: l when n >= 4 ->
      let y1 = f x1 in
      let y2 = f x2 in
      let y3 = f x3 in
      let y4 = f x4 in
      y1 :: y2 :: y3 :: y4 :: go l (n - 4)
    | x :: l when n > 0 ->
      let y = f x in
      y :: go l (n - 1)
    | l -> (match ended p l n with 0 -> [] | n -> go l n)
  in
  go p.rest p.left

let mapi_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go i l n =
    match l with
    | x :: l when n > 0 ->
      let y = f i x in
      y :: go (i + 1) l (n - 1)
    | l -> (match ended p l n with 0 -> [] | n -> go i l n)
  in
  go p.start p.rest p.left

let pairs =
  let rec skip n = function
    | _ :: a, _ :: b when n > 0 -> skip (n - 1) (a, b)
    | ends -> ends
  in
  Walk.{ skip; is_end = (function [], _ | _, [] -> true | _ -> false) }

let map2_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go a b n =
    match (a, b) with
    | x :: a, y :: b when n > 0 ->
      let z = f x y in
      z :: go a b (n - 1)
    | _ -> (match ended p (a, b) n with 0 -> [] | n -> go a b n)
  in
  let a, b = p.rest in
  go a b p.left

let init_piece f length (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go i n =
    if n > 0 && i < length then
      let x = f i in
      x :: go (i + 1) (n - 1)
    else match ended p i n with 0 -> [] | n -> go i n
  in
  go p.rest p.left

let filter_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go l n =
    match l with
    | x :: l when n > 0 -> if f x then x :: go l (n - 1) else go l (n - 1)
    | l -> (match ended p l n with 0 -> [] | n -> go l n)
  in
  go p.rest p.left

let filteri_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go i l n =
    match l with
    | x :: l when n > 0 ->
      if f i x then x :: go (i + 1) l (n - 1) else go (i + 1) l (n - 1)
    | l -> (match ended p l n with 0 -> [] | n -> go i l n)
  in
  go p.start p.rest p.left

let filter_map_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go l n =
    match l with
    | x :: l when n > 0 -> (
      match f x with Some y -> y :: go l (n - 1) | None -> go l (n - 1))
    | l -> (match ended p l n with 0 -> [] | n -> go l n)
  in
  go p.rest p.left

let concat_map_piece f (p : _ Walk.piece) =
  let[@tail_mod_cons] rec go ys l n =
    match (ys, l) with
    | y :: ys, _ -> y :: go ys l n
    | [], x :: l when n > 0 -> go (f x) l (n - 1)
    | [], l -> (match ended p l n with 0 -> [] | n -> go [] l n)
  in
  go [] p.rest p.left

let settled (p : _ Walk.piece) hook last = Chain.(settle ~index:p.start (from hook last))

let partition_piece f (p : _ Walk.piece) =
  let yes = Compat.hook () and no = Compat.hook () in
  let rec go last last' l n =
    match l with
    | x :: l when n > 0 ->
      if f x then go (Chain.add last x) last' l (n - 1) else go last (Chain.add last' x) l (n - 1)
    | l -> (
      match ended p l n with
      | 0 -> (settled p yes last, settled p no last')
      | n -> go last last' l n)
  in
  go yes no p.rest p.left

(* {2 Effects and counts} *)

let iter_piece f (p : _ Walk.piece) =
  let rec go l n =
    match l with
    | x :: y :: l when n >= 2 -> f x; f y; go l (n - 2)
    | x :: l when n > 0 -> f x; go l (n - 1)
    | l -> (match ended p l n with 0 -> () | n -> go l n)
  in
  go p.rest p.left

let iteri_piece f (p : _ Walk.piece) =
  let rec go i l n =
    match l with
    | x :: l when n > 0 -> f i x; go (i + 1) l (n - 1)
    | l -> (match ended p l n with 0 -> () | n -> go i l n)
  in
  go p.start p.rest p.left

let count_piece f (p : _ Walk.piece) =
  let rec go count l n =
    match l with
    | x :: l when n > 0 -> go (if f x then count + 1 else count) l (n - 1)
    | l -> (match ended p l n with 0 -> count | n -> go count l n)
  in
  go 0 p.rest p.left

let histogram_piece t f =
  let count table (p : _ Walk.piece) =
    let rec go l n =
      match l with
      | x :: l when n > 0 -> Groups.add t table (f x); go l (n - 1)
      | l -> (match ended p l n with 0 -> () | n -> go l n)
    in
    go p.rest p.left
  in
  Groups.with_table t count

(* {2 Searches} *)

type 'b event = Found of 'b | Failed of Outcome.failure

(* A piece ends with the first thing that happens in it. *)
let note first (p : _ Walk.piece) event = Leftmost.note first p.start event; Walk.reach p [] 0

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
    let rec from i l n =
      match l with
      | x :: l when n > 0 -> if f x then Some (i, x) else from (i + 1) l (n - 1)
      | l -> (match ended p l n with 0 -> None | n -> from i l n)
    in
    from start l n
  in
  search (Machine.code_of f) l look

(* The same for those who only ask whether there is one: short loops, for these often are all
   there is to it. *)
let rec all f p l n =
  match l with
  | x :: l when n > 0 -> if f x then all f p l (n - 1) else Some ()
  | l -> (match ended p l n with 0 -> None | n -> all f p l n)

let rec none f p l n =
  match l with
  | x :: l when n > 0 -> if f x then Some () else none f p l (n - 1)
  | l -> (match ended p l n with 0 -> None | n -> none f p l n)

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
    Walk.reach p l (p.left - 16);
    nodes := Tally.push op { at; rank = 2; value = op b d } !nodes;
    true
  | _ -> false

let one_leaf op (p : _ Walk.piece) at nodes =
  let value, rest = leaf op p.rest in
  nodes := Tally.push op { at; rank = 0; value } !nodes;
  Walk.reach p rest (p.left - Tally.run)

(* A piece that fails keeps what it had: what lies left of it may be what fails first. *)
let tally_piece op failed (p : _ Walk.piece) =
  let nodes = ref [] in
  let rec go at =
    if p.left <= 0 || L.is_empty p.rest then begin
      if ended p p.rest p.left > 0 then go at
    end
    else if four_leaves op p at nodes then go (at + 4)
    else begin
      one_leaf op p at nodes;
      go (at + 1)
    end
  in
  match go (p.start / Tally.run) with
  | () -> Tally.{ nodes = !nodes; failure = None }
  | exception exn ->
    let failure = Outcome.caught exn in
    Leftmost.note failed p.start ();
    Walk.reach p [] 0;
    Tally.{ nodes = !nodes; failure = Some failure }

let tallies first code op l =
  let failed = Leftmost.create () in
  let found = Leftmost.stops failed in
  fst (Walk.run_from first (job ~unit:Tally.run ~found code source (tally_piece op failed)) l)

let reduce_keyed code op l = Tally.value op (tallies 0 code op l)

(* Of equal ones the first. *)
let least cmp x y = if cmp y x < 0 then y else x
let greatest cmp x y = if cmp y x > 0 then y else x
