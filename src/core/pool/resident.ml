(* A resident's life: how its domain starts, when it may leave, what it leaves behind.

      Life of a resident's place: [owner] 0 and a mailbox that is gone, nobody there. [hire] claims
   it by compare-and-set of [owner] to [coming], counts the resident, spawns its domain, which puts
   its own identity and opens the mailbox. To leave, it locks the mailbox while that is idle, so
   that no share is ever posted to nobody; then [owner] 0, and the count.

      No work is lost on one who leaves. Whoever publishes reads [residents] after it, and hires if
   there are too few; who leaves reads deques and inbox after taking itself off the count. One of
   the two sees the other. Tasks that lie in the leaver's deque are for callers who wait in the
   pool, and where there is none, for a new resident (Caller.leave has the other half). *)

module P = Place

let coming = -1

let nothing_left (pool : P.pool) =
  let is_empty (w : P.t) = Deque.is_empty w.deque in
  Inbox.is_empty pool.inbox && Array.for_all is_empty (P.workers pool)

let may_close (pool : P.pool) =
  Atomic.get pool.closing && Atomic.get pool.suspended = 0 && nothing_left pool

let leaves_at_once w = Load.is_over_budget w && not (Search.inbox_has_work w)

(* Of two who leave at the same time each may count on the other: [call_another] mends that. *)
let is_timekeeper (w : P.t) = Atomic.get w.pool.residents = 1 && Caller.keeps_time w.pool

(* Work that waits for residents in general must not be left to a dismissed one. *)
let may_leave (w : P.t) () =
  if Atomic.get w.pool.closing then may_close w.pool
  else (w.own.bored || leaves_at_once w) && not (is_timekeeper w || Machine.domain_must_stay ())

(* The thread takes signals only in here: elsewhere the exception of a handler would end the domain
   before it has taken its leave. Once struck, it leaves them to other threads. *)
let rec serve_pool ?(takes_signals = false) w =
  match
    if takes_signals then Machine.usual_signals ();
    Worker.work w ~on_top:false ~until:(may_leave w);
    Uncaught.collect ();
    Machine.block_signals ()
  with
  | () -> ()
  | exception exn ->
    Machine.block_signals ();
    Worker.stash w.pool exn;
    serve_pool w

let move_in (w : P.t) () =
  Deque.move_in w.deque;
  Mailbox.unlock w.mailbox

let serve (w : P.t) () =
  Run.wake_posters w.pool;
  Dla.within (fun () -> serve_pool ~takes_signals:true w)

(* Whether some caller is in the pool that does what is left while it waits. Those do not whose
   domain works for another thread (Search.stands_back), or who work in another pool. *)
let is_visited pool =
  let helps (v : P.t) =
    (not v.resident) && Atomic.get v.owner <> 0 && Atomic.get v.on_domain && not (Atomic.get v.away)
  in
  Array.exists helps (P.workers pool)

let note_leave (w : P.t) =
  let what = "a domain ended" in
  if w.own.bored then Load.decide ~pool:w.pool what "it had nothing to do for 150 ms"
  else if not (Atomic.get w.pool.closing) then
    Load.decide ~pool:w.pool what "there is no CPU for it"

