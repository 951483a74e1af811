(* The inbox: anybody may send and receive at any time, and nothing is ever weak. *)

module Inbox = Muster_core.Inbox
open STM
include Program.Anyone

type sut = int Inbox.t

type state = int list
(** The oldest first. *)

type cmd = Push of int | Pop | Is_empty

let show_cmd = function
  | Push v -> Printf.sprintf "push %d" v
  | Pop -> "pop"
  | Is_empty -> "is_empty"

let arb_cmd _ =
  let push = Program.below 1000 (fun v -> Push v) in
  Program.(one_of show_cmd [ (4, push); (4, always Pop); (1, always Is_empty) ])

let init_state = []
let nothing = -1
let init_sut () = Inbox.create nothing
let cleanup _ = ()
let precond _ _ = true

let next_state cmd s =
  match (cmd, s) with Push v, _ -> s @ [ v ] | Pop, _ :: rest -> rest | Pop, [] | Is_empty, _ -> s

let after cmd s _ = next_state cmd s

let run cmd q =
  match cmd with
  | Push v -> Res (unit, Inbox.push q v)
  | Pop -> Res (int, Inbox.pop q)
  | Is_empty -> Res (bool, Inbox.is_empty q)

let postcond cmd (s : state) res =
  match (cmd, res) with
  | Push _, Res ((Unit, _), ()) -> true
  | Pop, Res ((Int, _), r) -> r = Option.value (List.nth_opt s 0) ~default:nothing
  | Is_empty, Res ((Bool, _), r) -> Bool.equal r (s = [])
  | _ -> false

let last = Is_empty :: List.init 12 (fun _ -> Pop)
