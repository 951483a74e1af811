(* Requests wait in a channel, which a daemon of the loop's switch empties. Where the switch ends,
   the daemon closes the channel and refuses what is left there. So each request is started or
   refused, once: a sender either comes before the closing, or finds the channel closed. *)

module Chan = Muster.Chan
module Promise = Muster.Promise
module Task = Muster.Task
module Cancel = Eio.Cancel
module Switch = Eio.Switch

exception Ended

type request = { start : Switch.t -> unit; refuse : unit -> unit }
type t = request Chan.t

let create = Chan.unbounded
let post loop request = try Chan.send loop request with Chan.Closed -> request.refuse ()

let close loop =
  Chan.close loop;
  let rec refuse_all () =
    match Chan.recv_opt loop with
    | None -> ()
    | Some request ->
      request.refuse ();
      refuse_all ()
  in
  refuse_all ()

(* A message may come at the same time as the cancellation: a cancelled switch starts nothing. *)
let rec serve_all loop sw =
  let { start; refuse } = Chan.recv loop in
  if Option.is_none (Switch.get_error sw) then start sw else refuse ();
  serve_all loop sw

(* A cancelled switch starts no daemon; of one that has finished Eio says so. *)
let serve loop ~sw =
  match Switch.get_error sw with
  | Some (Cancel.Cancelled _) -> close loop
  | Some _ | None ->
    Eio.Fiber.fork_daemon ~sw (fun () ->
        Fun.protect ~finally:(fun () -> close loop) (fun () -> serve_all loop sw))

(* {2 Both sides wait for each other} *)

exception Withdrawn

let is_withdrawal = function
  | Task.Cancelled | Withdrawn | Cancel.Cancelled Withdrawn -> true
  | _ -> false

(* The fiber of another loop; a task is told by its own hook. *)
let wait task ~cancel =
  try Task.await task
  with Cancel.Cancelled _ as exn when not (Task.is_done task) -> (
    let backtrace = Printexc.get_raw_backtrace () in
    cancel ();
    try Cancel.protect (fun () -> Task.await task)
    with it when is_withdrawal it -> Printexc.raise_with_backtrace exn backtrace)

let join task ~cancel =
  let wait () = Task.protect (fun () -> wait task ~cancel) in
  try Task.with_on_cancel cancel wait
  with exn when is_withdrawal exn ->
    let backtrace = Printexc.get_raw_backtrace () in
    Task.check ();
    Printexc.raise_with_backtrace exn backtrace

(* {2 A request with an answer}

   [state] belongs to the loop's domain. A withdrawal may come before the start. *)

type state = Waits | Runs of Cancel.t | Over

let start_fiber state resolver f sw =
  let run () =
    match
      Cancel.sub (fun context ->
          state := Runs context;
          f ())
    with
    | v ->
      state := Over;
      Promise.resolve resolver v
    | exception exn ->
      let backtrace = Printexc.get_raw_backtrace () in
      state := Over;
      Promise.fail ~backtrace resolver exn
  in
  if !state = Waits then Eio.Fiber.fork ~sw run

let withdraw state resolver _ =
  match !state with
  | Over -> ()
  | Runs context -> Cancel.cancel context Withdrawn
  | Waits ->
    state := Over;
    Promise.fail resolver Withdrawn

let run loop f =
  Task.check ();
  let answer, resolver = Promise.create () and state = ref Waits in
  let refuse () = ignore (Promise.try_fail resolver Ended) and f = Muster_core.Fiber.inherit_here f in
  post loop { start = start_fiber state resolver f; refuse };
  join answer ~cancel:(fun () -> post loop { start = withdraw state resolver; refuse = ignore })
