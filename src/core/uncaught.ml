(* Failures of tasks that nobody has awaited yet. One is reported when it is certain that
   nobody will: its promise was collected, its pool closed, or the program ends.

   A weak pointer tells that the promise is gone, not [Gc.finalise_last]: that corrupts memory in
   OCaml 5.4.1 where several domains use it (malloc's assertions fail in generic_final_update). *)

type t = { raised : Promise.raised; pool : string; promise : Promise.any Weak.t }

let print exn backtrace =
  Printf.eprintf "Muster: a task that nobody awaits raised %s\n%s%!" (Printexc.to_string exn)
    (Printexc.raw_backtrace_to_string backtrace)

let handler = Atomic.make print
let set_handler f = Atomic.set handler f
let pending : t list Atomic.t = Atomic.make []
let unheard u = not (Atomic.get u.raised.heard)

let rec update change =
  let old = Atomic.get pending in
  if not (Atomic.compare_and_set pending old (change old)) then update change

(* A handler that raises must not take the pool, or the collector, down with it. *)
let call_handler Outcome.{ exn; backtrace } =
  try (Atomic.get handler) exn backtrace
  with exn ->
    Printf.eprintf "Muster: the handler of uncaught exceptions raised %s\n%!"
      (Printexc.to_string exn)

let report (raised : Promise.raised) =
  if not (Atomic.exchange raised.heard true) then call_handler raised.failure

let is_lost u = not (Weak.check u.promise 0)

let collect () =
  match Atomic.get pending with
  | [] -> ()
  | failures ->
    List.iter (fun u -> if is_lost u then report u.raised) failures;
    update (List.filter unheard)

let note ~pool any raised =
  let promise = Weak.create 1 in
  Weak.set promise 0 (Some any);
  update (fun others -> { raised; pool; promise } :: others)

let flush ?pool () =
  let concerns u = match pool with None -> true | Some name -> u.pool = name in
  let lost = List.filter concerns (Atomic.get pending) in
  List.iter (fun u -> report u.raised) (List.rev lost);
  update (List.filter unheard)

let () = at_exit (fun () -> flush ())
