(* The one loop: find -> run -> wait.

   find   the mailbox (a region's share), then what Find says.
   run    as Run says.
   wait   ten pauses (more between regions), then yields to the kernel, then sleeps (Parking). *)

open Place
open Publish
open Find
open Run

let patience = Machine.ticks_of_us 60

(* A sleeping visitor wakes now and then: a signal does not end its sleep by itself. *)
let signal_ms = 20

let rec sleep_as_visitor w ~disturbed =
  if not (Parking.sleep w.pool.parking w.index ~limit_ms:(Timer.at_most signal_ms)) then begin
    ignore (Timer.look ());
    if not (Atomic.get w.dormant) then Atomic.set w.dormant true;
    if not (disturbed ()) then sleep_as_visitor w ~disturbed
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

(* A resident that slept so long leaves (Resident): an idle domain has to be woken for every minor
   collection of the others. *)
let patience_ms = 150

let end_sleep w =
  Parking.cancel w.pool.parking w.index;
  if Atomic.get w.dormant then Atomic.set w.dormant false

(* [found] is asked once more after the announcement: Parking has the proof. *)
let park w ~announce ~found =
  let parking = w.pool.parking in
  empty_mailbox w;
  Staff.look_if_due w;
  if w.resident then Staff.settle_heap w;
  w.own.counts.parks <- w.own.counts.parks + 1;
  let disturbed = disturbance w in
  match
    announce parking w.index;
    if not (found () || disturbed ()) then begin
      publish_counts w;
      if w.resident then w.own.bored <- not (nap w patience_ms)
      else sleep_as_visitor w ~disturbed
    end
  with
  | () -> end_sleep w
  | exception exn ->
    end_sleep w;
    raise exn

(* Whether something turned up before the patience ended. *)
let rec spin ~found pauses since =
  found ()
  ||
  if pauses > 0 then (
    Domain.cpu_relax ();
    spin ~found (pauses - 1) since)
  else
    Machine.ticks () - since < patience
    &&
    (Machine.yield ();
     spin ~found 0 since)

(* Regions end, and the next one comes, within microseconds: while a worker yields it sees neither
   for half a microsecond. Where it reads nobody else's line but the one that it waits for, it
   pauses longer; longer still in a search that follows a region. *)
let region_pauses pool = 4 * pool.pauses
let search_pauses pool ~served = if served then 16 * pool.pauses else pool.pauses

let pause w ~found =
  if not (spin ~found (region_pauses w.pool) (Machine.ticks ())) then
    park w ~announce:Parking.announce_aside ~found

(* Who publishes work wakes nobody while somebody is searching. So the last searcher looks at all
   deques and the inbox once more, though it may be about to sleep, to leave or to return: what it
   would not take itself is for another. *)
let stop_searching w =
  let { parking; searching; inbox; _ } = w.pool in
  if Atomic.fetch_and_add searching (-1) = 1 then begin
    if not (w.resident || Inbox.is_empty inbox) then wake_for_inbox w.pool;
    if Parking.sleepers parking > 0 && some_deque_has_work w.pool then
      ignore (Parking.wake_one parking)
  end

(* A wake that came for work must not be lost on who has no time for it. *)
let pass_on w =
  if not (Inbox.is_empty w.pool.inbox) then wake_for_inbox w.pool
  else if some_deque_has_work w.pool then
    ignore (Parking.wake_one w.pool.parking)

(* Who was woken for work takes some of it, and what is left may lie elsewhere than what it takes
   (Find.steal_from): nobody was woken for that while somebody was searching. *)
let wake_next w =
  if several_tasks_wait w.pool then wake_for_work w.pool

(* A visitor raises it when it looks; [thread]'s alone, unless that is 0. *)
let keep_stray (pool : pool) ~thread exn =
  change pool.strays (fun strays -> (thread, exn) :: List.remove_assoc thread strays)

let leave_stray (pool : pool) exn =
  keep_stray pool ~thread:0 exn;
  Parking.wake_all pool.parking

let find_stray strays =
  let me = Machine.thread_id () in
  List.find_opt (fun (thread, _) -> thread = me || thread = 0) strays

let has_stray (pool : pool) =
  match Atomic.get pool.strays with [] -> false | strays -> Option.is_some (find_stray strays)

let rec take_stray (pool : pool) =
  match Atomic.get pool.strays with
  | [] -> ()
  | strays -> (
    match find_stray strays with
    | None -> ()
    | Some ((_, exn) as stray) ->
      let others = List.filter (fun other -> other != stray) strays in
      if Atomic.compare_and_set pool.strays strays others then raise exn else take_stray pool)

let raise_stray w = if not w.resident then take_stray w.pool

(* Spins, then sleeps; [stop] is called once, before the sleep: it does not search any more. *)
let spin_and_sleep w ~pauses ~until ~stop =
  let found () = until () || has_work w || ((not w.resident) && has_stray w.pool) in
  (* Wakes for work are not for one who would not take it. *)
  let announce parking i =
    if stands_back w then begin
      Parking.announce_aside parking i;
      watch w.pool
    end
    else Parking.announce parking i;
    see_unfenced w.pool;
    stop ()
  in
  if spin ~found pauses (Machine.ticks ()) then stop ()
  else begin
    park w ~announce ~found;
    if until () then pass_on w else wake_next w
  end

let search w ~pauses ~until =
  Uncaught.collect ();
  Deque.sweep w.deque;
  let counted = ref true in
  let stop () =
    if !counted then (
      counted := false;
      stop_searching w)
  in
  let go () = spin_and_sleep w ~pauses ~until ~stop
  and give_up _ =
    stop ();
    pass_on w
  in
  (* An asynchronous exception strikes before this or within [go]: nothing in between allocates, and
     [Atomic.incr] would look for signals. *)
  ignore (Atomic.fetch_and_add w.pool.searching 1);
  Outcome.on_failure go give_up

(* For an asynchronous exception that strikes a resident between tasks. Ctrl-C goes to a thread
   that has something to interrupt, in the midst of a system call too; others to a visitor. A
   cancellation is nobody else's. *)
let stash pool exn =
  if not (exn == Promise.Cancelled || (exn = Sys.Break && Machine.pass_interrupt_on ())) then
    leave_stray pool exn

(* For one that strikes a wait that has just ended: the wait returns, and the exception comes
   later. A resident passes it on, as above, and takes no more signals afterwards. Any other
   thread is the program's own and goes on taking signals: it raises it at its next wait. *)
let raise_later exn =
  match owned_place () with
  | Some w when w.resident -> stash w.pool exn
  | Some w -> keep_stray w.pool ~thread:(Machine.thread_id ()) exn
  | None -> keep_stray nobody.pool ~thread:(Machine.thread_id ()) exn

(* For one that strikes a thread of ours that is no worker: the next who waits outside raises it. *)
let raise_anywhere exn = leave_stray nobody.pool exn

(* Regions come in rows: after one, the worker looks out for the next for a moment before it
   searches, which would make the next one's caller wait. No more than [row], as tasks wait
   meanwhile. Not counted among the searchers, it may be taken for busy: then a publisher of work
   wakes another, needlessly but in time. *)
let row = 16

let rec is_next_due w pauses =
  Mailbox.is_posted w.mailbox
  || pauses > 0
     &&
     (Domain.cpu_relax ();
      is_next_due w (pauses - 1))

(* Whether there was one. *)
let rec serve_row w ~on_top ~until left =
  serve_one w ~on_top
  && begin
    if left > 1 && is_next_due w (region_pauses w.pool) && not (until ()) then
      ignore (serve_row w ~on_top ~until (left - 1));
    true
  end

(* An asynchronous exception that comes before the task has begun leaves it to the others. (A
   handler may have come between finding one and running it, and run others itself: hence
   [outer].) *)
let execute_next w next =
  let outer = w.own.found in
  match
    let task = next w in
    if task != none then begin
      empty_mailbox w;
      execute w ~records:w.own.records task
    end;
    w.own.found <- outer;
    task != none
  with
  | ran -> ran
  | exception exn ->
    let task = w.own.found in
    w.own.found <- outer;
    if task != outer && is_ready task then Outcome.firmly send w.pool task;
    raise exn

let rec work w ~on_top ~until =
  if not (until ()) then begin
    let served = serve_row w ~on_top ~until row in
    if Atomic.get w.look <> 0 then look w else Staff.look_if_short w;
    if not (execute_next w find) then begin
      search w ~pauses:(search_pauses w.pool ~served) ~until;
      raise_stray w
    end;
    work w ~on_top ~until
  end

(* {2 The waiting door: every wait for a promise comes through here} *)

(* Any thread that wakes deals with a signal, so the more of them sleep here, the more seldom each
   looks: a thousand that look every 20 ms take a CPU. *)
let outside = Atomic.make 0
let few = 10
let longest_look_ms = 200
let look_ms () = Int.min longest_look_ms (signal_ms * (1 + (Atomic.get outside / few)))

let rec sleep_outside sleeper woken =
  if not (Atomic.get woken) then begin
    ignore (Machine.Sleeper.sleep sleeper (Timer.at_most (look_ms ())));
    ignore (Timer.look ());
    sleep_outside sleeper woken
  end

let block register =
  let woken = Atomic.make false in
  let sleeper = Machine.Sleeper.create () in
  register (fun () ->
      Atomic.set woken true;
      Machine.Sleeper.wake sleeper);
  let sleep () = sleep_outside sleeper woken in
  let no_longer () = ignore (Atomic.fetch_and_add outside (-1)) in
  ignore (Atomic.fetch_and_add outside 1);
  Outcome.finally no_longer () sleep

(* Runs other tasks on top of the waiting stack. *)
let help w ~ready ~register =
  let wake () = ignore (Parking.wake w.pool.parking w.index) in
  let registered = ref false in
  let until () =
    ready ()
    || (not !registered)
       &&
       (registered := true;
        register wake;
        ready ())
  in
  if not (ready ()) then
    aside w ~handled:false ~records:(Machine.backtrace_status ()) (Context.none w)
      (fun () -> work w ~on_top:true ~until)
      ()

let try_suspend w register =
  w.own.handled
  &&
  match Effect.perform (Suspend (suspension w.pool register)) with
  | () -> true
  | exception Effect.Unhandled (Suspend _) -> false

let wait ~ready ~register =
  Room.make ();
  match owned_place () with
  | None ->
    take_stray nobody.pool;
    block register
  | Some w -> if not (try_suspend w register) then help w ~ready ~register
