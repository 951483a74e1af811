(* A promise of the core that counts as running from the start, and that no task runs. A party ends
   it by one compare-and-set of the promise's own atomic (Promise.try_resolve): of several parties
   one succeeds, and it wakes all that wait. A cancellation is such a party. It marks the promise
   first, so that a value which comes before the second step is dropped. *)

type 'a t = 'a Promise.t

(* Of no pool: a failure that nobody awaits is told when the collector finds the promise
   unreachable, or at the end of the program. *)
let home = Promise.home ~unheard:(Uncaught.note Promise.Nobody) Promise.Nobody

let create () =
  let p = Promise.started home in
  let end_it () = ignore (Promise.try_resolve p (Promise.raised Promise.cancelled)) in
  Promise.on_stop p (Entries.entry end_it);
  (p, p)

let try_resolve p v = Promise.try_resolve p (Returned v)

let place_of_call = function
  | Some backtrace -> backtrace
  | None -> Printexc.get_callstack (if Printexc.backtrace_status () then 64 else 0)

let try_fail ?backtrace p exn =
  Promise.(try_resolve p (raised { exn; backtrace = place_of_call backtrace }))

(* One that was cancelled is nobody's mistake. *)
let once fn p succeeded =
  if not (succeeded || Promise.is_marked (Promise.state p)) then
    invalid_arg (Printf.sprintf "Muster.Promise.%s: the promise has been resolved already" fn)

let resolve p v = once "resolve" p (try_resolve p v)
let fail ?backtrace p exn = once "fail" p (try_fail ?backtrace p exn)
