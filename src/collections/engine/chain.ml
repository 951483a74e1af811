(* Both are empty if the list is. *)
type 'a t = { first : 'a list; last : 'a list }

let empty = { first = []; last = [] }
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
   collect, each cell's copy takes a compare-and-set; so a piece is copied at once, by its maker. *)

let long = 1 lsl 18
let rec last_of = function [] -> [] | [ _ ] as last -> last | _ :: list -> last_of list

(* The last cell of a copy in the major heap, whose tail is the first. The list must have a cell. *)
external settle : 'a list -> 'a list = "muster_settle"

let settled list =
  let last = settle list in
  let first = List.tl last in
  Compat.hang last [];
  { first; last }

let of_list ~index list =
  if index < long || list = [] then { first = list; last = last_of list } else settled list

let of_reversed ~index = function
  | [] -> empty
  | x :: before ->
    let last = [ x ] in
    let first = List.rev_append before last in
    if index < long then { first; last } else settled first
