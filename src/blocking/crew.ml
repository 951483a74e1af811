(* Parties: callers (any thread), the foreman (the thread that a domain begins with) and hands
   (systhreads of that domain). A thread that returns from a system call needs its domain's lock. On
   a worker's domain the worker has it, and gives it away only every 50 ms. In the crew's own domain
   all other threads wait, too.

   One atomic holds all but the jobs in hand, and every change is a compare-and-set of the whole:

   {v Away --caller--> Here --foreman--> Away v}

   - [waiting]: jobs that no hand has, newest first. The foreman starts a hand for each, so no job
     waits for another to end.
   - [idle]: hands that sleep. A caller takes one out, gives it its job, then wakes it.
   - [hands]: those that have started, or are about to, and have not taken themselves out.

   The caller that brings the first job starts the domain. A job goes to an idle hand, else to
   [waiting], and then the foreman is woken. A hand whose job has ended takes another from
   [waiting], or goes to [idle] and sleeps. After [patience_ms] it takes itself out, unless a caller
   was faster and brings it a job. The last hand to go wakes the foreman. If nothing waits he
   leaves, and the domain ends. No job is lost: it waits before the foreman is woken, wake-ups are
   kept (Sleeper), and he looks before he sleeps and before he leaves.

   A finaliser may raise in a hand or the foreman anywhere, except between a compare-and-set and the
   write after it, which is unbroken. Then the thread begins again, as its jobs stand
   outside its stack: the foreman's in [taken], a hand's in [job]. While a hand is [listed], only
   the caller that took it out of [idle] writes its [job]; otherwise only the hand itself does. A
   wake-up may find the job gone already, which costs a look.

   None of this is a lock, since a thread of this domain may lose its turn anywhere, for as long as
   another one computes. *)

module Sleeper = Machine.Sleeper

type job = unit -> unit

type hand = {
  sleeper : Sleeper.t;
  job : job Atomic.t;  (** [none], but when a caller brings one, or the hand takes one *)
  mutable listed : bool;  (** whether it has put itself into [idle]; its own *)
}

type state = Away | Here of { waiting : job list; idle : hand list; hands : int }

let state = Atomic.make Away
let none = ignore

