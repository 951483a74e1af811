(* A semaphore; [acquire] waits for a permit. *)

module Semaphore = Muster.Semaphore
open STM
include Program.Anyone

type cmd = Acquire | Try | Release | Get

type state = int
(** Permits. *)

type sut = Semaphore.t

let show_cmd = function
  | Acquire -> "acquire"
  | Try -> "try_acquire"
  | Release -> "release"
  | Get -> "get_value"

let arb_cmd _ =
  Program.(
    one_of show_cmd [ (3, always Acquire); (1, always Try); (3, always Release); (1, always Get) ])

let init_state = 0
let init_sut () = Semaphore.make init_state
let cleanup _ = ()
let precond cmd n = match cmd with Acquire -> n > 0 | Try | Release | Get -> true

let next_state cmd n =
  match cmd with Acquire -> n - 1 | Try -> max 0 (n - 1) | Release -> n + 1 | Get -> n

let after cmd n _ = next_state cmd n

let run cmd s =
  match cmd with
  | Acquire -> Res (unit, Semaphore.acquire s)
  | Try -> Res (bool, Semaphore.try_acquire s)
  | Release -> Res (unit, Semaphore.release s)
  | Get -> Res (int, Semaphore.get_value s)

let postcond cmd (n : state) res =
  match (cmd, res) with
  | (Acquire | Release), Res ((Unit, _), ()) -> true
  | Try, Res ((Bool, _), got) -> Bool.equal got (n > 0)
  | Get, Res ((Int, _), value) -> Int.equal value n
  | _ -> false

let last = [ Get ]
