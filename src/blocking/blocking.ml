(* A call that blocks: the crew makes it, the task waits (Waiter) and its worker goes on. *)

open Muster_core

(* A task that is cancelled waits no longer (Waiter): what comes later finds nobody.

   While the call runs, its thread takes signals as any thread of the program does: they end system
   calls. Otherwise the crew has no use for them. *)
let outcome f =
  match
    Machine.usual_signals ();
    let v = f () in
    Machine.block_signals ();
    v
  with
  | v -> Ok v
  | exception exn ->
    Machine.block_signals ();
    Error (Outcome.caught exn)

let by_crew f =
  let backtrace = Machine.backtrace_status () in
  let result = ref None in
  let register waiter =
    Crew.run (fun () ->
        Machine.record_backtrace backtrace;
        let ended = outcome f in
        result := Some ended;
        ignore (Waiter.grant waiter))
  in
  Waiter.wait register;
  (* Written before the grant, which happens before this. *)
  match Option.get !result with
  | Ok v -> v
  | Error failure -> Outcome.raise failure

(* A thread that has no worker's place blocks anyway. *)
let call f = if Place.owned_place () <> None then by_crew f else f ()
