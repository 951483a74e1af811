(* A task from a deque or the inbox runs under the handler of [Suspend] in a fiber of its own; a
   branch that its forker takes back runs in place. So does a region's share at the bottom of a
   resident's stack; another caller's share, on top of a fiber, has a fiber too. *)

module P = Place

(* An exception that strikes a caller's thread while its fiber waits, or goes on elsewhere, is
   raised where the fiber waits, or at its next checkpoint (Caller). The thread writes [struck] and
   then reads [waits]; the fiber writes [waits] and then reads [struck]. So one sees both. *)
let not_yet () = ()
let call () = { Slot.struck = Atomic.make None; waits = Atomic.make not_yet }
let has_waited (call : Slot.call) = Atomic.get call.waits != not_yet

(* The function takes the continuation of the fiber. It is there before the effect is performed: an
   asynchronous exception may strike where code allocates, or where a partial application is called,
   and in between it would lose the fiber. *)
type _ Effect.t += Suspend : ((unit, unit) Effect.Deep.continuation -> unit) option -> unit Effect.t

let wake_all_in (pool : P.pool) () = Parking.wake_all pool.parking
let wake_posters (pool : P.pool) =
  if Atomic.get pool.posting > 0 then Outcome.firmly wake_all_in pool ()

(* The mailbox shows the job until its share is done, unless the worker has to wait meanwhile: then
   other callers may need the mailbox, and the job counts the share as late. *)
