(* Loop bodies that may wait for one another.

   Domainslib runs a loop as a set of tasks: a body that waits, for a promise or a channel, holds
   up its own chunk and no other. Muster decides on the go how to cut a range, so any iterations
   may come to lie in one stretch, which one worker runs. Hence a body that waits is taken out
   of its stretch: its continuation becomes a task by itself, and the stretch goes on behind it.

   Parties: the loop's caller, the workers that run stretches, and the bodies apart, each with
   whoever resumes it. [unfinished] counts the bodies apart, and 1 for the range. Who takes it
   to 0 ends [all_done], for which the caller waits after the range has been swept. The caller's
   own decrement comes after every increment: stretches are swept before it.

   At rest no body of the loop runs, and its failure is the leftmost one. *)

open Muster_core
open Muster_loop

type t = {
  body : int -> unit;
  failures : Outcome.failure Leftmost.t;
  unfinished : int Atomic.t;
  all_done : unit Promise.t;
}

(* A part of the range, run by one worker. *)
type stretch = {
  mutable at : int;
  mutable apart : bool;  (** the body there is all that is left of it *)
}

let create body =
  { body; failures = Leftmost.create (); unfinished = Atomic.make 1;
    all_done = Promise.(make nowhere ignore) }

let finish_one t =
  let last = Atomic.fetch_and_add t.unfinished (-1) = 1 in
  if last then ignore (Promise.run t.all_done)

(* The index is written, never read, by the loop: it stays in a register. *)
let run_bodies t stretch lo hi =
  try
    for i = lo to hi do
      stretch.at <- i;
      t.body i;
      if stretch.apart then raise_notrace Exit
    done
  with exn ->
    let failure = Outcome.caught exn in
    if not (stretch.apart && exn == Exit) then Leftmost.note t.failures stretch.at failure

(* Before it can be resumed: afterwards the stretch is its alone. *)
let set_apart t stretch =
  stretch.apart <- true;
  Atomic.incr t.unfinished

(* [lo] to [hi], without those right of a failure. *)
let rec sweep t lo hi =
  let stretch = { at = lo; apart = false } in
  let run () =
    run_bodies t stretch lo hi;
    if stretch.apart then finish_one t
  in
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Worker.Suspend (pool, register) ->
      Some
        (fun (k : (a, unit) Effect.Deep.continuation) ->
          let was_apart = stretch.apart and at = stretch.at in
          if not was_apart then set_apart t stretch;
          Worker.suspend pool register k;
          if (not was_apart) && at < hi && not (Leftmost.stops t.failures (at + 1)) then
            sweep t (at + 1) hi)
    | _ -> None
  in
  Effect.Deep.match_with run () { retc = Fun.id; exnc = raise; effc }

(* After all of the range has been swept. *)
let finish t =
  let apart = Atomic.get t.unfinished > 1 in
  finish_one t;
  if apart then Fork.wait_done t.all_done;
  Leftmost.reraise t.failures

let job t ~code ~grain =
  { Loop.run = sweep t; stopped = Leftmost.stops t.failures; code; grain }
