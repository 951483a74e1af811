(* Sorting, against the stdlib's function of the same name. Each call sorts a fresh copy of random
   elements: a short input that repeats is learnt by the branch predictor, so there are many. *)

module Ours = Muster_collections.Array

let copies = 1000

(* As many different inputs as it takes to have 10^5 elements. *)
let inputs n make =
  let count = max 1 (min copies (100_000 / n)) in
  Array.init count (fun _ -> make n)

let in_turn inputs sort =
  let next = ref 0 in
  fun () ->
    next := if !next + 1 < Array.length inputs then !next + 1 else 0;
    sort (Array.copy inputs.(!next))

let state = Random.State.make [| 1 |]
let ints n = Array.init n (fun _ -> Random.State.bits state)
let strings n = Array.map string_of_int (ints n)
let floats n = Array.init n (fun _ -> Random.State.float state 1.)
let int_compare = Sys.opaque_identity (fun (a : int) b -> compare a b)

let cases n =
  let bar = Case.bar_of n in
  let note = if n = Case.small then bar else Case.Note in
  let case name make cmp bar =
    let inputs = inputs n make in
    let one name ours theirs =
      Case.make name n ~against:"the same" bar
        ~ours:(in_turn inputs (ours cmp))
        ~theirs:(in_turn inputs (theirs cmp))
    in
    [
      one (name ^ ", sort") Ours.sort Array.sort;
      one (name ^ ", stable_sort") Ours.stable_sort Array.stable_sort;
    ]
  in
  List.concat
    [
      case "sort ints" ints int_compare bar;
      case "sort ints, compare" ints (Sys.opaque_identity compare) bar;
      case "sort strings" strings String.compare bar;
      case "sort floats" floats Float.compare note;
    ]
