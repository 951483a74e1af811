(* Lists that are made from the front and then linked: a list and its last cell, both empty if it
   has none. Linking writes that cell, which nobody else has seen yet; nothing is copied. *)

open Muster_core

type 'a t = { first : 'a list; last : 'a list }

let empty = { first = []; last = [] }

let link a b =
  match (a, b) with
  | { first = []; _ }, c | c, { first = []; _ } -> c
  | _ -> Compat.hang a.last b.first; { first = a.first; last = b.last }

let join chains = (Stdlib.List.fold_left link empty chains).first

(* Appending at a loop's own pace: begin with a [Compat.hook]. *)
let[@inline] add last y =
  let cell = [ y ] in
  Compat.hang last cell;
  cell

(* What hangs on [hook], down to [last]. *)
let from hook last = if hook == last then empty else { first = Stdlib.List.tl hook; last }
