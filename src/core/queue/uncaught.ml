(* Failures of tasks that nobody has awaited yet. One is reported when it is certain that
   nobody will: its promise was collected, its pool closed, or the program ends.

   A canary in the promise tells that it is gone. Weak pointers and [Gc.finalise_last] did not
   serve: in OCaml 5.4.1 the lists that the runtime keeps of either are corrupt once domains that
   used them have ended (crashes in caml_orphan_ephemerons and in generic_final_update).

   Shared are [handler], set by the program; [pending], written by threads that note failures
   and by those that unlink heard ones; [reporters], each thread's own entries; [next_sweep]. *)

type t = {
  failure : Outcome.failure;
  heard : Promise.heard Atomic.t;
  owner : Promise.owner;  (** whose pool's *)
  promise : Machine.Canary.watch;
  older : cell;
}

and cell = t option Atomic.t

let print exn backtrace =
  Printf.eprintf "Muster: a task that nobody awaits raised %s\n%s%!" (Printexc.to_string exn)
    (Printexc.raw_backtrace_to_string backtrace)

let handler = Atomic.make print
let set_handler f = Atomic.set handler f
let call_handler Outcome.{ exn; backtrace } = (Atomic.get handler) exn backtrace
let unheard u = Atomic.get u.heard != Promise.Heard

(* The newest first. A failure that was heard stays so, and an entry leads to all older ones for
   ever: so any thread may unlink heard entries at any time, and a thread that walks along meets
   each unheard one. Only [pending] itself is written to by others, which put new entries in
   front. *)
let pending : cell = Atomic.make None

let rec unlink_heard cell =
  match Atomic.get cell with
  | None -> ()
  | Some u when unheard u -> unlink_heard u.older
  | Some u as seen ->
    unlink_heard (if Atomic.compare_and_set cell seen (Atomic.get u.older) then cell else u.older)

let rec fold f acc cell =
  match Atomic.get cell with None -> acc | Some u -> fold f (f acc u) u.older

let complain exn =
  try
    Printf.eprintf "Muster: the handler of uncaught exceptions raised %s\n%!"
      (Printexc.to_string exn)
  with Sys_error _ -> ()

(* A handler that raises must not take the pool down with it. But Ctrl-C is meant for the program:
   a thread that it interrupts here passes it on. *)
let tell failure =
  try call_handler failure with Sys.Break as exn -> raise exn | exn -> complain exn

(* For a function of the user's that runs on some worker's stack. *)
let protect f = try f () with Sys.Break as exn -> raise exn | exn -> tell (Outcome.caught exn)

(* The threads that may be in the midst of a report. A thread is here before it marks the failure
   as heard: so a thread that ends the program either reports the failure itself, or finds the
   other one here. *)
let reporters : int list Atomic.t = Atomic.make []

let rec change f =
  let old = Atomic.get reporters in
  if not (Atomic.compare_and_set reporters old (f old)) then change f

let rec without me = function
  | [] -> []
  | other :: rest -> if other = me then rest else other :: without me rest

let report u =
  if unheard u then begin
    let me = Machine.thread_id () in
    let come = List.cons me and go = without me in
    let tell_once () = if Atomic.exchange u.heard Promise.Heard != Heard then tell u.failure in
    change come;
    Outcome.finally change go tell_once
  end

(* A thread that ends the program, or a pool, waits for the others. It may do so within a handler,
   so it does not wait for its own report. Two threads may wait for each other, or a handler for
   the thread that waits: hence the limit. *)
let longest_wait_ms = 1000

let rec await_reporters ms =
  let me = Machine.thread_id () in
  if ms > 0 && List.exists (fun other -> other <> me) (Atomic.get reporters) then begin
    Machine.sleep_ms 1;
    await_reporters (ms - 1)
  end

let is_lost u = Machine.Canary.is_dead u.promise

(* The oldest first. *)
let report_all concerns =
  List.iter report (fold (fun rest u -> if concerns u then u :: rest else rest) [] pending);
  unlink_heard pending

(* {2 When}

   Workers come by when they find nothing to do, when they look up, and when they leave. One at a
   time looks through the failures, for a twentieth of the time at most: there may be many whose
   promises are still there. [next_sweep] is when that may begin, in ns. A worker that wants to
   sweep moves it on by a second first, and back at its end; so a sweep that an asynchronous
   exception ends holds up the next by a second at most. *)
let next_sweep = Atomic.make 0
let second = 1_000_000_000
let rest = 20

let sweep () =
  let began = Machine.now () and due = Atomic.get next_sweep in
  if began >= due && Atomic.compare_and_set next_sweep due (began + second) then begin
    report_all is_lost;
    let ended = Machine.now () in
    Atomic.set next_sweep (ended + (rest * (ended - began)))
  end

let collect () = if Option.is_some (Atomic.get pending) then sweep ()

let rec first_unheard = function
  | Some u when not (unheard u) -> first_unheard (Atomic.get u.older)
  | found -> found

(* In the place of the newest ones that were heard meanwhile: a pool of one worker, which never
   has nothing to do, may fail and await any number of tasks. *)
let rec put_in_front failure heard owner promise =
  let seen = Atomic.get pending in
  let u = { failure; heard; owner; promise; older = Atomic.make (first_unheard seen) } in
  if not (Atomic.compare_and_set pending seen (Some u)) then
    put_in_front failure heard owner promise

(* A task that its awaiter runs itself is noted as well, and heard at once. Once for each task,
   though several threads may find that nobody waits for it. *)
let note owner _ ({ failure; heard; _ } as raised : Promise.raised) =
  let canary, promise = Machine.Canary.create () in
  if Atomic.compare_and_set heard Promise.Unheard Noted then begin
    raised.canary <- Some canary;
    put_in_front failure heard owner promise
  end

let flush ?owner () =
  report_all (fun u -> match owner with None -> true | Some owner -> u.owner == owner);
  await_reporters longest_wait_ms

let () = at_exit (fun () -> flush ())
