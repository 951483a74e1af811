(* Failures of tasks that nobody has awaited yet. One is reported when it is certain that
   nobody will: its promise was collected, its pool closed, or the program ends.

   A canary in the promise tells that it is gone. Weak pointers and [Gc.finalise_last] did not
   serve: in OCaml 5.4.1 the lists that the runtime keeps of either are corrupt once domains that
   used them have ended (crashes in caml_orphan_ephemerons and in generic_final_update). *)

type t = {
  failure : Outcome.failure;
  heard : bool Atomic.t;
  owner : Promise.owner;  (** whose pool's *)
  promise : Machine.Canary.watch;
}

let print exn backtrace =
  Printf.eprintf "Muster: a task that nobody awaits raised %s\n%s%!" (Printexc.to_string exn)
    (Printexc.raw_backtrace_to_string backtrace)

let handler = Atomic.make print
let set_handler f = Atomic.set handler f
let pending : t list Atomic.t = Atomic.make []
let unheard u = not (Atomic.get u.heard)

let rec update change =
  let old = Atomic.get pending in
  if not (Atomic.compare_and_set pending old (change old)) then update change

(* A handler that raises must not take the pool, or the collector, down with it. *)
let call_handler Outcome.{ exn; backtrace } =
  try (Atomic.get handler) exn backtrace
  with exn -> (
    try
      Printf.eprintf "Muster: the handler of uncaught exceptions raised %s\n%!"
        (Printexc.to_string exn)
    with Sys_error _ -> ())

(* For a function of the user's that runs on whoever's stack. *)
let protect f = try f () with exn -> call_handler (Outcome.caught exn)
let report u = if not (Atomic.exchange u.heard true) then call_handler u.failure
let is_lost u = Machine.Canary.is_dead u.promise

(* What was put in front of [seen]; none if that is there no more. *)
let rec since seen = function
  | failures when failures == seen -> Some []
  | [] -> None
  | u :: rest -> Option.map (List.cons u) (since seen rest)

(* To filter anew whenever another failure has come would take for ever where they come fast. *)
let rec keep seen kept =
  let now = Atomic.get pending in
  match since seen now with
  | Some newer -> if not (Atomic.compare_and_set pending now (newer @ kept)) then keep seen kept
  | None -> ()

let pass failures =
  List.iter (fun u -> if is_lost u then report u) failures;
  keep failures (List.filter unheard failures)

(* Workers come by whenever they find nothing to do. Where there are many failures, one of them at a time
   looks through these, for a twentieth of the time. *)
let few = 64
let not_before = Atomic.make 0
let second = 1_000_000_000

let collect () =
  match Atomic.get pending with
  | [] -> ()
  | failures when List.compare_length_with failures few < 0 -> pass failures
  | failures ->
    let began = Machine.now () and due = Atomic.get not_before in
    if began >= due && Atomic.compare_and_set not_before due (began + second) then begin
      pass failures;
      let ended = Machine.now () in
      Atomic.set not_before (ended + (20 * (ended - began)))
    end

let note owner _ (raised : Promise.raised) =
  let canary, promise = Machine.Canary.create () in
  raised.token <- Token canary;
  let { Promise.failure; heard; _ } = raised in
  update (fun others -> { failure; heard; owner; promise } :: others)

let flush ?owner () =
  let concerns u = match owner with None -> true | Some owner -> u.owner == owner in
  let lost = List.filter concerns (Atomic.get pending) in
  List.iter report (List.rev lost);
  update (List.filter unheard)

let () = at_exit (fun () -> flush ())