(* An asynchronous exception may strike who hires while the domain begins. One compare-and-set from
   [Called] decides: the domain's, and it works, or that of who hires, and it goes home. *)
type hiring = Called | Began | Called_off

(* Work may have come after this one's last look, and its publisher may have counted on this one. *)
let call_another (pool : P.pool) =
  let waits_for_a_resident () =
    (Caller.something_is_left pool && not (is_visited pool))
    || (not (Inbox.is_empty pool.inbox))
    || Caller.keeps_time pool
  in
  if Atomic.get pool.residents = 0 && waits_for_a_resident () then Sleep.ask_for_one pool
  else if Atomic.get pool.promised > 0 && Sleep.a_task_waits pool then Sleep.wake_for_work pool

(* {2 Domains} *)

type joinable = {
  place : P.t;  (** where it works *)
  domain : unit Domain.t;
  told : bool Atomic.t;  (** what its end raised: several may join it, and it raises in each *)
}

(* Those that work, and those that have ended and that nobody has joined. *)
let domains : joinable list Atomic.t = Atomic.make []

let domains_of w = List.filter (fun { place; _ } -> place == w) (Atomic.get domains)
let forget joined = P.change domains (List.filter (fun it -> not (List.memq it joined)))

(* What a function of the program's raised at the domain's end ([Domain.at_exit]; Format has one,
   for output that cannot be written) is no matter of who joins it. *)
let join { domain; told; _ } =
  Uncaught.protect (fun () ->
      try Domain.join domain with exn when Atomic.exchange told true -> ignore exn)

let is_own { domain; _ } = Domain.get_id domain = Domain.self ()

(* The domains that were here before are joined at the end, when that costs nothing, and by one
   whose place is anybody's again: as long as it has it, others may wait for what it would do. (Not
   who hires joins them: it may be the same domain, about to end.) Whoever hired this one may not
   have noted it yet, and is not waited for either: a signal's handler may have come before the
   note, and wait for this worker. *)
let note_others w before =
  before := List.filter (fun joinable -> not (is_own joinable)) (domains_of w)

let join_others before () =
  List.iter join !before;
  forget !before

let rec join_all w =
  match domains_of w with
  | [] -> ()
  | all ->
    List.iter join all;
    forget all;
    join_all w

(* A caller that works on the mailbox wakes this one afterwards (Region). *)
let rec lock_mailbox (w : P.t) =
  if not (Mailbox.is_gone w.mailbox || Mailbox.lock w.mailbox) then begin
    Worker.pause w ~found:(fun () -> Mailbox.(is_idle w.mailbox || is_posted w.mailbox));
    Run.serve w;
    lock_mailbox w
  end

let prepare_to_leave (w : P.t) () =
  lock_mailbox w;
  note_leave w;
  Deque.sweep w.deque;
  P.publish_counts w

(* Once: nothing here allocates or polls. Thread identities are used again, so the place is let go
   before the domain ends. *)
let let_go (w : P.t) =
  ignore (Atomic.fetch_and_add w.pool.ended 1);
  P.set_owner w 0;
  ignore (Atomic.fetch_and_add w.pool.residents (-1))

(* Each caller that could take a task that lies here may wait for it unseen. *)
let tell_of_leave (w : P.t) () =
  Run.wake_posters w.pool;
  call_another w.pool;
  if not (Deque.is_empty w.deque) then Sleep.watch ();
  Publish.announce_leave w.pool

(* No signal comes here, but what a finaliser or an alarm of the collector's raises in this domain
   may: it is passed on, and the step taken again. Else the pool would count on a resident that is
   gone. *)
let surely pool step x y =
  match step x y with
  | () -> ()
  | exception exn ->
    Worker.stash pool exn;
    step x y

let take_leave (w : P.t) =
  surely w.pool prepare_to_leave w ();
  let_go w;
  surely w.pool tell_of_leave w ()

(* [before] is made by who hires: between two steps nothing is allocated. *)
let work_as_resident (w : P.t) ~before =
  Sleep.arrive w;
  Cpu_wait.arrive w.own.cpu_wait (Machine.thread_id ());
  P.set_owner w (Machine.thread_id ());
  Compat.set P.here w;
  surely w.pool move_in w ();
  surely w.pool serve w ();
  surely w.pool note_others w before;
  take_leave w;
  surely w.pool join_others before ();
  (* Last: to leave may be to serve a share, in a fiber. *)
  Machine.free_stacks ~keep:0

let resident (w : P.t) ~before hiring () =
  if Atomic.compare_and_set hiring Called Began then work_as_resident w ~before
  else ignore (Atomic.fetch_and_add w.pool.ended 1)

let hire_at (pool : P.pool) (w : P.t) hiring =
  (* In a pool of one, too, others have to find what it leaves in its deque. *)
  P.extend pool (w.index + 1);
  (* While the caller takes no signals: one that came during the start would strike before the note.
     *)
  let noted domain = P.change domains (List.cons { place = w; domain; told = Atomic.make false }) in
  ignore (Machine.spawn ~noted (resident w ~before:(ref []) hiring))

type hired =
  | Hired
  | Taken  (** somebody is there, comes or leaves *)
  | Refused  (** the runtime gives no domain (it has 128), or the system no thread *)

let spawn_at (pool : P.pool) (w : P.t) hiring =
  ignore (Atomic.fetch_and_add pool.residents 1);
  match hire_at pool w hiring with
  | () -> Hired
  | exception exn -> (
    if Atomic.compare_and_set hiring Called Called_off then begin
      P.set_owner w 0;
      ignore (Atomic.fetch_and_add pool.residents (-1))
    end;
    match exn with Failure _ | Sys_error _ | Out_of_memory -> Refused | _ -> raise exn)

(* An asynchronous exception leaves no place claimed: from the claim to the handler nothing
   allocates or polls (as [Atomic.incr] would). *)
let spawn pool (w : P.t) =
  let hiring = Atomic.make Called in
  if P.claim w coming then spawn_at pool w hiring
  else Taken

let hire_first pool ~upto =
  let rec from i =
    if i > upto then Taken
    else match spawn pool (P.workers pool).(i) with Taken -> from (i + 1) | outcome -> outcome
  in
  from 1

let note_hire pool =
  let why =
    if Sleep.still_needed pool > 0 then "a call waits for it" else "there is work, and a CPU for it"
  in
  Load.decide ~pool "a domain started" why

(* Told once for all refusals in a row. *)
let note_refusal (pool : P.pool) =
  if Atomic.exchange pool.refused (Machine.now ()) = 0 then
    Load.decide ~pool "no domain started" "OCaml has as many as it can, or the system has no thread"

let hire_now (pool : P.pool) =
  Load.refresh_cpus (Machine.now ());
  let wanted = Int.max (Atomic.get pool.allowed) (Sleep.still_needed pool) in
  if Atomic.get pool.residents < wanted && (not (may_close pool)) && Load.has_room pool then
    match hire_first pool ~upto:(Int.min wanted (pool.settings.regulars - 1)) with
    | Hired ->
      if Atomic.get pool.refused <> 0 then Atomic.set pool.refused 0;
      note_hire pool
    | Taken -> ()
    | Refused -> note_refusal pool

let refusal_ns = 100_000_000

(* After a refusal nobody tries for a while, unless a domain must be there. *)
let hire_one (pool : P.pool) =
  let since = Atomic.get pool.refused in
  if since = 0 || Machine.now () - since > refusal_ns || Sleep.still_needed pool > 0 then
    hire_now pool
