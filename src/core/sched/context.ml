(* What the code that runs on a worker is a part of, as far as cancellation goes.

   [context] is the promise of the task that the code belongs to, or of the innermost scope
   around it; [own.home] what tasks get that this code starts. Both belong to the strand, not to
   the worker: whoever switches from one strand to another on a worker puts them back
   afterwards (Run.execute, Task.await), and a suspended strand takes them along
   (Run.suspend). A branch of [both], or of a loop, has those of the code that forked it.

   Cancelling is cooperative. [Promise.stop] marks a promise; then all workers are called up,
   so that a fork which looks at nothing but its worker's first word looks at the context too.
   At a checkpoint (a fork, an await, between chunks, [check]) the strand asks whether it is stopped, and its
   worker whether others are missing that could be there (Load). One flag, [attention], tells that neither can be.

   Code in a signal's handler or a finaliser belongs to the task that it interrupts: a cancellation that it is told of
   comes out of it as any asynchronous exception would.

   A strand is told once. From then on it is [uncancelled], so that the code which cleans up may
   fork and wait, until whoever switched puts the context back. Where [Cancelled] leaves a call
   that ran branches, one of them was told for all: [rethrow]. Another exception tells nobody: whoever
   handles it goes on to its next checkpoint. *)

open Place
open Publish

(* Where the strand that was on [w] is after user code: it may have been suspended. *)
let[@inline never] find_after w = Option.value (owned_place ()) ~default:w
let[@inline] place_after w = if all_shown () then current () else find_after w

(* The calling thread's, if it has one. *)
let[@inline] place () = if all_shown () then current () else find_after (current ())

(* Whether that is where the strand still is: mostly, and quicker to tell than to look where it is. *)
let[@inline] is_still_at w = Compat.shows here w && all_shown ()
let note_stops () = attend stops true

let here () = owned_place ()

(* What the running code is a part of, and what the tasks get that it starts. *)
let[@inline] context w = w.own.context
let[@inline] home w = w.own.home

let is_stopped w =
  Atomic.get attention <> 0
  &&
  let context = w.own.context in
  context != uncancelled && Promise.is_stopped context

let shield w =
  w.own.context <- uncancelled;
  w.own.home <- w.pool.home

let tell w =
  Promise.keep_no_longer w.own.context;
  shield w

let[@inline never] deliver w =
  tell w;
  raise Promise.Cancelled

let[@inline never] look_at w =
  let reasons = Atomic.get attention in
  if reasons land shortage <> 0 && w.index >= 0 then Load.look_if_short w;
  if reasons land stops <> 0 then begin
    w.own.checked <- true;
    ignore (Timer.look ());
    if is_stopped w then deliver w
  end

let[@inline] check_at w = if Atomic.get attention <> 0 then look_at w

let deliver_here () =
  Option.iter deliver (here ());
  raise Promise.Cancelled

let[@inline never] look_here () =
  let w = current () in
  if owned w then look_at w else Option.iter look_at (here ())

let[@inline] check_if_any () = if Atomic.get attention <> 0 then look_here ()

let check () =
  ignore (Timer.look ());
  Option.iter check_at (here ())

let get () = match here () with Some w -> context w | None -> uncancelled

let rethrow (failure : Outcome.failure) =
  if failure.exn == Promise.Cancelled then
    Option.iter (fun w -> if is_stopped w then tell w) (here ());
  Outcome.raise failure

let reraise failures = Option.iter rethrow (Leftmost.get failures)

(* {2 Switching} *)

type t = {
  context : Promise.any;
  home : Promise.home;
  number : int;  (** who it is (Strand) *)
  checked : bool;
}

let capture (w : Place.t) =
  let { context; home; strand; checked; _ } = w.own in
  { context; home; number = strand; checked }

let starting context home = { context; home; number = 0; checked = false }
let none w = starting uncancelled w.pool.home
let is_plain (w : Place.t) = w.own.context == uncancelled && w.own.home == w.pool.home

(* The next fork must not run in place without a look, if the clock may stop it, ... *)
let heed_clock w = if watches_clock w then set_quiet w 0

(* ... or if it was stopped meanwhile. For the strand that was there all the while: its number stays, which it
   may have drawn since. *)
let[@inline] restore_own w { context; home; checked; _ } =
  w.own.checked <- checked;
  if w.own.home != home then w.own.home <- home;
  if w.own.context != context then begin
    w.own.context <- context;
    if is_stopped w then call_up w else heed_clock w
  end

let restore w strand =
  w.own.strand <- strand.number;
  restore_own w strand

let keep_for restore =
  let strand = Option.map capture (here ()) in
  let put_back w = Option.iter (restore w) strand in
  fun () -> Option.iter put_back (here ())

(* The calling strand, to be put back by who goes on with it, on whatever worker. *)
let keep () = keep_for restore

(* The same for that strand itself, which is to be told again of a cancellation. *)
let to_tell_again () = keep_for restore_own

(* What a loop's body raised comes before a cancellation that was told between its calls, here or to another worker:
   that is told again, at the next checkpoint. [failure]: the leftmost. *)
let raising failure run =
  let tell_again = to_tell_again () in
  let raise_failure () =
    let raise_it (f : Outcome.failure) =
      if f.exn != Promise.Cancelled then tell_again ();
      rethrow f
    in
    Option.iter raise_it (failure ())
  in
  match run () with
  | v ->
    raise_failure ();
    v
  | exception (Promise.Cancelled as exn) ->
    let told = Outcome.caught exn in
    raise_failure ();
    Outcome.raise told

(* What code gets that begins as a part of what the caller is a part of. *)
let inherited w = if is_plain w then none w else capture w

(* Of one that may come from another pool: its tasks belong to this one. *)
let enter w { context; home; _ } =
  w.own.context <- context;
  w.own.home <-
    (if home.lineage == Promise.Alone then w.pool.home
     else if home.owner == w.pool.home.owner then home
     else
       Promise.home ~lineage:home.lineage ~unheard:home.unheard w.pool.home.owner);
  heed_clock w

(* A function that begins as a part of what the caller is a part of, on whatever worker. *)
let carry w f =
  if is_plain w then f
  else
    let mine = inherited w in
    fun x ->
      (match owned_place () with
      | Some w ->
        enter w mine;
        check_at w
      | None -> ());
      f x

(* {2 Stopping} *)

let call_all_up () = List.iter (fun pool -> Array.iter call_up (workers pool)) (Atomic.get open_pools)

(* The flag first: who finds it not set has to see the mark at its next look. *)
let stop p =
  note_stops ();
  Outcome.finally call_all_up () (fun () -> Promise.stop p)

let stop_each ps =
  note_stops ();
  Outcome.finally call_all_up () (fun () -> List.iter Promise.stop ps)

(* From now on whoever may be stopped by the clock looks at it at its forks (Publish.hush). *)
let expect_deadline () =
  note_stops ();
  call_all_up ()
