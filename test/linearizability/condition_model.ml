(* Conditions, by a semaphore that is made of one, a mutex and a number: a party that takes waits until
   there is something. *)

module Mutex = Muster.Mutex
module Condition = Muster.Condition
open STM
include Program.Anyone

type cmd = Take | Put | Put_many of int | Get
type state = int
type sut = { mutex : Mutex.t; more : Condition.t; mutable n : int }

let show_cmd = function
  | Take -> "take"
  | Put -> "put, signal"
  | Put_many k -> Printf.sprintf "put %d, broadcast" k
  | Get -> "get"

let arb_cmd _ =
  let many = Program.below 3 (fun k -> Put_many (k + 1)) in
  Program.(one_of show_cmd [ (3, always Take); (2, always Put); (1, many); (1, always Get) ])

let init_state = 0
let init_sut () = { mutex = Mutex.create (); more = Condition.create (); n = 0 }
let cleanup _ = ()
let precond cmd n = match cmd with Take -> n > 0 | Put | Put_many _ | Get -> true

let next_state cmd n =
  match cmd with Take -> n - 1 | Put -> n + 1 | Put_many k -> n + k | Get -> n

let after cmd n _ = next_state cmd n

let take sut () =
  while sut.n = 0 do
    Condition.wait sut.more sut.mutex
  done;
  sut.n <- sut.n - 1

let put sut k tell () =
  sut.n <- sut.n + k;
  tell sut.more

let run cmd sut =
  let locked f = Mutex.protect sut.mutex f in
  match cmd with
  | Take -> Res (unit, locked (take sut))
  | Put -> Res (unit, locked (put sut 1 Condition.signal))
  | Put_many k -> Res (unit, locked (put sut k Condition.broadcast))
  | Get -> Res (int, locked (fun () -> sut.n))

let postcond cmd (n : state) res =
  match (cmd, res) with
  | (Take | Put | Put_many _), Res ((Unit, _), ()) -> true
  | Get, Res ((Int, _), seen) -> Int.equal seen n
  | _ -> false

let last = [ Get ]
