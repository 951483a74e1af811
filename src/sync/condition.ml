(* One atomic with the queue of waiters. A waiter joins while it holds the mutex, and unlocks it
   afterwards. So the next holder of the mutex finds it in the queue. A signal takes the oldest
   waiter out and grants it. If that one is dead (its task was cancelled), the signal takes the
   next.

   At rest the queue is empty, or holds dead waiters. *)

module Outcome = Muster_core.Outcome
module Waiter = Muster_core.Waiter

type t = Waiter.t Fifo.t Atomic.t

let create () = Atomic.make Fifo.empty

let rec join t w =
  let seen = Atomic.get t in
  let queue = Fifo.push ~is_live:Waiter.is_waiting seen w in
  if not (Atomic.compare_and_set t seen queue) then join t w

(* [out] is the waiter that was taken out and may not be granted yet. *)
let rec signal_one t out =
  match !out with
  | Some w when Waiter.has_granted w -> ()
  | Some _ | None -> (
    let seen = Atomic.get t in
    match Fifo.pop seen with
    | None -> ()
    | Some (w, queue) ->
      let next = Some w in
      if Atomic.compare_and_set t seen queue then out := next;
      signal_one t out)

(* An asynchronous exception cuts neither short once a waiter was taken out. *)
let signal t = if not (Fifo.is_empty (Atomic.get t)) then Outcome.firmly signal_one t (ref None)

let rec broadcast t =
  let seen = Atomic.get t in
  if not (Fifo.is_empty seen) then begin
    let waiters = Fifo.to_list seen in
    if Atomic.compare_and_set t seen Fifo.empty then Waiter.grant_all waiters else broadcast t
  end

(* An asynchronous exception (Ctrl-C) does not leave the caller without the mutex; a second one
   does. *)
let relock m () = if not (Mutex.is_mine m) then Mutex.relock m
let retake m = Outcome.firmly relock m ()

let wait t m =
  if not (Mutex.is_mine m) then
    invalid_arg "Muster.Condition.wait: the mutex is not locked by this task or thread";
  let register w =
    join t w;
    Mutex.unlock m
  in
  (* One thunk for both, since an asynchronous exception may be delivered between them. *)
  let wait_and_retake () =
    Waiter.wait register;
    Mutex.relock m
  in
  Outcome.on_failure wait_and_retake (fun _ -> retake m)
