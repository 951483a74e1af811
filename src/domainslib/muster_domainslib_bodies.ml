(* Loop bodies that may wait for one another.

   Domainslib runs a loop as a set of tasks, its chunks: a body that waits, for a promise or a
   channel, holds up its own chunk and no other. Muster decides on the go how to cut a range, so
   any chunks may come to lie in one stretch, which one worker runs. Hence a group of at most a
   chunk's length, one of whose bodies waits, is taken out of its stretch: its continuation
   becomes a task by itself, and the stretch goes on behind it.

   It takes along who it is (Strand), and the locks that it holds. So whatever is swept is a strand of
   its own: neither the caller nor what is swept behind a group apart is taken for that group.

   Parties: the loop's caller, the workers that run stretches, and the groups apart, each
   with whoever resumes it. [unfinished] counts the groups apart, and 1 for the range. Who takes it
   to 0 ends [all_done], for which the caller waits after the range has been swept. The caller's
   own decrement comes after every increment: stretches are swept before it.

   At rest no body of the loop runs, and its failure is the leftmost one. *)

open Muster_core
open Muster_loop

type body =
  | One of (int -> unit)  (** called in a loop here, which is faster where groups are short *)
  | Row of (int -> int -> unit)  (** calls those of a group, from one index to another *)

type t = {
  body : body;
  group : int;  (** bodies that wait together *)
  stopped : int -> bool;  (** whether this body and those right of it are needless *)
  failures : Outcome.failure Leftmost.t;
  unfinished : int Atomic.t;
  all_done : unit Promise.t;
}

(* Of a range that is remembered as short. It is asked once, behind index [upto], whether the stretch goes on: a
   stretch of its own for the first indices would take a second fiber, some 40 ns. *)
type trial = { upto : int; goes_on : unit -> bool }

let no_trial = { upto = max_int; goes_on = (fun () -> true) }

(* A part of the range, run by one worker, and the group that it is at. *)
type stretch = {
  mutable first : int;
  mutable last : int;
  mutable apart : bool;  (** that group is all that is left of it *)
  mutable trial : trial;
}

let create ~chunk ~is_over body =
  let failures = Leftmost.create () in
  {
    body;
    group = chunk;
    stopped = (fun i -> is_over () || Leftmost.stops failures i);
    failures;
    unfinished = Atomic.make 1;
    all_done = Promise.(make nowhere ignore);
  }

let finish_one t =
  let last = Atomic.fetch_and_add t.unfinished (-1) = 1 in
  if last then ignore (Promise.run t.all_done)

(* Few indices, by Loop's bounds, so nothing overflows. *)
let rec run_groups t stretch lo hi =
  let last = if hi - lo < t.group then hi else lo + t.group - 1 in
  let last = Int.min last stretch.trial.upto in
  stretch.first <- lo;
  stretch.last <- last;
  (match t.body with
  | One body ->
    for i = lo to last do
      body i
    done
  | Row bodies -> bodies lo last);
  if last < hi && not stretch.apart then
    if last < stretch.trial.upto then run_groups t stretch (last + 1) hi
    else if stretch.trial.goes_on () then begin
      stretch.trial <- no_trial;
      run_groups t stretch (last + 1) hi
    end

(* Groups do not overlap, so the leftmost one that fails has the leftmost failure. *)
let run_stretch t stretch lo hi =
  (try run_groups t stretch lo hi
   with exn -> Leftmost.note t.failures stretch.first (Outcome.caught exn));
  if stretch.apart then finish_one t

(* Before it can be resumed: afterwards the stretch is its alone. *)
let set_apart t stretch =
  stretch.apart <- true;
  ignore (Atomic.fetch_and_add t.unfinished 1)

(* [lo] to [hi], without those that are needless. *)
let rec sweep ?(trial = no_trial) t lo hi =
  let stretch = { first = lo; last = hi; apart = false; trial } in
  let put_back = Context.keep () in
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Run.Suspend { host; register; _ } ->
      Some
        (fun (k : (a, unit) Effect.Deep.continuation) ->
          let { apart = was_apart; last; trial; _ } = stretch in
          if not was_apart then set_apart t stretch;
          Run.suspend host register k;
          if not was_apart then begin
            put_back ();
            if last < hi && not (t.stopped (last + 1)) then
              if last < trial.upto then sweep ~trial t (last + 1) hi
              else if trial.goes_on () then sweep t (last + 1) hi
          end)
    | _ -> None
  in
  let number = Strand.another () in
  match Compat.match_with (run_stretch t stretch lo) hi { retc = Fun.id; exnc = raise; effc } with
  | () -> Strand.be number
  | exception exn ->
    Strand.be number;
    raise exn

(* Nothing more of the range will be swept. *)
let finish t =
  let apart = Atomic.get t.unfinished > 1 in
  finish_one t;
  if apart then Fork.wait_done t.all_done

let job t ~code ~grain =
  let run lo hi = sweep t lo hi in
  Loop.job ~run ~stopped:t.stopped ~fail:(Leftmost.note t.failures) ~code ~grain

(* [sweep_all] sweeps the range. What a body raised comes before a cancellation that was told between them. *)
let run t sweep_all =
  Context.raising
    (fun () -> Leftmost.get t.failures)
    (fun () -> Outcome.finally finish t (fun () -> sweep_all t))
