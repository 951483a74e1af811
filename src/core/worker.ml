(* The one loop: find -> run -> wait.

   find   the mailbox (a region's share), the own deque, the others' deques, the inbox; every so
          often the inbox and the oldest of the own deque come first. The inbox is for residents:
          an outside item can last for ever, and a visitor has its own caller to return to. A
          visitor serves it where there is no resident, or where it has had nothing to do itself
          while nobody took what lay in the inbox for [relief_ms]: all residents may be blocked by what
          only an item in the inbox would do. A visitor whose domain works for another thread stands
          back: what it took of others would wait for that thread.
   run    a task from a deque or the inbox runs under the handler of [Suspend] in a fiber of
          its own; what a task forks and takes back runs in place, as a plain call. So does a
          region's share, at the bottom of a resident's stack; on top of another strand, a share
          of somebody else's region has a fiber too.
   wait   ten pauses, then yields to the kernel, then sleeps (Parking). *)

open Place

type _ Effect.t += Suspend : pool * (Promise.waker -> unit) -> unit Effect.t

(* {2 Find} *)

let steal_from w victim =
  let task = Deque.steal victim.deque in
  if task != none then begin
    rouse victim;
    inherit_backtrace victim.backtrace;
    w.own.counts.steals <- w.own.counts.steals + 1;
    (* What lies above was hidden from other thieves for a moment (Deque). *)
    if not (Deque.is_empty victim.deque) then wake_for_work w.pool
  end;
  task

(* Guests are rare: mostly there is no need to look at their places. *)
let places_in_use pool =
  if Atomic.get pool.guests = 0 then Atomic.get pool.reach else Array.length pool.workers

(* Begins with the last victim that had something. *)
let steal w =
  let workers = w.pool.workers in
  let n = places_in_use w.pool in
  let rec from left i =
    if left = 0 then none
    else
      let i = if i >= n then 0 else i in
      let task = if i = w.index then none else steal_from w workers.(i) in
      if task != none then (w.own.victim <- i; task) else from (left - 1) (i + 1)
  in
  from n w.own.victim

(* A visitor stands in for residents until one of them takes something. *)
let stand_in w = w.own.stands_in <- Inbox.moment w.pool.inbox

let stands_in w =
  let since = w.own.stands_in in
  since != Inbox.never
  && (since == Inbox.moment w.pool.inbox || (w.own.stands_in <- Inbox.never; false))

let serves_inbox w = w.resident || stands_in w || Atomic.get w.pool.residents = 0

let from_inbox w =
  if not (serves_inbox w) then none
  else begin
    let goes_on = stands_in w in
    match Inbox.pop w.pool.inbox with
    | None -> none
    | Some task ->
      if goes_on then stand_in w;
      inherit_backtrace w.pool.inherited;
      w.own.from_inbox <- true;
      task
  end

(* Code that waits for a task of its own in some way that the pool does not see, say for a flag,
   needs somebody to run that task. So where there is [Task.async], the last resident stays as
   a guard when it is dismissed: it sleeps, and takes one task when it finds the oldest in some
   deque unchanged after [watch_ms]. [both] and loops promise no such thing. *)
let is_guard w =
  w.index = 1 && Atomic.get w.pool.guards > 0 && Staff.dismissed w

let watch_ms = 20

(* The number is read once: guests come and go meanwhile. *)
let oldest w =
  let workers = w.pool.workers in
  let n = places_in_use w.pool in
  let rec from i =
    if i = n then none
    else
      let task = Deque.oldest workers.(i).deque in
      if task != none then task else from (i + 1)
  in
  from 0

(* Takes from the others' deques only what it was called for, by its own watch. *)
let stands_back w =
  if w.resident then Staff.dismissed w
  else (not (Atomic.get w.on_domain)) && Atomic.get w.pool.residents > 0

let helps_others w = w.own.called || not (stands_back w)

(* After a sleep of [watch_ms] that nobody ended. So does whoever stands back and cannot leave, because
   what it waits for may lie in a deque where nobody else looks. *)
let keep_watch w =
  let task = oldest w in
  w.own.called <- task != none && task == w.own.suspect;
  w.own.suspect <- task

(* Having taken one task, a resident is called no more; a visitor goes on until somebody else takes
   something, for perhaps nobody will. *)
let has_taken w =
  if w.resident then w.own.called <- false else w.own.suspect <- oldest w

let look_who_takes w =
  if w.own.called && (not w.resident) && oldest w != w.own.suspect then w.own.called <- false

let from_deques w =
  let task = Deque.pop w.deque in
  if task != none then (if Deque.size w.deque <= low then rouse w; task) else steal w

(* Two tasks that answer each other's messages always leave one of them at the bottom of the deque.
   So that they keep nobody waiting for ever, every so often what came first is next: from
   outside, then from the top of the deque. *)
let turns = 64

let what_came_first w =
  let task = from_inbox w in
  if task != none then task
  else
    let task = Deque.steal w.deque in
    if task != none then (rouse w; task) else from_deques w

let from_where_it_is_due w =
  w.own.turn <- w.own.turn + 1;
  if w.own.turn mod turns = 0 then what_came_first w else from_deques w

(* One who is dismissed takes nothing more, but for what nobody else would do. *)
let find w =
  w.own.from_inbox <- false;
  look_who_takes w;
  if not (helps_others w) then begin
    let task = if w.resident then none else Deque.pop w.deque in
    if task != none then task else from_inbox w
  end
  else begin
    let task = from_where_it_is_due w in
    (* A stale one may lie above the one for which it was called. *)
    if w.own.called then
      if task == none then w.own.called <- false else if is_ready task then has_taken w;
    if task != none then task else from_inbox w
  end

let rec some_deque_has_work workers n =
  n > 0
  && ((not (Deque.is_empty workers.(n - 1).deque)) || some_deque_has_work workers (n - 1))

let inbox_has_work w = serves_inbox w && not (Inbox.is_empty w.pool.inbox)

let has_work w =
  Atomic.get w.mailbox != Idle
  || (helps_others w && some_deque_has_work w.pool.workers (places_in_use w.pool))
  || (not (w.resident || Deque.is_empty w.deque))
  || inbox_has_work w

(* {2 Run} *)

let wake_posters pool = if Atomic.get pool.posting > 0 then Parking.wake_all pool.parking

let make_idle w =
  Atomic.set w.mailbox Idle;
  wake_posters w.pool

(* The mailbox shows the job until its share is done, unless the worker has to wait meanwhile:
   then others may need the mailbox, and the job counts the share as late. *)
let free_mailbox w =
  match Atomic.get w.mailbox with
  | (Busy (Job job) | Job job) when w.own.in_share ->
    w.own.in_share <- false;
    Atomic.incr job.late;
    make_idle w
  | Idle | Gone | Job _ | Busy _ -> ()

(* A share that suspends (it runs in a fiber: [do_job_on_top]) frees its worker's mailbox before
   anybody can go on with it. *)
let suspend pool register k =
  Option.iter (fun w -> if w.own.in_share then free_mailbox w) (owned_place ());
  Atomic.incr pool.suspended;
  let put_back = Context.keep () in
  let rest () =
    Atomic.decr pool.suspended;
    put_back ();
    Effect.Deep.continue k ()
  in
  let task = Promise.(any (make nowhere rest)) in
  register (fun () -> submit pool task)

let handler =
  let effc (type a) (eff : a Effect.t) =
    match eff with
    | Suspend (pool, register) ->
      Some (fun (k : (a, unit) Effect.Deep.continuation) -> suspend pool register k)
    | _ -> None
  in
  Effect.Deep.{ retc = Fun.id; exnc = raise; effc }

(* What belongs to the strand that ran here until now comes back, whatever [f] leaves behind. *)
let aside w ~handled strand f x =
  let was_handled = w.own.handled and before = Context.capture w in
  let put_back () = w.own.handled <- was_handled; Context.restore w before in
  w.own.handled <- handled;
  Context.restore w strand;
  match f x with
  | () -> put_back ()
  | exception exn ->
    let failure = Outcome.caught exn in
    put_back ();
    Outcome.raise failure

let in_fiber p = Effect.Deep.match_with (fun p -> ignore (Promise.run p)) p handler

(* Those of [nowhere] know what they are a part of themselves (Context.carry). *)
let execute w p =
  match Promise.state p with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when Promise.is_orphan lineage ->
    Promise.stop p
  | Ready (_, home, _) ->
    w.own.counts.tasks <- w.own.counts.tasks + 1;
    let strand =
      if home == Promise.nowhere then Context.none w else Context.{ context = p; home; number = 0 }
    in
    aside w ~handled:true strand in_fiber p
  | Running _ | Returned _ | Raised _ -> ()

(* {2 Stepping aside}

   A worker looks up here, between two of its task's steps. If it is dismissed, the task moves: it
   suspends, its continuation goes to this worker's deque, and who waits for it takes it from
   there. What came through the inbox stays: it may last for ever, and callers have their own
   calls to return to. So does a share: its region's caller looks for no tasks before all mailboxes
   are free. *)

let step_aside w =
  if Staff.dismissed w && w.own.handled && not (w.own.from_inbox || w.own.in_share) then
    try Effect.perform (Suspend (w.pool, fun wake -> wake ()))
    with Effect.Unhandled (Suspend _) -> ()

let look w = Staff.look w; ignore (Timer.look ())
let look_up_now w = look w; step_aside w

let[@inline] look_up w = if Atomic.get w.look <> 0 then look_up_now w
let look_up_if_due w = if Staff.is_due w then look_up_now w

(* For an asynchronous exception that strikes a resident between tasks. Ctrl-C goes to a thread
   that has something to interrupt, in the midst of a system call too; others, a visitor raises
   when it looks. *)
let stash pool exn =
  if not (exn = Sys.Break && Machine.pass_interrupt_on ()) then begin
    Atomic.set pool.stray (Some exn);
    Parking.wake_all pool.parking
  end

let note_failure share index failures =
  try share index with exn -> Leftmost.note failures index (Outcome.caught exn)

let run_plain w index share failures =
  let handled = w.own.handled and number = w.own.strand in
  w.own.handled <- false;
  w.own.strand <- 0;
  note_failure share index failures;
  if not (Context.is_plain w) then Context.restore w (Context.none w);
  w.own.strand <- number;
  w.own.handled <- handled

let run_share w index share failures =
  if Context.is_plain w then run_plain w index share failures
  else
    aside w ~handled:false (Context.none w) (fun index -> run_plain w index share failures) index

(* Somebody else's share, on top of a strand that may hold the very lock for which the share will
   wait: so it can suspend. [ended] is part of it. *)
let run_share_on_top w index share failures ~ended =
  let body () = note_failure share index failures; ended () in
  aside w ~handled:true (Context.none w) (fun () -> Effect.Deep.match_with body () handler) ()

(* The last step of a share of [w]'s mailbox, [here] on [w] or on another worker. *)
let end_share w ~here ~late ~from =
  if here && w.own.in_share then begin
    w.own.in_share <- false;
    make_idle w
  end
  else ignore (Atomic.fetch_and_add late (-1));
  ignore (Parking.wake w.pool.parking from)

let do_job w ~on_top = function
  | Job { share; failures; late; from; backtrace; _ } ->
    record_backtrace backtrace;
    w.own.in_share <- true;
    if on_top then
      run_share_on_top w w.index share failures ~ended:(fun () ->
          end_share w ~here:(Context.place_after w == w) ~late ~from)
    else begin
      run_share w w.index share failures;
      end_share w ~here:true ~late ~from
    end
  | Idle | Gone | Busy _ -> ()

(* Whether there was a job. *)
let serve_one w ~on_top =
  if w.own.in_share then free_mailbox w;
  match Atomic.get w.mailbox with
  | Idle | Gone | Busy _ -> false
  | Job { ordered; _ } as job ->
    ((ordered && not w.own.careful) || Atomic.compare_and_set w.mailbox job (Busy job))
    && (do_job w ~on_top job; true)

let serve w = ignore (serve_one w ~on_top:true)

(* While its thread is in another pool, a worker's shares are done by who asks for them. *)
let go_away w =
  if w.own.in_share then free_mailbox w;
  w.own.careful <- true;
  Atomic.set w.away true;
  if Atomic.get w.mailbox != Idle then Parking.wake_all w.pool.parking

let come_back w = Atomic.set w.away false

(* {2 Wait} *)

let patience = Machine.ticks_of_us 60

(* A sleeping visitor wakes now and then: a signal does not end its sleep by itself. *)
let signal_ms = 20
let relief_ms = 200

let is_unserved pool ~since = (not (Inbox.is_empty pool.inbox)) && Inbox.moment pool.inbox == since

(* [waits]: how many times in a row it woke by itself, and what lay in the inbox lay there still. *)
let rec sleep_as_visitor ?(waits = 0) w ~disturbed =
  let limit_ms = Timer.at_most signal_ms and since = Inbox.moment w.pool.inbox in
  if not (Parking.sleep w.pool.parking w.index ~limit_ms) then begin
    ignore (Timer.look ());
    let waits = if is_unserved w.pool ~since then waits + 1 else 0 in
    if waits * signal_ms >= relief_ms then stand_in w;
    if stands_back w then keep_watch w;
    if not (stands_in w || w.own.called || disturbed ()) then sleep_as_visitor ~waits w ~disturbed
  end

(* A signal's handler or a finaliser that calls the library runs on top of this wait: it may have
   slept here itself and so used up our announcement and wake-up, or done what we wait for. *)
let disturbance w =
  let counts = w.own.counts in
  let { parks; tasks; _ } = counts in
  fun () -> counts.parks <> parks || counts.tasks <> tasks

(* Whether something ended the sleep before so many milliseconds were over. *)
let nap w ms =
  let limit_ms = Timer.at_most ms in
  Parking.doze w.pool.parking w.index ~limit_ms || Timer.look () || limit_ms < ms

(* A resident that slept so long leaves (Pool): an idle domain has to be woken for every minor
   collection of the others. *)
let patience_ms = 150

(* [found] is asked once more after the announcement: Parking has the proof. *)
let park w ~announce ~found =
  let parking = w.pool.parking in
  Staff.look_if_due w;
  if w.resident then Heap.settle w;
  w.own.counts.parks <- w.own.counts.parks + 1;
  let disturbed = disturbance w in
  announce parking w.index;
  match
    if not (found () || disturbed ()) then begin
      publish_counts w;
      if Staff.dismissed w then (if not (nap w watch_ms) then keep_watch w)
      else if w.resident then w.own.bored <- not (nap w patience_ms)
      else sleep_as_visitor w ~disturbed
    end
  with
  | () -> Parking.cancel parking w.index
  | exception exn -> Parking.cancel parking w.index; raise exn

(* Whether something turned up before the patience ended. *)
let rec spin ~found pauses since =
  found ()
  ||
  if pauses > 0 then (Domain.cpu_relax (); spin ~found (pauses - 1) since)
  else
    Machine.ticks () - since < patience
    && (Machine.yield (); spin ~found 0 since)

let pause w ~found =
  if not (spin ~found w.pool.pauses (Machine.ticks ())) then
    park w ~announce:Parking.announce_aside ~found

(* Who publishes work wakes nobody while somebody is searching. So the last searcher looks at all
   deques once more, though it may be about to sleep, to leave or to return: what it would not take
   itself is for another. *)
let stop_searching w =
  let { parking; searching; _ } = w.pool in
  if
    Atomic.fetch_and_add searching (-1) = 1
    && Parking.sleepers parking > 0
    && some_deque_has_work w.pool.workers (places_in_use w.pool)
  then ignore (Parking.wake_one parking)

(* A wake that came for work must not be lost on who has no time for it. *)
let pass_on w =
  if not (Inbox.is_empty w.pool.inbox) then wake_for_inbox w.pool
  else if some_deque_has_work w.pool.workers (places_in_use w.pool) then
    ignore (Parking.wake_one w.pool.parking)

let search w ~until =
  Uncaught.collect ();
  (* Wakes for work are not for one who would not take it. *)
  let announce parking i =
    (if stands_back w then Parking.announce_aside else Parking.announce) parking i;
    stop_searching w
  in
  Deque.sweep w.deque;
  let found () = until () || has_work w in
  Atomic.incr w.pool.searching;
  match spin ~found w.pool.pauses (Machine.ticks ()) with
  | true -> stop_searching w
  | false ->
    Outcome.on_failure (fun () -> park w ~announce ~found) (fun _ -> pass_on w);
    if until () then pass_on w
  | exception exn -> stop_searching w; raise exn

let raise_stray w =
  if (not w.resident) && Atomic.get w.pool.stray <> None then
    Option.iter raise (Atomic.exchange w.pool.stray None)

(* Regions come in rows: after one, the worker looks out for the next for a moment before it
   searches, which would make the next one's caller wait. No more than [row], as tasks wait
   meanwhile. Not counted among the searchers, it may be taken for busy: then a publisher of work
   wakes another, needlessly but in time. *)
let row = 16

let rec is_next_due w pauses =
  Atomic.get w.mailbox != Idle
  || (pauses > 0 && (Domain.cpu_relax (); is_next_due w (pauses - 1)))

let rec serve_row w ~on_top ~until left =
  if serve_one w ~on_top && left > 1 && is_next_due w w.pool.pauses && not (until ()) then
    serve_row w ~on_top ~until (left - 1)

let rec work w ~on_top ~until =
  if not (until ()) then begin
    serve_row w ~on_top ~until row;
    if Atomic.get w.look <> 0 then look w;
    let task = find w in
    if task != none then execute w task
    else begin
      search w ~until;
      raise_stray w
    end;
    work w ~on_top ~until
  end

(* {2 The waiting door: every wait for a promise comes through here} *)

(* All residents of a pool may be blocked, in a way that it does not see, by what only an item in the
   inbox will do; and nobody but a thread outside is awake to notice. *)
let relieve ~until pool =
  let before = Atomic.get pool.residents in
  need pool (Atomic.get pool.size - 1) ~ms:relief_ms;
  pool.hire pool;
  if Atomic.get pool.residents <= before then pool.stand_in pool ~until

let inboxes () = List.map (fun pool -> (pool, Inbox.moment pool.inbox)) (Atomic.get open_pools)

(* [unserved]: the pools whose inbox had the same item first at each of the last [waits] looks. *)
let rec sleep_outside sleeper woken ~waits ~unserved =
  if not (Atomic.get woken) then begin
    ignore (Machine.Sleeper.sleep sleeper (Timer.at_most signal_ms));
    ignore (Timer.look ());
    let unserved = List.filter (fun (pool, since) -> is_unserved pool ~since) unserved in
    if waits * signal_ms < relief_ms then
      sleep_outside sleeper woken ~waits:(waits + 1) ~unserved
    else begin
      List.iter (fun (pool, _) -> relieve pool ~until:(fun () -> Atomic.get woken)) unserved;
      sleep_outside sleeper woken ~waits:0 ~unserved:(inboxes ())
    end
  end

let block register =
  let woken = Atomic.make false in
  let sleeper = Machine.Sleeper.create () in
  register (fun () -> Atomic.set woken true; Machine.Sleeper.wake sleeper);
  sleep_outside sleeper woken ~waits:0 ~unserved:(inboxes ())

(* Runs other tasks on top of the waiting stack. *)
let help w ~ready ~register =
  let wake () = ignore (Parking.wake w.pool.parking w.index) in
  let registered = ref false in
  let until () =
    ready ()
    || (not !registered
        && (registered := true; register wake; ready ()))
  in
  if not (ready ()) then aside w ~handled:false (Context.none w) (fun () -> work w ~on_top:true ~until) ()

let try_suspend w register =
  w.own.handled
  &&
  match Effect.perform (Suspend (w.pool, register)) with
  | () -> true
  | exception Effect.Unhandled (Suspend _) -> false

let wait ~ready ~register =
  Room.make ();
  match owned_place () with
  | None -> block register
  | Some w -> if not (try_suspend w register) then help w ~ready ~register
