type t = {
  mutable task : Promise.any;
  mutable records : bool;
  mutable from_inbox : bool;
  mutable victim : int;
  mutable turn : int;
}

let make ~none index =
  { task = none; records = false; from_inbox = false; victim = index; turn = 0 }

(* {2 What it has found} *)

let begin_to_look t = t.from_inbox <- false

let[@inline] keep t task ~records =
  t.task <- task;
  t.records <- records

let keep_from_inbox t task ~records =
  keep t task ~records;
  t.from_inbox <- true

let put_back t task = t.task <- task

(* {2 Where it looks next} *)

let turn_to t i = t.victim <- i
let turn_away t ~places = t.victim <- (if t.victim + 1 < places then t.victim + 1 else 0)

(* Two tasks that answer each other's messages always leave one of them at the bottom of the
   deque. So that they keep nobody waiting for ever, every so often the oldest comes first. *)
let turns = 32

type first = Newest | From_inbox | Own_oldest | From_another

let next_turn t =
  t.turn <- t.turn + 1;
  if t.turn mod turns <> 0 then Newest
  else match t.turn / turns mod 3 with 0 -> From_inbox | 1 -> Own_oldest | _ -> From_another
