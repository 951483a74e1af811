(* What to do with the next [n] elements of a sequence, one by one, for its only reader (Reader): what is left then, or [None]
   at the end. *)

open Stdlib.Seq

(* {2 Effects} *)

(* Four a turn, or the count of them is felt. *)
let rec iter_some f s n =
  if n >= 4 then
    match s () with
    | Nil -> None
    | Cons (x, s) -> (
      f x;
      match s () with
      | Nil -> None
      | Cons (x, s) -> (
        f x;
        match s () with
        | Nil -> None
        | Cons (x, s) -> (
          f x;
          match s () with
          | Nil -> None
          | Cons (x, s) ->
            f x;
            iter_some f s (n - 4))))
  else if n = 0 then Some s
  else
    match s () with
    | Nil -> None
    | Cons (x, s) ->
      f x;
      iter_some f s (n - 1)

let rec iteri_some f i s n =
  if n = 0 then Some s
  else
    match s () with
    | Nil -> None
    | Cons (x, s) ->
      f i x;
      iteri_some f (i + 1) s (n - 1)

(* {2 Reductions} *)

let rec count_some f total s n counted =
  if n = 0 then begin
    total := !total + counted;
    Some s
  end
  else
    match s () with
    | Nil ->
      total := !total + counted;
      None
    | Cons (x, s) -> count_some f total s (n - 1) (if f x then counted + 1 else counted)

(* What is read one by one comes from the front, without a gap; so the nodes that wait for others are the binary number of
   the leaves, and those of its last four digits are kept in variables: [a] the one of rank 0, if there is one, [b], [c] and
   [d] those of 1, 2 and 3. Nodes, which are linked, were felt. *)
let waits at rank = at land (1 lsl rank) <> 0

let taken nodes ~at rank ~otherwise =
  match !nodes with
  | { Tally.value; _ } :: others when waits at rank ->
    nodes := others;
    value
  | _ -> otherwise

let put nodes at rank value = nodes := { Tally.at; rank; value } :: !nodes

let put_back nodes at a b c d =
  if waits at 3 then put nodes (at land lnot 15) 3 d;
  if waits at 2 then put nodes (at land lnot 7) 2 c;
  if waits at 1 then put nodes (at land lnot 3) 1 b;
  if waits at 0 then put nodes (at - 1) 0 a

(* [x] is the first element of leaf [at], and the leaves before [last] are read. *)
let rec tally op nodes x s at last a b c d =
  match s () with
  | Nil -> last_leaf nodes x at a b c d
  | Cons (y, s) -> (
    let v = op x y in
    match s () with
    | Nil -> last_leaf nodes v at a b c d
    | Cons (y, s) -> (
      let v = op v y in
      match s () with
      | Nil -> last_leaf nodes v at a b c d
      | Cons (y, s) ->
        let v = op v y in
        if not (waits at 0) then next_leaf op nodes s (at + 1) last v b c d
        else
          let v = op a v in
          if not (waits at 1) then next_leaf op nodes s (at + 1) last a v c d
          else
            let v = op b v in
            if not (waits at 2) then next_leaf op nodes s (at + 1) last a b v d
            else
              let v = op c v in
              if not (waits at 3) then next_leaf op nodes s (at + 1) last a b c v
              else begin
                let node = { Tally.at = at - 15; rank = 4; value = op d v } in
                nodes := Tally.push op node !nodes;
                next_leaf op nodes s (at + 1) last a b c d
              end))

and next_leaf op nodes s at last a b c d =
  if at = last then begin
    put_back nodes at a b c d;
    Some s
  end
  else
    match s () with
    | Nil ->
      put_back nodes at a b c d;
      None
    | Cons (x, s) -> tally op nodes x s at last a b c d

(* It may be cut short by the end. *)
and last_leaf nodes v at a b c d =
  put_back nodes at a b c d;
  put nodes at 0 v;
  None

let tally_some op nodes start s n =
  match s () with
  | Nil -> None
  | Cons (x, s) ->
    let at = start / Tally.run in
    let take rank = taken nodes ~at rank ~otherwise:x in
    let a = take 0 in
    let b = take 1 in
    let c = take 2 in
    let d = take 3 in
    tally op nodes x s at (at + (n / Tally.run)) a b c d
