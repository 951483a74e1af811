(* Lists that are made from the front and then linked: a list and its last cell, both empty if it
   has none. Linking writes that cell, which nobody else has seen yet; nothing is copied. *)

open Muster_core
module List = Stdlib.List

type 'a t = { first : 'a list; last : 'a list }

let empty = { first = []; last = [] }

(* One to which nothing will be linked. *)
let whole list = { first = list; last = [] }

let link a b =
  match (a, b) with
  | { first = []; _ }, c | c, { first = []; _ } -> c
  | _ ->
    Compat.hang a.last b.first;
    { first = a.first; last = b.last }

let join = function [ chain ] -> chain.first | chains -> (List.fold_left link empty chains).first

(* {2 Long ones}

   Most of a list that is longer than a minor heap has to leave that heap. Where several domains
   collect, each cell's copy takes a compare-and-set; so a piece is copied at once, by its maker. Lists
   that are shorter may be needed no more before a collection. *)

let long = 1 lsl 18
let rec last_of = function [] -> [] | [ _ ] as last -> last | _ :: list -> last_of list

let settled list =
  let last = Compat.settle list in
  let first = List.tl last in
  Compat.hang last [];
  { first; last }

(* A part of a long list, if [index], which is its place there, says so. *)
let settle ~index chain = if index < long || chain.first = [] then chain else settled chain.first

let of_list ~index list =
  if index < long || list = [] then { first = list; last = last_of list } else settled list

(* {2 One cell after the other}

   Appending at a loop's own pace: begin with a [Compat.hook]. *)

let[@inline] add last y =
  let cell = [ y ] in
  Compat.hang last cell;
  cell

(* What hangs on [hook], down to [last]. *)
let from hook last = if hook == last then empty else { first = List.tl hook; last }

(* What was kept in reverse, in order again; and what comes before more of it: the last cell. *)
let of_reversed = function
  | [] -> empty
  | x :: before ->
    let last = [ x ] in
    { first = List.rev_append before last; last }

let hang_reversed hook reversed =
  match of_reversed reversed with
  | { first = []; _ } -> hook
  | { first; last } ->
    Compat.hang hook first;
    last

(* {2 Where lists of that length are shared although it costs} *)

let far = 1 lsl 16
