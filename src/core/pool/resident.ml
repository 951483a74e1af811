(* A resident's slot begins with [owner] 0 and a mailbox that is gone. [spawn] claims it by
   compare-and-set of [owner] to [coming], counts the resident and starts its domain, which writes
   its own identity and opens the mailbox. To leave, the resident locks the mailbox while that is
   idle, so that no share is ever posted to nobody; then it writes [owner] 0, and takes itself off
   the count.

   No work is lost on a resident that leaves. A publisher reads [residents] after it has published,
   and hires if there are too few; a leaver reads deques and inbox after it has taken itself off the
   count. Tasks that it leaves in its deque are for callers, or for another resident. *)

module P = Place

let coming = -1

let may_close (pool : P.pool) =
  Atomic.get pool.closing && Atomic.get pool.suspended = 0
  && not (Sleep.something_is_left pool)

let leaves_at_once w = Load.is_over_budget w && not (Search.inbox_has_work w)

(* One that works may not look at the clock for long. None that decides is asleep: so of two that
   decide at once, neither counts on the other. *)
let is_timekeeper (w : P.t) =
  let sleeps (v : P.t) = v != w && v.resident && Parking.is_asleep v.pool.parking v.index in
  Caller.keeps_time w.pool && not (Array.exists sleeps (P.workers w.pool))

(* Work that waits for residents in general must not be left to a dismissed one. *)
let may_leave (w : P.t) () =
  if Atomic.get w.pool.closing then may_close w.pool
  else (w.own.bored || leaves_at_once w) && not (is_timekeeper w || Machine.domain_must_stay ())

(* The thread takes signals only in here: elsewhere the exception of a handler would end the domain
   before it has taken its leave. Once struck, it leaves signals to other threads. *)
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

let move_in (w : P.t) =
  Deque.move_in w.deque;
  Mailbox.unlock w.mailbox

let serve (w : P.t) =
  Share.wake_posters w.pool;
  Trigger.within (fun () -> serve_pool ~takes_signals:true w)

let note_leave (w : P.t) =
  let what = "a domain ended" in
  if w.own.bored then Load.decide ~pool:w.pool Domains what "it had nothing to do for 150 ms"
  else if not (Atomic.get w.pool.closing) then
    Load.decide ~pool:w.pool Domains what "there is no CPU for it"

