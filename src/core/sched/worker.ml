(* A worker's loop, and the one function that waits. The worker serves its mailbox (a
   region's share), then runs what Search finds, as Run says; else it sleeps, as Sleep says. *)

module P = Place

let settle (w : P.t) =
  Load.look_if_due w;
  if w.resident then Load.settle_heap w;
  Search.stands_back w

let pause w ~found = Sleep.pause w ~found ~settle

(* {2 Strays: asynchronous exceptions that strike where nobody can raise them}

   A stray waits in its pool's list until a caller takes it: [thread], or any if that is 0. A thread
   that waits outside looks into the list of [P.nobody]'s pool; one of the first domain into those
   of pools without a caller, too: another domain's may have blocked the signal. *)

let keep_stray (pool : P.pool) ~thread exn =
  P.change pool.strays (fun strays -> (thread, exn) :: List.remove_assoc thread strays)

let leave_stray (pool : P.pool) exn =
  keep_stray pool ~thread:0 exn;
  Parking.wake_all pool.parking

let is_mine (thread, _) = thread = 0 || thread = Machine.thread_id ()
let has_stray (pool : P.pool) = List.exists is_mine (Atomic.get pool.strays)

let rec take_stray (pool : P.pool) =
  let strays = Atomic.get pool.strays in
  match List.find_opt is_mine strays with
  | None -> ()
  | Some ((_, exn) as stray) ->
    let others = List.filter (fun other -> other != stray) strays in
    if Atomic.compare_and_set pool.strays strays others then raise exn else take_stray pool

let has_caller (pool : P.pool) = Array.exists P.is_caller (P.workers pool)

let take_stray_outside () =
  let take (pool : P.pool) =
    if Atomic.get pool.strays <> [] && not (has_caller pool) then take_stray pool
  in
  take_stray P.nobody.pool;
  if Domain.is_main_domain () then List.iter take (Atomic.get P.open_pools)

(* For an exception that strikes a resident between tasks. Ctrl-C goes to a thread that has
   something to interrupt, in the midst of a system call too; others to a caller. A cancellation is
   nobody else's. *)
let stash pool exn =
  if not (exn == Promise.Cancelled || (exn == Sys.Break && Machine.pass_interrupt_on ())) then
    leave_stray pool exn

(* For an exception that strikes a wait that has just ended: the wait returns. A resident passes it
   on, as above; a caller's loop raises it in its next turn, a thread outside at its next wait. *)
let raise_later exn =
  match P.owned_place () with
  | Some w when w.resident -> stash w.pool exn
  | Some w -> keep_stray w.pool ~thread:(Machine.thread_id ()) exn
  | None -> keep_stray P.nobody.pool ~thread:(Machine.thread_id ()) exn

(* {2 The loop} *)

let search (w : P.t) ~pauses ~until =
  Uncaught.collect ();
  Deque.sweep w.deque;
  let found () = until () || Search.has_work w || ((not w.resident) && has_stray w.pool) in
  Sleep.search w ~pauses ~until ~found ~settle

(* Regions come in rows: after one, the worker looks out for the next for a moment before it
   searches, which would make the next one's caller wait. No more than [row], as tasks wait. *)
let row = 16

let rec is_next_due (w : P.t) pauses =
  Mailbox.is_posted w.mailbox
  || pauses > 0
     &&
     (Domain.cpu_relax ();
      is_next_due w (pauses - 1))

(* Whether there was one. *)
let rec serve_row (w : P.t) ~on_top ~until left =
  left > 0 && Run.serve_one w ~on_top
  && begin
    if is_next_due w (Sleep.region_pauses w.pool) && not (until ()) then
      ignore (serve_row w ~on_top ~until (left - 1));
    true
  end

(* An asynchronous exception that comes before the task has begun leaves it to the others. (A
   handler may have come between finding one and running it, and run others itself: hence
   [outer].) *)
let execute_next (w : P.t) next =
  let outer = w.own.task in
  match
    let task = next w in
    if task != P.none then Run.execute w ~records:w.own.records task;
    Search.put_back w outer;
    task != P.none
  with
  | ran -> ran
  | exception exn ->
    let { Slot.task; _ } = w.own in
    Search.put_back w outer;
    if task != outer && Promise.is_ready task then Outcome.firmly Publish.send w.pool task;
    raise exn

let rec work (w : P.t) ~on_top ~until =
  if not (until ()) then begin
    let served = serve_row w ~on_top ~until row in
    if Atomic.get w.look <> 0 then Yield.look w else Load.look_if_short w;
    if not (execute_next w Search.find) then
      search w ~pauses:(Sleep.search_pauses w.pool ~served) ~until;
    if (not w.resident) && Atomic.get w.pool.strays <> [] then take_stray w.pool;
    work w ~on_top ~until
  end

(* {2 The waiting door: every wait for a promise comes through here} *)

(* So often a thread that sleeps here looks for signals, which do not end its sleep. A thousand that
   looked five times as often would take a CPU. *)
let look_ms = 100

(* After the first millisecond a resident may stand in for this thread. *)
let rec sleep_outside sleeper ~ready ~ms =
  if not (ready ()) then begin
    take_stray_outside ();
    ignore (Machine.Sleeper.sleep sleeper (Timer.at_most ms));
    ignore (Timer.look ());
    if not (ready ()) then List.iter Load.stand_in (Atomic.get P.open_pools);
    sleep_outside sleeper ~ready ~ms:look_ms
  end

let block ~ready rouse =
  let sleeper = Machine.Sleeper.create () in
  Atomic.set rouse (fun () -> Machine.Sleeper.wake sleeper);
  sleep_outside sleeper ~ready ~ms:1

(* A fiber of another scheduler is suspended by that, and its thread goes on. Else the thread
   blocks. The waker makes [ready] hold and then reads [rouse]; the waiting party writes [rouse] and
   then asks [ready]. So one sees both. A trigger may end a wait early: then there is another. *)
let rec wait_elsewhere ~firmly (trigger : Dla.trigger) ~ready rouse =
  Atomic.set rouse trigger.release;
  if not (ready ()) then
    if not (Dla.await ~firmly trigger) then block ~ready rouse
    else if not (ready ()) then
      match Dla.foreign () with
      | Some trigger -> wait_elsewhere ~firmly trigger ~ready rouse
      | None -> block ~ready rouse

let wait_outside ~firmly ~ready register =
  let rouse = Atomic.make ignore in
  register (fun () -> (Atomic.get rouse) ());
  match Dla.foreign () with
  | None -> block ~ready rouse
  | Some trigger ->
    List.iter Load.stand_in (Atomic.get P.open_pools);
    wait_elsewhere ~firmly trigger ~ready rouse

let help (w : P.t) ~ready ~register =
  if not (ready ()) then begin
    register (fun () -> ignore (Parking.wake w.pool.parking w.index));
    let beneath = w.own.is_over and fiber = Fiber.plain w ~handled:false in
    let help () =
      w.own.is_over <- ready;
      work w ~on_top:true ~until:ready
    in
    let no_longer () = w.own.is_over <- beneath in
    let records = Machine.backtrace_status () in
    Outcome.finally no_longer () (Run.aside w ~records fiber help) ()
  end

let try_suspend (w : P.t) register =
  w.own.fiber.handled
  &&
  match Effect.perform (Run.Suspend (Run.suspension w.pool register)) with
  | () -> true
  | exception Effect.Unhandled (Run.Suspend _) -> false

let wait_at ~firmly place ~ready ~register =
  match place with
  | None ->
    take_stray_outside ();
    wait_outside ~firmly ~ready register
  | Some w -> if not (try_suspend w register) then help w ~ready ~register

(* Counted where the code goes on; a wait of a thread outside is nobody's. *)
let count_wait (event : Event.t) since ~told =
  let w = Fiber.place () in
  Counts.end_wait w.own.counts event.call since;
  Tell.resume w event told

let wait ~firmly event ~ready ~register =
  Stack_room.reserve ();
  let place = P.owned_place () and since = Counts.begin_wait () in
  let told = match place with Some w -> Tell.wait w event | None -> 0 in
  if Waiting.is_on then
    Waiting.noted event place (fun () -> wait_at ~firmly place ~ready ~register)
  else wait_at ~firmly place ~ready ~register;
  if place <> None then count_wait event since ~told
