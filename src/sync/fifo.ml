(* Two lists (Hood and Melville, 1981). It is swept when it has twice the length that it had after
   the last sweep, so a sweep is paid for by the pushes since. *)

type 'a t = { front : 'a list; back : 'a list; length : int; limit : int }

let shortest = 8
let empty = { front = []; back = []; length = 0; limit = shortest }
let is_empty q = q.length = 0
let exists f q = List.exists f q.front || List.exists f q.back
let to_list q = q.front @ List.rev q.back

let sweep ~is_live q =
  let front = List.filter is_live (to_list q) in
  let length = List.length front in
  { front; back = []; length; limit = Int.max shortest (2 * length) }

let push ~is_live q x =
  let q = if q.length >= q.limit then sweep ~is_live q else q in
  { q with back = x :: q.back; length = q.length + 1 }

let pop q =
  match q.front with
  | x :: front -> Some (x, { q with front; length = q.length - 1 })
  | [] -> (
    match List.rev q.back with
    | [] -> None
    | x :: front -> Some (x, { q with front; back = []; length = q.length - 1 }))