(* Work may have come after the leaver's last look, and its publisher may have counted on it. *)
let call_another (pool : P.pool) =
  let waits_for_a_resident () =
    (Sleep.something_is_left pool && not (P.has_helper pool))
    || (not (Inbox.is_empty pool.inbox))
    || Caller.keeps_time pool
  in
  if Atomic.get pool.residents = 0 && waits_for_a_resident () then Sleep.ask_for_one pool
  else if Atomic.get pool.promised > 0 && Sleep.a_task_waits pool then Sleep.wake_for_work pool

(* {2 Domains} *)

(* The last domain of each slot that had one, until the pool is closed. It joins the one before it,
   at its end. *)
let domains : (P.t * unit Domain.t) list Atomic.t = Atomic.make []

let last_of w = List.assq_opt w (Atomic.get domains)
let note w domain = P.change domains (fun all -> (w, domain) :: List.remove_assq w all)

(* A function of the program's may raise at the domain's end ([Domain.at_exit]). *)
let join_domain domain =
  Uncaught.protect "a function given to Domain.at_exit" (fun () -> Domain.join domain)

let join w =
  Option.iter join_domain (last_of w);
  P.change domains (List.remove_assq w)

(* A caller that has the mailbox wakes this worker afterwards (Region). *)
let rec lock_mailbox (w : P.t) =
  if not (Mailbox.is_gone w.mailbox || Mailbox.lock w.mailbox) then begin
    Worker.pause w ~found:(fun () -> Mailbox.(is_idle w.mailbox || is_posted w.mailbox));
    Run.serve w;
    lock_mailbox w
  end

let prepare_to_leave (w : P.t) =
  lock_mailbox w;
  note_leave w;
  Tell.leave w

(* Once: unbroken. *)
let let_go (w : P.t) =
  ignore (Atomic.fetch_and_add w.pool.history.ended 1);
  P.set_owner w 0;
  ignore (Atomic.fetch_and_add w.pool.residents (-1))

(* Each caller that could take a task that lies here may wait for it unseen. *)
let tell_of_leave ({ pool; deque; _ } : P.t) =
  Share.wake_posters pool;
  call_another pool;
  if not (Deque.is_empty deque) then Sleep.watch ();
  Publish.announce_leave pool

(* No signal comes here, but a finaliser or an alarm of the collector may raise in this domain: the
   exception is passed on, and the step taken again. *)
let surely (w : P.t) step =
  match step w with
  | () -> ()
  | exception exn ->
    Worker.stash w.pool exn;
    step w

let take_leave (w : P.t) =
  surely w prepare_to_leave;
  let_go w;
  surely w tell_of_leave

(* Unbroken from each step to the next. *)
let work_as_resident (w : P.t) =
  P.note_end ();
  Sleep.arrive w;
  Tell.arrive w;
  P.set_owner w (Machine.thread_id ());
  Compat.set P.here w;
  surely w move_in;
  surely w serve;
  take_leave w

(* {2 Hiring}

   An asynchronous exception may strike the hirer while the domain begins. [call] is for one of the
   two: the domain takes it, and works; or the hirer, and the domain goes home. *)

let resident (w : P.t) call ~before () =
  if Atomic.exchange call false then work_as_resident w
  else ignore (Atomic.fetch_and_add w.pool.history.ended 1);
  Option.iter join_domain before

let start_domain (w : P.t) call =
  (* Noted while the hirer takes no signals: one that came during the start would strike before. *)
  ignore (Machine.spawn ~noted:(note w) (resident w call ~before:(last_of w)))

type hired =
  | Hired
  | Taken  (** somebody is there, comes or leaves *)
  | Refused  (** the runtime gives no domain (it has 128), or the system no thread *)

let spawn_at (pool : P.pool) (w : P.t) call =
  ignore (Atomic.fetch_and_add pool.residents 1);
  match start_domain w call with
  | () -> Hired
  | exception exn -> (
    if Atomic.exchange call false then begin
      P.set_owner w 0;
      ignore (Atomic.fetch_and_add pool.residents (-1));
      (* A broadcast may wait for this one's mailbox. *)
      Share.wake_posters pool
    end;
    match exn with Failure _ | Sys_error _ | Out_of_memory -> Refused | _ -> raise exn)

(* Unbroken from the claim to the handler: an asynchronous exception leaves no slot claimed. *)
let spawn pool (w : P.t) =
  let call = Atomic.make true in
  if P.claim w coming then spawn_at pool w call else Taken

let hire_first pool ~upto =
  let rec from i =
    if i > upto then Taken
    else match spawn pool (P.workers pool).(i) with Taken -> from (i + 1) | outcome -> outcome
  in
  from 1

(* Nobody else knows of the pool. *)
let hire_all pool ~size =
  let is_hired i = spawn pool (P.workers pool).(i) = Hired in
  let rec from i = if i < size && is_hired i then from (i + 1) else i in
  from 1

let note_hire pool =
  Load.decide ~pool Domains "a domain started"
    (if Budget.needed pool > 0 then "a call waits for it" else "there is work, and a CPU for it")

(* Told once for all refusals in a row. *)
let note_refusal (pool : P.pool) =
  if Atomic.exchange pool.refused (Machine.now ()) = 0 then
    Load.decide ~pool Domains "no domain started"
      "OCaml has as many as it can, or the system has no thread"

let hire_now (pool : P.pool) =
  Load.refresh_cpus (Machine.now ());
  let wanted = Budget.may_work pool in
  if Atomic.get pool.residents < wanted && not (may_close pool) then
    match hire_first pool ~upto:(Int.min wanted (pool.settings.regulars - 1)) with
    | Hired ->
      if Atomic.get pool.refused <> 0 then Atomic.set pool.refused 0;
      note_hire pool
    | Taken -> ()
    | Refused -> note_refusal pool

let refusal_ns = 100_000_000

(* After a refusal no thread tries for a while, unless a resident must be there. *)
let hire_one (pool : P.pool) =
  let since = Atomic.get pool.refused in
  if since = 0 || Machine.now () - since > refusal_ns || Budget.needed pool > 0 then
    hire_now pool
