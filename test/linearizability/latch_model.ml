(* A latch; [await] waits until it is open. *)

module Latch = Muster.Latch
open STM
include Program.Anyone

type cmd = Count_down | Await | Get

type state = int
(** How often it is yet to be counted down. *)

type sut = Latch.t

let show_cmd = function Count_down -> "count_down" | Await -> "await" | Get -> "count"

let arb_cmd _ =
  Program.(one_of show_cmd [ (3, always Count_down); (2, always Await); (1, always Get) ])

let init_state = 3
let init_sut () = Latch.create init_state
let cleanup _ = ()
let precond cmd n = match cmd with Await -> n = 0 | Count_down | Get -> true
let next_state cmd n = match cmd with Count_down -> max 0 (n - 1) | Await | Get -> n
let after cmd n _ = next_state cmd n
let refused f = match f () with () -> false | exception Invalid_argument _ -> true

let run cmd l =
  match cmd with
  | Count_down -> Res (bool, refused (fun () -> Latch.count_down l))
  | Await -> Res (unit, Latch.await l)
  | Get -> Res (int, Latch.count l)

let postcond cmd (n : state) res =
  match (cmd, res) with
  | Count_down, Res ((Bool, _), was_refused) -> Bool.equal was_refused (n = 0)
  | Await, Res ((Unit, _), ()) -> n = 0
  | Get, Res ((Int, _), value) -> Int.equal value n
  | _ -> false

let last = [ Get ]
