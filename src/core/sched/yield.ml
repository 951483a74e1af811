(* Between two steps of its task a worker reports failures that nobody has heard of, and looks at
   the load (Load) and the clock (Timer). Then the task may have to give way.

   If the worker is dismissed, or the wait beneath the task is over, the task moves: it suspends,
   and goes to this worker's deque, where a thief takes it. A share stays: its region's caller looks
   for no tasks before all mailboxes are free. *)

module P = Place

let move (w : P.t) register =
  if w.own.fiber.handled && not w.own.in_share then
    try Effect.perform (Run.Suspend (Run.suspension w.pool register))
    with Effect.Unhandled (Run.Suspend _) -> ()

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
  Inbox.push w.pool.inbox Promise.(any (make Run.resumed firmly));
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
