(* One atomic with an immutable state, changed as a whole by compare-and-set: those who have come
   to this meeting. The last to come empties it in one step, and grants the others.

   A waiter whose task is cancelled takes itself out. Whether it does so before the last one came is
   decided by whose step was first: after the last one's it finds itself gone, and has counted.
   So a meeting has [parties] calls, always. At rest the barrier is empty. *)

open Muster_core

type state = { count : int; waiters : Waiter.t list  (** the latest first *) }
type t = { parties : int; state : state Atomic.t }

let nobody = { count = 0; waiters = [] }

let create n =
  if n < 1 then
    invalid_arg (Printf.sprintf "Muster.Barrier.create: parties = %d is less than 1" n);
  { parties = n; state = Atomic.make nobody }

let parties t = t.parties
let waiting t = (Atomic.get t.state).count

let rec come t w =
  let seen = Atomic.get t.state in
  if seen.count + 1 < t.parties then begin
    let state = { count = seen.count + 1; waiters = w :: seen.waiters } in
    if not (Atomic.compare_and_set t.state seen state) then come t w
  end
  else
    let all = List.rev (w :: seen.waiters) in
    if Atomic.compare_and_set t.state seen nobody then Waiter.grant_all all else come t w

let rec leave t w =
  let seen = Atomic.get t.state in
  if List.memq w seen.waiters then begin
    let waiters = List.filter (fun other -> other != w) seen.waiters in
    if not (Atomic.compare_and_set t.state seen { count = seen.count - 1; waiters }) then leave t w
  end

let await t =
  let here = ref None in
  let register w = here := Some w; come t w in
  Outcome.on_failure (fun () -> Waiter.wait register) (fun _ -> Option.iter (leave t) !here)
