(* Failures of tasks that nobody has awaited yet. One is reported when it is certain that
   nobody will: its promise was collected, its pool closed, or the program ends.

   A canary in the promise tells that it is gone. Weak pointers and [Gc.finalise_last] did not
   serve: in OCaml 5.4.1 the lists that the runtime keeps of either are corrupt once domains that
   used them have ended (crashes in caml_orphan_ephemerons and in generic_final_update). *)

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

(* The newest first. One that was heard stays so, and who was seen once leads to all that are older: so anybody
   may unlink those at any time, and whoever walks along meets each that is unheard. Only [pending] itself is
   written to by others, who put new ones in front. *)
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

(* A handler that raises must not take the pool, or the collector, down with it. But Ctrl-C is meant for the
   program: who is interrupted here passes it on. *)
let tell failure =
  try call_handler failure with Sys.Break as exn -> raise exn | exn -> complain exn

(* For a function of the user's that runs on whoever's stack. *)
let protect f = try f () with Sys.Break as exn -> raise exn | exn -> tell (Outcome.caught exn)

(* The threads that may be in the midst of a report. One is here before the failure is marked as heard: so who ends the program
   either reports it, or finds here who does. *)
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

(* Who ends the program, or a pool, waits for the others. It may do so within a handler, so it does not wait for its own report;
   and two may wait for each other, or a handler for whoever waits: hence the limit. *)
let longest_wait_ms = 1000

let rec await_reporters ms =
  let me = Machine.thread_id () in
  if ms > 0 && List.exists (fun other -> other <> me) (Atomic.get reporters) then begin
    ignore Machine.Sleeper.(sleep (create ()) 1);
    await_reporters (ms - 1)
  end

let is_lost u = Machine.Canary.is_dead u.promise

(* The oldest first. *)
let report_all concerns =
  List.iter report (fold (fun rest u -> if concerns u then u :: rest else rest) [] pending);
  unlink_heard pending

(* Workers come by whenever they find nothing to do. Where there are many failures, one of them at a time
   looks through these, for a twentieth of the time. *)
let few = 64
let not_before = Atomic.make 0
let second = 1_000_000_000

let rec are_more_than n cell =
  match Atomic.get cell with None -> false | Some u -> n = 0 || are_more_than (n - 1) u.older

let collect () =
  if not (are_more_than few pending) then (
    if Option.is_some (Atomic.get pending) then report_all is_lost)
  else begin
    let began = Machine.now () and due = Atomic.get not_before in
    if began >= due && Atomic.compare_and_set not_before due (began + second) then begin
      report_all is_lost;
      let ended = Machine.now () in
      Atomic.set not_before (ended + (20 * (ended - began)))
    end
  end

(* So long after a failure the last worker of its pool stays, and comes by at each end of its patience: nobody else
   would see that a promise was collected where the program goes on without the pool. One of all pools will do, that of
   the last failure. *)
type watch = { by : Promise.owner; until : int }

let watched = Atomic.make { by = Promise.Nobody; until = 0 }

let rec some_unheard n cell =
  match Atomic.get cell with
  | Some u -> unheard u || (n > 0 && some_unheard (n - 1) u.older)
  | None -> false

let is_watched_by owner =
  some_unheard few pending
  &&
  let { by; until } = Atomic.get watched in
  by == owner && Machine.now () < until

let rec put_in_front failure heard owner promise =
  let older = Atomic.get pending in
  let u = { failure; heard; owner; promise; older = Atomic.make older } in
  if not (Atomic.compare_and_set pending older (Some u)) then
    put_in_front failure heard owner promise

(* A task that its awaiter runs itself is noted as well, and heard at once. Where no worker ever has nothing to do, those would
   stay for ever: so who has noted as many as there were left the last time, and some more, looks through all. *)
let noted = Atomic.make 0
let most = Atomic.make few

(* When the sweep began that goes on, or 0: handlers may fail tasks in turn. One that was struck is over some time later. *)
let sweeps = Atomic.make 0

let sweep () =
  report_all is_lost;
  Atomic.set most (few + fold (fun n _ -> n + 1) 0 pending);
  Atomic.set noted 0;
  Atomic.set sweeps 0

let sweep_if_many () =
  if Atomic.fetch_and_add noted 1 >= Atomic.get most then
    let before = Atomic.get sweeps and now = Machine.now () in
    if now - before > 10 * second && Atomic.compare_and_set sweeps before now then sweep ()

(* Once for each, whoever goes without it. *)
let note owner _ ({ failure; heard; _ } as raised : Promise.raised) =
  let canary, promise = Machine.Canary.create () in
  if Atomic.compare_and_set heard Promise.Unheard Noted then begin
    raised.token <- Token canary;
    Atomic.set watched { by = owner; until = Machine.now () + (10 * second) };
    put_in_front failure heard owner promise;
    sweep_if_many ()
  end

let flush ?owner () =
  report_all (fun u -> match owner with None -> true | Some owner -> u.owner == owner);
  await_reporters longest_wait_ms

let () = at_exit (fun () -> flush ())