(* How long an idle thread stays, like an idle worker's domain (Sleep.idle_ms). *)
let patience_ms = 150
let foreman = Sleeper.create ()

external stop_ticks : unit -> unit = "muster_stop_ticks"

(* {2 Hands} *)

let rec finish hand =
  match Atomic.get state with
  | Away -> assert false
  | Here ({ waiting = []; idle; _ } as crew) as seen ->
    if Atomic.compare_and_set state seen (Here { crew with idle = hand :: idle }) then
      hand.listed <- true
    else finish hand
  | Here ({ waiting = job :: waiting; _ } as crew) as seen ->
    if Atomic.compare_and_set state seen (Here { crew with waiting }) then Atomic.set hand.job job
    else finish hand

(* False if a caller has taken the hand out before: it brings a job. *)
let rec leave hand =
  match Atomic.get state with
  | Away -> assert false
  | Here { idle; _ } when not (List.memq hand idle) -> false
  | Here ({ idle; hands; _ } as crew) as seen ->
    let idle = List.filter (fun other -> other != hand) idle in
    if Atomic.compare_and_set state seen (Here { crew with idle; hands = hands - 1 }) then begin
      if hands = 1 then Sleeper.wake foreman;
      true
    end
    else leave hand

let run_job hand job =
  hand.listed <- false;
  Atomic.set hand.job none;
  job ()

(* Ends when the hand has taken itself out. Its fields tell its state. *)
let rec work hand =
  let job = Atomic.get hand.job in
  if job != none then (
    run_job hand job;
    work hand)
  else if not hand.listed then (
    finish hand;
    work hand)
  else if Sleeper.doze hand.sleeper patience_ms || not (leave hand) then work hand

let tell_of exn = Uncaught.protect "a finaliser or a signal's handler" (fun () -> raise exn)

let rec work_on hand =
  try work hand
  with exn ->
    (try tell_of exn with exn -> Worker.leave_stray Place.nobody.pool exn);
    work_on hand

(* {2 The foreman} *)

(* Jobs for which the foreman has yet to start hands; his own. *)
let taken : job list ref = ref []

let rec take_waiting () =
  match Atomic.get state with
  | Away | Here { waiting = []; _ } -> ()
  | Here { waiting; idle; hands } as seen ->
    let jobs = List.rev waiting and hands = hands + List.length waiting in
    if Atomic.compare_and_set state seen (Here { waiting = []; idle; hands }) then taken := jobs
    else take_waiting ()

let one_hand_less () =
  Place.change state (function
    | Away -> assert false
    | Here crew -> Here { crew with hands = crew.hands - 1 })

(* Where the machine has no further thread, or an exception comes out of that, the foreman does it
   himself; unless the thread has begun. *)
let start job rest =
  let call = Atomic.make true in
  let hand = { sleeper = Sleeper.create (); job = Atomic.make job; listed = false } in
  let begin_with () = if Atomic.exchange call false then work_on hand in
  taken := rest;
  match Thread.create begin_with () with
  | _ -> ()
  | exception _ when Atomic.exchange call false ->
    job ();
    one_hand_less ()

let may_leave () =
  match Atomic.get state with
  | Here { waiting = []; hands = 0; _ } as seen when not (Machine.domain_must_stay ()) ->
    Atomic.compare_and_set state seen Away
  | Away | Here _ -> false

(* No event tells when the last other thread of the domain has ended, say one that a job started. *)
let rest_ms () =
  match Atomic.get state with Here { hands = 0; _ } -> patience_ms | Away | Here _ -> -1

let rec lead () =
  if !taken = [] then take_waiting ();
  match !taken with
  | job :: rest ->
    start job rest;
    lead ()
  | [] ->
    if not (may_leave ()) then begin
      ignore (Sleeper.doze foreman (rest_ms ()));
      lead ()
    end

(* A job may run another scheduler, whose way of waiting is none of the others'. *)
let part_threads () = try Dla.each_thread ~self:Thread.self ~id:Thread.id with Failure _ -> ()

(* Hands inherit that signals are blocked. One may strike before. *)
let rec run_domain () =
  match
    Machine.block_signals ();
    part_threads ();
    lead ();
    stop_ticks ()
  with
  | () -> ()
  | exception _ -> run_domain ()

(* A job may end the program. *)
let begin_domain () =
  let ended = ref false in
  Domain.at_exit (fun () -> if not !ended then Atomic.set Place.exits true);
  run_domain ();
  ended := true

(* {2 Callers} *)

let run_beside job =
  try ignore (Thread.create job ()) with Sys_error _ | Failure _ | Out_of_memory -> job ()

(* The runtime has no domain to give: the jobs get threads of the caller's, slower to return. *)
let rec run_without_domain () =
  match Atomic.get state with
  | Away -> ()
  | Here { waiting; _ } as seen ->
    if Atomic.compare_and_set state seen Away then List.iter run_beside (List.rev waiting)
    else run_without_domain ()

(* [call] is for one of two: the domain, or its caller if an exception (an asynchronous one, say)
   came out of the spawn. A domain that comes too late goes home. *)
let start_domain call =
  try
    let domain = Machine.spawn (fun () -> if Atomic.exchange call false then begin_domain ()) in
    ignore (domain : unit Domain.t)
  with exn -> (
    if Atomic.exchange call false then run_without_domain ();
    match exn with Sys_error _ | Failure _ | Out_of_memory -> () | _ -> raise exn)

let rec run job =
  match Atomic.get state with
  | Away as seen ->
    let crew = Here { waiting = [ job ]; idle = []; hands = 0 } and call = Atomic.make true in
    if Atomic.compare_and_set state seen crew then start_domain call else run job
  | Here ({ idle = hand :: idle; _ } as crew) as seen ->
    if Atomic.compare_and_set state seen (Here { crew with idle }) then begin
      Atomic.set hand.job job;
      Sleeper.wake hand.sleeper
    end
    else run job
  | Here ({ waiting; idle = []; _ } as crew) as seen ->
    if Atomic.compare_and_set state seen (Here { crew with waiting = job :: waiting }) then
      Sleeper.wake foreman
    else run job
