(* A mutex around a counter. Who finds it taken need not have it, so [Try] may fail at any time. *)

module Mutex = Muster.Mutex
open STM
include Program.Anyone

type cmd = Count | Try | Relock | Unlock_unheld
type state = int
type sut = { mutex : Mutex.t; mutable counter : int }

let show_cmd = function
  | Count -> "count"
  | Try -> "try to count"
  | Relock -> "relock"
  | Unlock_unheld -> "unlock unheld"

let arb_cmd _ =
  Program.(
    one_of show_cmd
      [ (3, always Count); (2, always Try); (1, always Relock); (1, always Unlock_unheld) ])

let init_state = 0
let init_sut () = { mutex = Mutex.create (); counter = 0 }
let cleanup sut = assert (Mutex.try_lock sut.mutex)
let precond _ _ = true
let next_state cmd n = match cmd with Count | Try -> n + 1 | Relock | Unlock_unheld -> n

let after cmd n res =
  match (cmd, res) with Try, Res ((Option Int, _), None) -> n | _ -> next_state cmd n

let count sut =
  let seen = sut.counter in
  Domain.cpu_relax ();
  sut.counter <- seen + 1;
  seen

let count_if_free sut =
  if Mutex.try_lock sut.mutex then begin
    let seen = count sut in
    Mutex.unlock sut.mutex;
    Some seen
  end
  else None

let refused f = match f () with () -> false | exception Invalid_argument _ -> true

let run cmd sut =
  let m = sut.mutex in
  match cmd with
  | Count -> Res (int, Mutex.protect m (fun () -> count sut))
  | Try -> Res (option int, count_if_free sut)
  | Relock -> Res (bool, Mutex.protect m (fun () -> refused (fun () -> Mutex.lock m)))
  | Unlock_unheld -> Res (bool, refused (fun () -> Mutex.unlock m))

let postcond cmd (n : state) res =
  match (cmd, res) with
  | Count, Res ((Int, _), seen) -> Int.equal seen n
  | Try, Res ((Option Int, _), seen) -> Option.value seen ~default:n = n
  | (Relock | Unlock_unheld), Res ((Bool, _), was_refused) -> was_refused
  | _ -> false

let last = [ Count ]