let go_on_late (w : P.t) =
  let { Mailbox.report; from; _ } = w.mailbox in
  w.own.in_share <- false;
  ignore (Atomic.fetch_and_add report.late 1);
  Mailbox.free w.mailbox;
  (* The region's caller waits no longer for this worker, and may run shares that none has begun. *)
  ignore (Parking.wake w.pool.parking from);
  wake_posters w.pool

let[@inline] free_mailbox (w : P.t) = if w.own.in_share then go_on_late w

let raise_failure_at k (failure : Outcome.failure) =
  Effect.Deep.discontinue_with_backtrace k failure.exn failure.backtrace

let raise_at k exn = raise_failure_at k (Outcome.caught exn)

(* The home of entries that go on with a fiber. Nobody awaits these: an exception that strikes
   there, or after the fiber's last step, is for the code beneath. *)
let resumed = Promise.home ~unheard:(fun _ { failure; _ } -> Outcome.raise failure) Promise.Nobody

(* The fiber, which has left this worker, and an entry for a deque to go on with it. An exception
   that strikes before is raised where the fiber waits. *)
let set_aside pool k =
  let fiber = (Fiber.place ()).own.fiber and records = Machine.backtrace_status () in
  let rest () =
    Publish.count_suspended pool (-1);
    Machine.record_backtrace records;
    match Fiber.resume fiber with
    | () -> (
      match Option.bind fiber.call Fiber.take_strike with
      | None -> Effect.Deep.continue k ()
      | Some failure -> raise_failure_at k failure)
    | exception exn ->
      Fiber.resume fiber;
      raise_at k exn
  in
  let rest = if Waiting.shows_forks then Waiting.below_fork fiber.home rest else rest in
  let suspended = (fiber, Promise.(any (make resumed rest))) in
  Fiber.leave fiber;
  Publish.count_suspended pool 1;
  suspended

(* May be done twice: all but one of its entries are stale. *)
let resume pool rest =
  let wake () = Outcome.firmly Publish.submit pool rest in
  wake

(* The fiber writes that it waits and then reads whether it was struck. *)
let note_wait resume (call : Slot.call) =
  Atomic.set call.waits resume;
  if Option.is_some (Atomic.get call.struck) then resume ()

(* A share that suspends frees its worker's mailbox before another worker can go on with it. An
   exception that strikes here is the fiber's, unless another worker goes on with it already. *)
let suspend pool register k =
  match
    Option.iter free_mailbox (P.owned_place ());
    set_aside pool k
  with
  | exception exn -> raise_at k exn
  | fiber, entry -> (
    match
      let resume = resume pool entry in
      Option.iter (note_wait resume) fiber.call;
      register resume
    with
    | () -> ()
    | exception exn ->
      if not (Promise.claim entry) then raise exn;
      Fiber.resume fiber;
      Publish.count_suspended pool (-1);
      raise_at k exn)

let suspension pool register = Some (fun k -> suspend pool register k)

let handler =
  let effc (type a) (eff : a Effect.t) : ((a, unit) Effect.Deep.continuation -> unit) option =
    match eff with Suspend given_up -> given_up | _ -> None
  in
  Effect.Deep.{ retc = Fun.id; exnc = raise; effc }

let aside (w : P.t) ~records fiber f x =
  let before = w.own.fiber and recorded = Machine.backtrace_status () in
  let put_back () =
    Machine.record_backtrace recorded;
    Fiber.switch (Fiber.place_after w) before
  in
  Outcome.finally put_back () (fun () ->
      Machine.record_backtrace records;
      Fiber.switch w fiber;
      f x)

(* An endless recursion, each step of which awaits the next one, is to overflow as any other does.
   Each fiber's stack has [least_stack] words or more, and the runtime bounds one stack only. *)
let least_stack = 128
let depth_between_looks = 256

let refuse_endless (w : P.t) =
  let { Slot.depth; _ } = w.own.fiber in
  if depth land (depth_between_looks - 1) = 0 && depth > (Gc.get ()).stack_limit / least_stack
  then raise Stack_overflow

let run_task p = ignore (Promise.run p)
let in_fiber = Compat.fibers handler run_task

let below_fork p =
  match Promise.state p with
  | Ready (_, home, _) -> Waiting.below_fork home in_fiber p
  | Running _ | Returned _ | Raised _ -> ()

let in_fiber = if Waiting.shows_forks then below_fork else in_fiber

(* An exception that strikes before a task's first step or after its last is for the code beneath.
   But a signal's handler may have been told there that the task is cancelled: that is nobody
   else's.

   The task is of the fiber's home. If it waits, it alone is suspended, perhaps in the midst of a
   scope of its own. The steps are those of [aside], fewer: the await is a checkpoint afterwards. *)
let on_top (w : P.t) p =
  refuse_endless w;
  let before = w.own.fiber in
  Fiber.put w (Fiber.make w p before.home);
  match in_fiber p with
  | () ->
    let w = Fiber.place_after w in
    Fiber.put w before;
    Deque.retire w.deque p
  | exception Promise.Cancelled ->
    Fiber.put (Fiber.place_after w) before;
    Promise.stop p
  | exception exn ->
    Fiber.put (Fiber.place_after w) before;
    raise exn

(* A branch, or a fiber that goes on, sets its context itself. An orphan is dropped without a fiber:
   a stopped scope may have many. *)
let execute (w : P.t) ~records p =
  match Promise.state p with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when Promise.is_orphan lineage ->
    Promise.stop p
  | Ready (_, home, _) ->
    Counts.add_task w.own.counts;
    let is_nobodys = home == Promise.nowhere || home == resumed in
    let fiber = if is_nobodys then Fiber.plain w ~handled:true else Fiber.make w p home in
    (try aside w ~records fiber in_fiber p with Promise.Cancelled -> Promise.stop p)
  | Running _ | Returned _ | Raised _ -> ()

(* {2 Stepping aside}

   A worker looks up between two of its task's steps. If it is dismissed, or the wait beneath the
   task is over, the task moves: it suspends, and goes to this worker's deque, where a thief takes
   it. A share stays: its region's caller looks for no tasks before all mailboxes are free. *)

let move (w : P.t) register =
  if w.own.fiber.handled && not w.own.in_share then
    try Effect.perform (Suspend (suspension w.pool register))
    with Effect.Unhandled (Suspend _) -> ()

let step_aside (w : P.t) =
  if Load.is_over_budget w || w.own.is_over () then move w (fun wake -> wake ())

(* {2 Giving way}

   A task that polls (a loop of [check], or of a lock that is free) lets nobody else run on its
   worker, nor look at the clock. So every so many polls it looks, and goes behind all that wait.
   Forks and awaits are no polls. By the clock all tasks that compute would be begun at once. *)

let polls_to_a_turn = 2048

(* The worker looks for a task next, in a pool of one too: nobody has to come. It may look at the
   inbox out of turn: then the fiber goes behind once more, while [last] still waits there. Nobody
   else would wake it: hence [firmly]. *)
let rec send_behind (w : P.t) last wake =
  let go_on () () =
    if last != P.none && Promise.is_ready last && P.current () == w then send_behind w last wake
    else wake ()
  in
  let firmly () = Outcome.firmly go_on () () in
  Inbox.push w.pool.inbox Promise.(any (make resumed firmly));
  if Atomic.get w.pool.residents > 0 then Sleep.wake_for_inbox w.pool

let[@inline never] take_turns w =
  if P.owned w then begin
    ignore (Timer.look ());
    step_aside w;
    let w = Fiber.place_after w in
    if Sleep.something_is_left w.pool then move w (send_behind w (Sleep.oldest_ready w))
  end

(* By the clock, for a fiber that makes many calls: each of them stands for a task. *)
let turn = Machine.ticks_of_us 200

let take_turns_if_due ~since w =
  if Machine.ticks () - !since > turn then begin
    take_turns w;
    since := Machine.ticks ()
  end

let[@inline] poll () =
  let w = P.current () in
  if w != P.nobody then begin
    w.own.polls <- w.own.polls + 1;
    if w.own.polls land (polls_to_a_turn - 1) = 0 then take_turns w
  end

let look w =
  Uncaught.collect ();
  Load.look w;
  ignore (Timer.look ())

let look_up_now w =
  look w;
  step_aside w

let[@inline] look_up (w : P.t) = if Atomic.get w.look <> 0 then look_up_now w
let look_up_if_due w = if Load.is_due w then look_up_now w

(* An asynchronous exception that comes as one is noted is raised afterwards. *)
let note (report : Mailbox.report) index exn =
  let failure = Outcome.caught exn in
  let index = Outcome.index_of failure index in
  match Leftmost.note report.failures index failure with
  | () -> ()
  | exception exn ->
    Leftmost.note report.failures index failure;
    raise exn

(* The report lies on a cache line of the caller's, which another worker touches here only: to fetch
   that line would make an empty region a third longer. *)
let note_failure share index report = try share index with exn -> note report index exn

(* Nothing is allocated before the share's first step. *)
let run_share_as fiber (w : P.t) index share report =
  let before = w.own.fiber in
  Fiber.switch w fiber;
  match note_failure share index report with
  | () -> Fiber.switch w before
  | exception exn ->
    Fiber.switch w before;
    raise exn

let run_share w index share report =
  run_share_as (Fiber.plain w ~handled:false) w index share report

let share_and_finish ({ share; report; _ } : Mailbox.letter) index ~begun ~finish =
  begun := true;
  match note_failure share index report with
  | () -> Outcome.firmly finish () ()
  | exception exn ->
    Outcome.firmly finish () ();
    raise exn

(* The last step of a share of [w]'s mailbox, [here] on [w] or on another worker. *)
let end_share (w : P.t) ~here (report : Mailbox.report) ~from =
  let frees = here && w.own.in_share in
  if frees then begin
    w.own.in_share <- false;
    Mailbox.free w.mailbox
  end
  else ignore (Atomic.fetch_and_add report.late (-1));
  ignore (Parking.wake w.pool.parking from);
  if frees then wake_posters w.pool

(* [w]'s mailbox showed the job. A signal's handler may have come since, and served it. *)
let take_job (w : P.t) job =
  Mailbox.try_begin w.mailbox job
  &&
  (w.own.in_share <- true;
   true)

(* In a fiber of its own, as the one beneath may hold the very lock for which the share will wait.
   [end_share] is called once, whatever strikes: all closures are made before the job is taken. *)
let serve_on_top (w : P.t) job =
  let letter = Mailbox.blank () and begun = ref false and over = ref false in
  let finish () () =
    let here = Fiber.place_after w == w in
    if not !over then begin
      over := true;
      end_share w ~here letter.report ~from:letter.from
    end
  in
  let body () = share_and_finish letter w.index ~begun ~finish in
  let run = Compat.fibers handler body in
  let fiber = Fiber.plain w ~handled:true in
  take_job w job
  && begin
    Mailbox.read w.mailbox ~into:letter;
    (try aside w ~records:letter.backtrace fiber run ()
     with exn ->
       if !begun then raise exn;
       note letter.report w.index exn;
       end_share w ~here:true letter.report ~from:letter.from);
    true
  end

(* Whether there was a job. Between taking it and the handler no exception strikes. *)
let serve_one (w : P.t) ~on_top =
  free_mailbox w;
  let job = Mailbox.posted w.mailbox in
  job <> Mailbox.none
  &&
  if on_top then serve_on_top w job
  else
    let fiber = Fiber.plain w ~handled:false in
    take_job w job
    && begin
      let { Mailbox.share; report; from; backtrace; _ } = w.mailbox in
      Machine.record_backtrace backtrace;
      match run_share_as fiber w w.index share report with
      | () ->
        end_share w ~here:true report ~from;
        true
      | exception exn ->
        end_share w ~here:true report ~from;
        raise exn
    end

let serve w = ignore (serve_one w ~on_top:true)

let go_away (w : P.t) =
  free_mailbox w;
  Fiber.note_checked w;
  Atomic.set w.away true;
  if not (Mailbox.is_idle w.mailbox) then Parking.wake_all w.pool.parking

let come_back (w : P.t) = Atomic.set w.away false
