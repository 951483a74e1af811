(* A call that blocks: the crew makes it, the task waits (Waiter) and its worker goes on. *)

(* A cancelled task waits no longer (Waiter), so a late outcome is dropped; but Ctrl-C, which struck
   the call, is for a thread that has something to interrupt.

   While the call runs, its thread takes signals as any thread of the program does: they end system
   calls. At other times the crew blocks them. If no thread could be started, the call runs on the
   caller's own thread, whose signals stay as they are. *)
let outcome ~caller f =
  let by_crew = Machine.thread_id () <> caller in
  match
    if by_crew then Machine.usual_signals ();
    let v = f () in
    if by_crew then Machine.block_signals ();
    Some (Ok v)
  with
  | ended -> ended
  | exception exn ->
    if by_crew then Machine.block_signals ();
    Some (Error (Outcome.caught exn))

let drop = function
  | Some (Error { Outcome.exn = Sys.Break as exn; _ }) -> Worker.stash Place.nobody.pool exn
  | Some (Ok _ | Error _) | None -> ()

let event = Event.make "Task.blocking"

let by_crew f =
  let backtrace = Machine.backtrace_status () and caller = Machine.thread_id () in
  let result = ref None in
  let register waiter =
    let tell ended () =
      result := ended;
      if not (Waiter.grant waiter) then drop ended
    in
    Crew.run (fun () ->
        Machine.record_backtrace backtrace;
        Outcome.firmly tell (outcome ~caller f) ())
  in
  Waiter.wait event register;
  (* Written before the grant, which happens before this. *)
  match Option.get !result with
  | Ok v -> v
  | Error failure -> Outcome.raise failure

(* A thread that has no place, and runs no fibers, blocks anyway. *)
let call f = if Place.owned_place () <> None || Fiber.is_elsewhere () then by_crew f else f ()
