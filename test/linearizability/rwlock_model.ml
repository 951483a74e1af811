(* A lock for readers and writers, around a pair that only writers may see with halves that differ. Who
   tries may fail at any time. *)

module Rwlock = Muster.Rwlock
open STM
include Program.Anyone

type cmd = Read | Write | Try_read | Try_write

type state = int
(** What has been written. *)

type sut = { lock : Rwlock.t; mutable left : int; mutable right : int }

let show_cmd = function
  | Read -> "read"
  | Write -> "write"
  | Try_read -> "try to read"
  | Try_write -> "try to write"

let arb_cmd _ =
  Program.(
    one_of show_cmd
      [ (2, always Read); (2, always Write); (1, always Try_read); (1, always Try_write) ])

let init_state = 0
let init_sut () = { lock = Rwlock.create (); left = 0; right = 0 }
let cleanup sut = assert (Rwlock.try_lock_write sut.lock)
let precond _ _ = true
let next_state cmd n = match cmd with Write | Try_write -> n + 1 | Read | Try_read -> n

let after cmd n res =
  match (cmd, res) with Try_write, Res ((Option Int, _), None) -> n | _ -> next_state cmd n

let torn = -1
let read sut = if sut.left = sut.right then sut.left else torn

let write sut =
  let seen = read sut in
  sut.left <- seen + 1;
  Domain.cpu_relax ();
  sut.right <- seen + 1;
  seen

let if_free ~lock ~unlock sut f =
  if lock sut.lock then begin
    let seen = f sut in
    unlock sut.lock;
    Some seen
  end
  else None

let run cmd sut =
  let open Rwlock in
  match cmd with
  | Read -> Res (int, protect_read sut.lock (fun () -> read sut))
  | Write -> Res (int, protect_write sut.lock (fun () -> write sut))
  | Try_read -> Res (option int, if_free ~lock:try_lock_read ~unlock:unlock_read sut read)
  | Try_write -> Res (option int, if_free ~lock:try_lock_write ~unlock:unlock_write sut write)

let postcond cmd (n : state) res =
  match (cmd, res) with
  | (Read | Write), Res ((Int, _), seen) -> Int.equal seen n
  | (Try_read | Try_write), Res ((Option Int, _), seen) -> Option.value seen ~default:n = n
  | _ -> false

let last = [ Write; Read ]
