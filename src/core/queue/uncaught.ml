(* Failures of tasks that nobody has awaited yet. One is reported when it is certain that nobody
   will: its promise was collected, its pool closed, or the program ends.

   A promise that fails so gets a canary, and the collector tells the numbers of those that died.
   Weak pointers and [Gc.finalise_last] did not serve: in OCaml 5.4.1 the lists that the runtime
   keeps of either are corrupt once domains that used them have ended (crashes in
   caml_orphan_ephemerons and in generic_final_update).

   Shared are [handler], set by the program; [known], which any thread changes by compare-and-set of
   the whole; and a failure's [teller], changed from 0 and back by the thread that reports it. *)

module Numbers = Map.Make (Int)

type t = {
  failure : Outcome.failure;
  heard : Promise.heard Atomic.t;
  owner : Promise.owner;  (** whose pool's *)
  teller : int Atomic.t;  (** the thread that may be in the midst of its report; 0: none *)
}

type known = {
  pending : t Numbers.t;  (** by the numbers of their promises' canaries *)
  lost : t list;  (** the promises are gone *)
}

let known = Atomic.make { pending = Numbers.empty; lost = [] }

let rec change f =
  let old = Atomic.get known in
  if not (Atomic.compare_and_set known old (f old)) then change f

let is_heard u = Atomic.get u.heard == Promise.Heard
let is_over u = is_heard u && Atomic.get u.teller = 0

(* {2 Reports} *)

let say what exn backtrace =
  Printf.eprintf "Muster: %s raised %s\n%s%!" what (Printexc.to_string exn) backtrace

let print what exn backtrace = say what exn (Printexc.raw_backtrace_to_string backtrace)
let handler = Atomic.make print
let set_handler f = Atomic.set handler (fun _ -> f)
let complain what exn = try say what exn "" with Sys_error _ -> ()
let complain_of_handler = complain "the handler of uncaught exceptions"

(* A handler that raises must not take the pool down with it. But Ctrl-C is meant for the program:
   a thread that it interrupts here passes it on. *)
let tell what { Outcome.exn; backtrace } =
  try (Atomic.get handler) what exn backtrace with
  | Sys.Break as exn -> raise exn
  | exn -> complain_of_handler exn

let protect what f =
  try f () with Sys.Break as exn -> raise exn | exn -> tell what (Outcome.caught exn)

(* The thread is the teller before it marks the failure as heard: so a thread that ends the program
   either reports the failure itself, or finds the other one here. *)
let report u =
  let tell_once () =
    if Atomic.exchange u.heard Promise.Heard != Heard then
      tell "a task that nobody awaits" u.failure
  in
  let no_longer () = Atomic.set u.teller 0 in
  if (not (is_heard u)) && Atomic.compare_and_set u.teller 0 (Machine.thread_id ()) then
    Outcome.finally no_longer () tell_once ()

(* The oldest first. *)
let all () =
  let { pending; lost } = Atomic.get known in
  List.rev_append lost (List.map snd (Numbers.bindings pending))

(* A thread that ends the program, or a pool, waits for the others. It may do so within a handler,
   so it does not wait for its own report. Two threads may wait for each other, or a handler for
   the thread that waits: hence the limit. *)
let longest_wait_ms = 1000

let rec await_tellers failures ms =
  let me = Machine.thread_id () in
  let is_being_told u = match Atomic.get u.teller with 0 -> false | teller -> teller <> me in
  if ms > 0 && List.exists is_being_told failures then begin
    Machine.sleep_ms 1;
    await_tellers failures (ms - 1)
  end

let flush ?owner () =
  let concerns u = match owner with None -> true | Some owner -> u.owner == owner in
  let failures = List.filter concerns (all ()) in
  List.iter report failures;
  await_tellers failures longest_wait_ms

let () = at_exit (fun () -> flush ())

(* {2 Deaths} *)

let move_to_lost number ({ pending; lost } as all) =
  match Numbers.find_opt number pending with
  | Some u when is_over u -> { all with pending = Numbers.remove number pending }
  | Some u -> { pending = Numbers.remove number pending; lost = u :: lost }
  | None -> all

(* This may be called again, as [put] and [note_once] may: no asynchronous exception loses a
   failure. Most numbers are not there any more ([without_heard]). *)
let take_out number () =
  if Numbers.mem number (Atomic.get known).pending then change (move_to_lost number)

let rec bury () =
  let number = Machine.Canary.next_death () in
  if number >= 0 then begin
    Outcome.firmly take_out number ();
    bury ()
  end

let report_lost () =
  match (Atomic.get known).lost with
  | [] -> ()
  | lost ->
    List.iter report lost;
    change (fun all -> { all with lost = List.filter (fun u -> not (is_over u)) all.lost })

let collect () =
  let { pending; lost } = Atomic.get known in
  if not (Numbers.is_empty pending && lost = []) then begin
    bury ();
    report_lost ()
  end

let numbers = Atomic.make 0

(* Many a task is run by its awaiter, which hears of the failure at once. *)
let rec without_heard pending =
  match Numbers.max_binding_opt pending with
  | Some (number, u) when is_over u -> without_heard (Numbers.remove number pending)
  | _ -> pending

let put number u =
  change (fun all -> { all with pending = Numbers.add number u (without_heard all.pending) })

(* Once for each task, though several threads may find that nobody waits for it. *)
let note_once owner ({ failure; heard; _ } as raised : Promise.raised) =
  let number = Atomic.fetch_and_add numbers 1 in
  let canary = Some (Machine.Canary.create number) in
  let u = { failure; heard; owner; teller = Atomic.make 0 } in
  (* Unbroken until [firmly]: called again, this would find the failure noted. *)
  if Atomic.compare_and_set heard Promise.Unheard Noted then begin
    raised.canary <- canary;
    Outcome.firmly put number u;
    (* The canary lives until now: nobody looks for its number before. *)
    ignore (Sys.opaque_identity canary)
  end

(* Nobody may come for the outcome of a cancelled task. But Ctrl-C, which struck it, is for the
   program: it is raised as if it had struck just after the task's end.

   A pool of one worker, which never has nothing to do, may fail and await any number of tasks. *)
let note owner _ ({ failure; heard; after_stop; _ } as raised : Promise.raised) =
  if after_stop && failure.exn == Sys.Break && Atomic.compare_and_set heard Unheard Heard then
    Outcome.raise failure;
  Outcome.firmly note_once owner raised;
  bury ()
