(* Of two lazy values one fails; both tell how often they were computed. [derived] is mapped from
   the first. *)

module Lazy = Muster.Lazy
open STM
include Program.Anyone

type cmd = Force | Is_val | Force_derived | Force_failing | Is_failing_val

type state = bool
(** Whether the first was computed. *)

type sut = { value : int Lazy.t; derived : int Lazy.t; failing : int Lazy.t }

exception Failed of int

let show_cmd = function
  | Force -> "force"
  | Is_val -> "is_val"
  | Force_derived -> "force (map)"
  | Force_failing -> "force, failing"
  | Is_failing_val -> "is_val, failing"

let arb_cmd _ =
  Program.(
    one_of show_cmd
      (List.map
         (fun cmd -> (1, always cmd))
         [ Force; Is_val; Force_derived; Force_failing; Is_failing_val ]))

let init_state = false

(* Computing takes a moment, so that others come meanwhile, and yields to other threads. *)
let counter () =
  let runs = Atomic.make 0 in
  fun () ->
    Thread.yield ();
    1 + Atomic.fetch_and_add runs 1

let init_sut () =
  let failures = counter () in
  let value = Lazy.from_fun (counter ()) in
  let failing = Lazy.from_fun (fun () -> raise (Failed (failures ()))) in
  { value; derived = Lazy.map (fun n -> 10 * n) value; failing }

let cleanup _ = ()
let precond _ _ = true
let next_state cmd computed = computed || cmd = Force || cmd = Force_derived
let after cmd computed _ = next_state cmd computed
let failure l = match Lazy.force l with _ -> 0 | exception Failed n -> n

let run cmd sut =
  match cmd with
  | Force -> Res (int, Lazy.force sut.value)
  | Is_val -> Res (bool, Lazy.is_val sut.value)
  | Force_derived -> Res (int, Lazy.force sut.derived)
  | Force_failing -> Res (int, failure sut.failing)
  | Is_failing_val -> Res (bool, Lazy.is_val sut.failing)

let postcond cmd (computed : state) res =
  match (cmd, res) with
  | (Force | Force_failing), Res ((Int, _), n) -> Int.equal n 1
  | Force_derived, Res ((Int, _), n) -> Int.equal n 10
  | Is_val, Res ((Bool, _), is_val) -> Bool.equal is_val computed
  | Is_failing_val, Res ((Bool, _), is_val) -> not is_val
  | _ -> false

let last = [ Force; Force_derived; Force_failing; Is_failing_val ]
