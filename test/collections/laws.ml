(* Random collections with bodies that are slow or raise, and laws: ours does what the stdlib's
   does, exceptions included. *)

open Harness

exception Boom of int

type case = {
  elements : int list;
  boom : int;  (** a body raises at elements that are this modulo [period] *)
  period : int;
  spin : int;  (** what a body does beside *)
}

(* So that also short collections are shared. *)
let spin n =
  for _ = 1 to n do
    ignore (Sys.opaque_identity n)
  done

let body c x =
  spin c.spin;
  if x mod c.period = c.boom then raise (Boom x)

let print c =
  let length = List.length c.elements in
  let first = List.filteri (fun i _ -> i < 50) c.elements in
  let some = String.concat "; " (List.map string_of_int first) in
  Printf.sprintf "%d elements [%s…], raising at %d mod %d, spin %d" length some c.boom c.period
    c.spin

let case_generator =
  let open QCheck.Gen in
  let* length = weighted [ (15, int_range 0 300); (1, int_range 5_000 50_000) ] in
  let* top = one_of [ 3; 50; 1_000_000 ] in
  let* elements = list_size (return length) (int_bound top) in
  let* period = one_of [ 7; 301; 99_991 ] in
  let* boom = weighted [ (2, return (-1)); (1, int_bound (period - 1)) ] in
  let+ spin = if length > 300 then return 10 else one_of [ 0; 0; 300; 2000 ] in
  { elements; boom; period; spin }

let any_case = QCheck.make ~print case_generator

type law = Law : string * (case -> 'a) * (case -> 'a) -> law

let holds (Law (name, ours, theirs)) _ c =
  let ours = outcome (fun () -> ours c) and theirs = outcome (fun () -> theirs c) in
  if Stdlib.compare ours theirs <> 0 then QCheck.Test.fail_reportf "%s differs" name else true

(* All laws on one case, so that each case is generated once. *)
let properties ?(count = 25) name laws =
  let all pool c = List.for_all (fun law -> holds law pool c) laws in
  List.map (fun domains -> property ~seconds:120 ~count ~domains name any_case all) [ 1; 2; 3; 8 ]

(* Words of the minor heap that a call takes. *)
let words f =
  let before = Gc.minor_words () in
  for _ = 1 to 1000 do
    ignore (Sys.opaque_identity (f ()))
  done;
  (Gc.minor_words () -. before) /. 1000.

let allocates_no_more what ours theirs =
  let ours = words ours and theirs = words theirs in
  if ours > theirs +. 0.1 then
    failf "%s allocates %.1f words, where the stdlib's allocates %.1f" what ours theirs

(* Runs [call meet], where [meet] returns when two domains have called it, or after 20 seconds. *)
let takes_two_domains what call =
  run_on 2 @@ fun () ->
  let first = Atomic.make (-1) and met = Atomic.make false in
  let give_up = Unix.gettimeofday () +. 20. in
  let rec meet () =
    let me = (Domain.self () :> int) in
    ignore (Atomic.compare_and_set first (-1) me);
    if Atomic.get first <> me then Atomic.set met true;
    if not (Atomic.get met || Unix.gettimeofday () > give_up) then begin
      Domain.cpu_relax ();
      meet ()
    end
  in
  call meet;
  check_bool (what ^ " runs on two domains") true (Atomic.get met)

(* Runs [call tick], which calls [tick] often, as a task that is cancelled after some calls, and
   waits until it has ended, which must be before [most] calls. *)
let ends_when_cancelled what ~most call =
  run_on 3 @@ fun () ->
  let calls = Atomic.make 0 in
  let tick () =
    Atomic.incr calls;
    spin 1000
  in
  let cancelled =
    Muster.Task.scope (fun scope ->
        let task = Muster.Task.fork scope (fun () -> call tick) in
        wait_until (fun () -> Atomic.get calls > 100);
        Muster.Task.cancel task;
        outcome (fun () -> Muster.Task.await task))
  in
  check_bool (what ^ " is cancelled") true (cancelled = Error Muster.Task.Cancelled);
  if Atomic.get calls >= most then failf "%s goes on to its end" what
