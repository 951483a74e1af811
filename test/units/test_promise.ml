(* [Promise]: every operation in every state against a model, and races of two domains. *)

open Harness
open Unit_support
open Muster_core

exception Failed

(* {2 Every sequence} *)

type op =
  | Claim
  | Run
  | Stop
  | Keep
  | Keep_no_longer
  | On_done
  | On_stop
  | Resolve_value
  | Resolve_failure

type ending = Value | Failure | Stopped
type state = Ready | Running | Ended of ending

type model = {
  state : state;
  stopped : bool;
  kept : bool;
  waiting : int list;  (** for the end, oldest first *)
  hooked : int list;  (** for the stop *)
  called : int list;  (** every waiter called so far, oldest first *)
  waiters : int;
  runs : int;
  unheard : int;
}

let fresh =
  {
    state = Ready;
    stopped = false;
    kept = false;
    waiting = [];
    hooked = [];
    called = [];
    waiters = 0;
    runs = 0;
    unheard = 0;
  }

let end_with ending m =
  let unreported = ending = Failure && m.waiting = [] in
  {
    m with
    state = Ended ending;
    waiting = [];
    called = m.called @ m.waiting;
    unheard = (m.unheard + if unreported then 1 else 0);
  }

let add_waiter m =
  let id = m.waiters in
  let m = { m with waiters = id + 1 } in
  match m.state with
  | Ended _ -> { m with called = m.called @ [ id ] }
  | Ready | Running -> { m with waiting = m.waiting @ [ id ] }

(* Who was stopped still tells so when it has ended, unless it has kept its value. *)
let is_stopped m = (m.stopped && m.state <> Ended Value) || m.state = Ended Stopped

let add_hook m =
  let id = m.waiters in
  let m = { m with waiters = id + 1 } in
  if is_stopped m then { m with called = m.called @ [ id ] }
  else if m.state = Running then { m with hooked = m.hooked @ [ id ] }
  else m

let stop m =
  if m.state = Running then { m with stopped = true; called = m.called @ m.hooked; hooked = [] }
  else m

(* [None] where the operation is not allowed: only who has claimed may resolve. *)
let expected ~fails m op =
  match (op, m.state) with
  | Claim, Ready -> Some (true, { m with state = Running })
  | Run, Ready ->
    Some (true, end_with (if fails then Failure else Value) { m with runs = m.runs + 1 })
  | Stop, Ready -> Some (true, end_with Stopped m)
  | Stop, (Running | Ended _) -> Some (true, stop m)
  | Keep, Running -> Some (true, { m with kept = m.kept || m.stopped })
  | Keep_no_longer, Running -> Some (true, { m with kept = false })
  | (Keep | Keep_no_longer), (Ready | Ended _) -> Some (true, m)
  | On_done, _ -> Some (true, add_waiter m)
  | On_stop, Ready -> None
  | On_stop, (Running | Ended _) -> Some (true, add_hook m)
  | Resolve_value, Running ->
    Some (true, end_with (if m.stopped && not m.kept then Stopped else Value) m)
  | Resolve_failure, Running -> Some (true, end_with Failure m)
  | (Claim | Run), (Running | Ended _) -> Some (false, m)
  | (Resolve_value | Resolve_failure), (Ready | Ended _) -> None

type subject = {
  promise : int Promise.t;
  runs : int ref;
  unheard : int ref;
  called : int list ref;  (** newest first *)
}

let subject ~fails =
  let runs = ref 0 and unheard = ref 0 in
  let body () =
    incr runs;
    if fails then raise Failed else 42
  in
  let home = Promise.(home ~unheard:(fun _ _ -> incr unheard) Nobody) in
  let promise = Promise.make home body in
  { promise; runs; unheard; called = ref [] }

let failure exn = Outcome.{ exn; backtrace = Printexc.get_callstack 0 }

let failed () = Promise.raised (failure Failed)

(* What the operation told, [true] where it tells nothing but had an effect. *)
let perform { promise; called; runs; _ } waiter = function
  | Claim -> Promise.claim promise
  | Run ->
    let before = !runs in
    ignore (Promise.run promise);
    !runs > before
  | Stop ->
    Promise.stop promise;
    true
  | Keep ->
    Cancellation.keep (Promise.any promise);
    true
  | Keep_no_longer ->
    Cancellation.keep_no_longer (Promise.any promise);
    true
  | On_stop ->
    Promise.on_stop promise (Entries.entry (fun () -> called := waiter :: !called));
    true
  | On_done ->
    Promise.on_done promise (fun () -> called := waiter :: !called);
    true
  | Resolve_value ->
    ignore (Promise.resolve promise (Returned 42));
    true
  | Resolve_failure ->
    ignore (Promise.resolve promise (failed ()));
    true

let check_result state promise =
  let result () = Promise.result promise in
  match state with
  | Ended Value -> check_int "result" 42 (result ())
  | Ended Failure -> check_raises "result" Failed result
  | Ended Stopped -> check_raises "result" Promise.Cancelled result
  | Ready | Running -> check_invalid ~mentions:[ "not ended" ] "result" result

