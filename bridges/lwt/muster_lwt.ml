(* All that goes to the main loop waits in one list, whose newest is first. Any thread adds to it,
   and then notifies the loop, by the one way that Lwt has for other threads. The loop takes the
   whole list at each notification. Those that come while no loop runs lie in Lwt's pipe, and the
   next loop finds them. *)

module Promise = Muster.Promise
module Task = Muster.Task
module Core = Muster_core

let requests : (unit -> unit) list Atomic.t = Atomic.make []
let serve () = List.iter (fun request -> request ()) (List.rev (Atomic.exchange requests []))

(* Made as the program starts, by one thread: Lwt has no lock for it. *)
let notification = Lwt_unix.make_notification serve

let rec post request =
  let seen = Atomic.get requests in
  if Atomic.compare_and_set requests seen (request :: seen) then
    Lwt_unix.send_notification notification
  else post request

(* Ctrl-C that strikes work for which nobody waits any more comes out of the loop, in its next turn:
   in this one Lwt has other notifications in hand. *)
let raise_in_loop exn =
  let hook = ref None in
  let raise_once () =
    Option.iter Lwt_main.Enter_iter_hooks.remove !hook;
    raise exn
  in
  hook := Some (Lwt_main.Enter_iter_hooks.add_first raise_once)

(* The thread that runs the main loop, or ran it last. *)
let loops_thread = Atomic.make 0
let note_thread () = Atomic.set loops_thread (Core.Machine.thread_id ())
let _ = Lwt_main.Enter_iter_hooks.add_first note_thread

(* {2 From the loop} *)

let result f =
  match f () with
  | v -> Ok v
  | exception Task.Cancelled -> Error Lwt.Canceled
  | exception exn -> Error exn

(* To wake a promise that was cancelled does nothing. *)
let promise_of f ~cancel =
  let promise, resolver = Lwt.task () in
  let tell = function
    | Error Sys.Break when not (Lwt.is_sleeping promise) -> raise_in_loop Sys.Break
    | result -> Lwt.wakeup_later_result resolver result
  in
  let deliver result = post (fun () -> tell result) in
  let task = Task.async (fun () -> deliver (result f)) in
  Lwt.on_cancel promise (fun () -> cancel task);
  promise

let run f = promise_of f ~cancel:Task.cancel
let await t = promise_of (fun () -> Task.await t) ~cancel:(fun _ -> Task.cancel t)

(* {2 To the loop} *)

(* A fiber of another scheduler that runs the main loop, too, is suspended. *)
let would_stop_the_loop () =
  Atomic.get loops_thread = Core.Machine.thread_id ()
  && Core.Place.owned_place () = None
  && not (Core.Fiber.is_elsewhere ())

let on_loop f =
  if would_stop_the_loop () then
    invalid_arg "Muster_lwt.on_loop: called in the main loop, which it would wait for";
  Task.check ();
  let f = Core.Fiber.inherit_here f in
  let answer, resolver = Promise.create () in
  let is_wanted = Atomic.make true and promise = ref Lwt.return_unit in
  let start () =
    if Atomic.get is_wanted then begin
      let it = Lwt.apply f () in
      promise := Lwt.map ignore it;
      let tell = function
        | Error Sys.Break when not (Atomic.get is_wanted) -> raise_in_loop Sys.Break
        | result -> Promise.resolve resolver result
      in
      Lwt.on_any it (fun v -> tell (Ok v)) (fun exn -> tell (Error exn))
    end
  and withdraw () = Lwt.cancel !promise in
  post start;
  match Task.await answer with
  | Ok v -> v
  | Error exn -> raise exn
  | exception exn ->
    let backtrace = Printexc.get_raw_backtrace () in
    Atomic.set is_wanted false;
    post withdraw;
    Printexc.raise_with_backtrace exn backtrace