let check_state (m : model) { promise; runs; unheard; called } =
  check_bool "is_stopped" (is_stopped m) (Promise.is_stopped promise);
  check_bool "is_ready" (m.state = Ready) (Promise.is_ready promise);
  check_bool "is_done" (m.state <> Ready && m.state <> Running) (Promise.is_done promise);
  check_int "runs" m.runs !runs;
  check_int "unheard" m.unheard !unheard;
  check_equal "waiters called, in order" m.called (List.rev !called);
  check_result m.state promise

let rec follow ~fails m subject = function
  | [] -> ()
  | op :: rest -> (
    match expected ~fails m op with
    | None -> ()
    | Some (told, next) ->
      check_bool "told" told (perform subject m.waiters op);
      check_state next subject;
      follow ~fails next subject rest)

let every_sequence () =
  let ops =
    [ Claim; Run; Stop; Keep; Keep_no_longer; On_done; On_stop; Resolve_value; Resolve_failure ]
  in
  let run ~fails ops =
    let subject = subject ~fails in
    check_state fresh subject;
    follow ~fails fresh subject ops
  in
  List.iter (fun fails -> each_word ops ~length:6 (run ~fails)) [ false; true ]

let heard_when_asked () =
  let seen = ref None in
  let unheard _ raised = seen := Some raised in
  let promise = Promise.(make (home ~unheard Nobody)) (fun () -> raise Failed) in
  ignore (Promise.run promise);
  let raised = Option.get !seen in
  check_bool "before" false (Atomic.get raised.Promise.heard = Heard);
  ignore (outcome (fun () -> Promise.result promise));
  check_bool "after" true (Atomic.get raised.heard = Heard)

(* {2 Races} *)

type race = {
  task : int Promise.t;
  ran : int Atomic.t;
  won : int Atomic.t;  (** claims that succeeded *)
  calls : int Atomic.t array;
}

type side = { name : string; waits : bool; act : race -> int -> unit }

let run = { name = "run"; waits = false; act = (fun { task; _ } _ -> ignore (Promise.run task)) }

let claim =
  let act { task; won; _ } _ =
    if Promise.claim task then (
      Atomic.incr won;
      ignore (Promise.resolve task (Returned 42)))
  in
  { name = "claim"; waits = false; act }

let stop = { name = "stop"; waits = false; act = (fun { task; _ } _ -> Promise.stop task) }
let waiters = 3

(* [side] is 0 or 1: the waiters of each have counters of their own. *)
let await { task; calls; _ } side =
  for i = 0 to waiters - 1 do
    Promise.on_done task (fun () -> Atomic.incr calls.((side * waiters) + i))
  done

let wait = { name = "wait"; waits = true; act = await }

let wait_and_stop =
  {
    name = "wait, stop";
    waits = true;
    act =
      (fun r i ->
        await r i;
        stop.act r i);
  }

(* Each ends the task, if the other has not. *)
let sides = [ run; claim; stop; wait_and_stop ]

let check_ended { task; ran; won; calls } =
  check_bool "done" true (Promise.is_done task);
  let stopped = match Promise.result task with _ -> false | exception Promise.Cancelled -> true in
  let begun = Atomic.get ran + Atomic.get won in
  check_bool "ran or claimed once, or stopped" true (begun = 1 || (begun = 0 && stopped));
  each_once "waiters" calls

let race_of left right =
  let make _ =
    let ran = Atomic.make 0 in
    let task =
      Promise.(make nowhere) (fun () ->
          Atomic.incr ran;
          42)
    in
    let state = { task; ran; won = Atomic.make 0; calls = counters (2 * waiters) } in
    let act side i race =
      side.act race i;
      if not side.waits then await race i
    in
    { state; left = act left 0; right = act right 1 }
  in
  let check () = race ~seconds:0.15 ~make ~verdict:check_ended () in
  case (Printf.sprintf "%s against %s" left.name right.name) check

(* {2 An exception that strikes at each allocation} *)

type Promise.owner += Mine

let noted_though_struck () =
  let told = ref 0 in
  Uncaught.set_handler (fun _ _ -> incr told);
  let rec at n =
    let home = Promise.home ~unheard:(Uncaught.note Mine) Mine in
    let task = Promise.make home (fun () -> raise_notrace Failed) in
    let run () = try ignore (Promise.run task) with Exit -> () in
    let happened = at_allocation n (fun () -> raise_notrace Exit) run in
    told := 0;
    Uncaught.flush ~owner:Mine ();
    check_int (Printf.sprintf "allocation %d" n) 1 (!told + Bool.to_int (Promise.is_ready task));
    if happened then at (n + 1)
  in
  at 1

let races = List.concat_map (fun left -> List.map (race_of left) (wait :: sides)) sides

let () =
  Alcotest.run "promise"
    [
      ( "states",
        [
          case "every sequence of 6 operations" every_sequence;
          case "a failure is heard when its result is asked for" heard_when_asked;
          case "a failure is told, wherever an exception strikes" noted_though_struck;
        ] );
      ("races", races);
    ]
