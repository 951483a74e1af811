(* Tasks with a promise that anyone may await, from anywhere. *)

open Place

type 'a t = 'a Promise.t
type scope = Scope.t

exception Cancelled = Promise.Cancelled
exception Deadline_exceeded

(* {2 Hooks and handlers}

   They are no part of what they interrupt: else a hook that looks whether it is cancelled would take the
   [Cancelled] that is meant for the strand beneath, and one that wants a lock which that strand holds would be
   refused as its holder. So each is a strand of its own; when it waits, who called it goes on. *)

(* What it raises goes to the caller, unless it has waited: then nobody is beneath it. *)
let apart f =
  match owned_place () with
  | None -> f ()
  | Some w ->
    let waited = ref false in
    let later exn = if exn == Sys.Break then Worker.raise_later exn else Uncaught.complain exn in
    let run () = try f () with exn when !waited -> later exn in
    let in_fiber () = Compat.match_with run () (Run.noting waited) in
    Run.aside w ~handled:true ~records:(Machine.backtrace_status ()) (Context.none w) in_fiber ()

let set_uncaught_handler f =
  Uncaught.set_handler (fun exn backtrace -> apart (fun () -> f exn backtrace))

(* {2 Start} *)

let send pool promise =
  Caller.refuse_or_send "Task.async" pool (Promise.any promise);
  promise

let offer w promise =
  count_on_others w.pool;
  Publish.offer w ~wake:true (Promise.any promise);
  promise

let rec from_outside f =
  let pool = Pool.current () in
  match send pool (Promise.make pool.home f) with
  | promise -> promise
  | exception Invalid_argument _ when Pool.current () != pool -> from_outside f

let async_from_outside f =
  Room.make ();
  from_outside f

(* Whoever is in a pool may use it to the end: closing waits for it. *)
let[@inline never] async_at w f =
  Room.make ();
  Context.check_at w;
  let promise = offer w (Promise.make (Context.home w) f) in
  seal w;
  promise

let[@inline] nothing_to_look_at () = Atomic.get attention = 0

(* The calling thread's place, which publishes without fences, with the thread's settings; and nothing to look at. *)
let[@inline] is_sealed w = w.own.seal = Machine.seal () && nothing_to_look_at ()

let[@inline never] async f =
  let w = current () in
  if is_sealed w && w.own.home == w.pool.home then begin
    let promise = Promise.make w.pool.home f in
    Publish.offer_unfenced w (Promise.any promise);
    promise
  end
  else if owned w then async_at w f
  else match owned_place () with Some w -> async_at w f | None -> async_from_outside f

(* {2 Await} *)

(* A task that nobody has begun runs in place: its waiter would wait anyway. It is somebody else
   all the same (Strand), as if another worker had begun it. Its entry stays in the deque until
   the owner pushes again (Publish.offer).

   Both are on one stack, so one that waits in place holds up its waiter, who could not be told of a cancellation meanwhile.
   Who may be cancelled therefore leaves a task to the scheduler and waits beside it, unless such tasks have kept to
   themselves so far (Habit), or it is cancelled with its waiter. A stack for each takes more memory than one for all (5 kB a
   task instead of 200 bytes): of those that await each other in a row, [deepest] get one. *)

let deepest = 1_000

(* The habit with which a task may run in place, [Habit.unknown] where that is no matter; [Habit.other] if it may not. *)
let[@inline] habit_in_place w (home : Promise.home) f =
  let context = Young.get w.context in
  if context == uncancelled || Promise.is_within context home then Habit.unknown
  else
    let habit = Habit.find f in
    if habit = Habit.other && w.own.nested >= deepest then Habit.unknown else habit

let[@inline] put_back w context number =
  Young.set w.context context;
  w.own.strand <- number

let put_back_at here context number =
  match here with Some w -> put_back w context number | None -> ()

(* It has waited. *)
let forget_if_it_met ~habit here =
  match here with
  | Some w -> if not (Strand.has_kept_to_itself w) then Habit.forget habit
  | None -> Habit.forget habit

(* A handler of the user's may have gone on with the strand on a thread that is in no pool: there is nothing to put
   back. An asynchronous exception goes on afterwards. *)
let[@inline never] end_elsewhere ~habit context number t home result =
  match Context.here () with
  | here ->
    forget_if_it_met ~habit here;
    put_back_at here context number;
    Promise.resolve_from home t result
  | exception exn ->
    put_back_at (Context.here ()) context number;
    ignore (Promise.resolve_from home t result);
    raise exn

(* Without a fence, where the place is sealed. *)
let[@inline] claim_at w state t =
  if w.own.seal >= 0 then Promise.claim_in_place state t else Promise.claim_from state t

let[@inline] resolve_at ~young w home t result =
  if w.own.seal >= 0 then Promise.end_in_place ~young ~flag:w.ending home t result
  else Promise.resolve_from home t result

(* Where there may be several threads, storage may show another one's place. *)
let[@inline] resolve_here home t result =
  if all_shown () then resolve_at ~young:false (current ()) home t result
  else Promise.resolve_from home t result

let never = -1

(* None strikes between the claim and [resolve]. [young_at]: the moment ([Young.moment]) at which the promise was in the
   minor heap. *)
let[@inline] run_claimed ~habit ~young_at w t home f =
  let context = Young.get w.context and number = w.own.strand in
  w.own.stale <- true;
  Young.set w.context (Promise.any t);
  w.own.strand <- 0;
  let result = Promise.result_of f in
  if Context.is_still_at w then begin
    if Strand.has_depended w then Habit.forget habit;
    put_back w context number;
    resolve_at ~young:(Young.moment w.context = young_at) w home t result
  end
  else end_elsewhere ~habit context number t home result

let rec run_again ~habit w t =
  match Promise.state t with
  | Ready (f, home, _) as state ->
    if Promise.is_orphan home.lineage then Promise.stop t;
    if claim_at w state t then run_claimed ~habit ~young_at:never w t home f
    else run_again ~habit w t
  | (Running _ | Returned _ | Raised _) as state -> state

let run_here w state t =
  match state with
  | Promise.Ready (f, home, _) -> (
    match habit_in_place w home f with
    | habit when habit = Habit.other ->
      w.own.nested <- w.own.nested + 1;
      state
    | habit when home.lineage == Alone && claim_at w state t ->
      run_claimed ~habit ~young_at:never w t home f
    | habit -> run_again ~habit w t)
  | Running _ | Returned _ | Raised _ -> run_again ~habit:Habit.unknown w t

let run_of_other_scope w state t home =
  let strand = Context.capture w in
  w.own.stale <- true;
  Context.restore w (Context.starting (Promise.any t) home);
  match Promise.run_from state t with
  | ended ->
    Context.restore (Context.place_after w) strand;
    ended
  | exception exn ->
    Context.restore (Context.place_after w) strand;
    raise exn

(* A task of another scope, run in place, would keep this one from being stopped. *)
let run_at w state t (home : Promise.home) =
  if w.own.home == home then run_here w state t
  else if Young.get w.context == uncancelled then run_of_other_scope w state t home
  else state

(* The state in which the task has ended. *)
let ended ~wait t = function
  | Promise.Ready _ | Running _ ->
    wait t;
    Promise.state t
  | (Returned _ | Raised _) as state -> state

let settle_at ~wait t w =
  Run.serve w;
  ended ~wait t
    (match Promise.state t with
    | (Ready (_, home, _) | Running (home, _)) as state -> run_at w state t home
    | state -> state)

(* What nobody has begun keeps a closing pool open; but whoever only waits stays out of it. *)
let settle_from_outside ~wait t pool =
  match Caller.place_in pool with
  | Some w -> settle_at ~wait t w
  | None -> (
    match Caller.own_place pool with
    | Some w -> Caller.again w (settle_at ~wait t)
    | None -> (
      let settle = settle_at ~wait t in
      let stays_out = Atomic.get pool.closing && not (Promise.is_ready t) in
      match if stays_out then None else Caller.try_enter pool with
      | Some visit -> Caller.visiting visit settle
      | None -> ended ~wait t (Promise.state t)))

let settle ~wait state t (home : Promise.home) =
  let w = current () in
  if w.own.home == home && Mailbox.is_idle w.mailbox && owned w then
    ended ~wait t (run_here w state t)
  else if w.pool.home.owner == home.owner && owned w then settle_at ~wait t w
  else
    match home.owner with
    | Place.Pool pool -> settle_from_outside ~wait t pool
    | _ -> ended ~wait t (Promise.run t)

let wait_or_stop t =
  Waiter.wait_for_task (fun waiter ->
      Promise.on_done t
        ~is_live:(fun () -> Waiter.is_waiting waiter)
        (fun () -> ignore (Waiter.grant waiter)))

let wait t =
  let me = Context.get () in
  if me == uncancelled then Caller.wait t
  else if Promise.is_strand_of (Promise.any t) me then
    invalid_arg "Muster.Task.await: the task that awaits is the awaited one"
  else wait_or_stop t

let[@inline never] await_and_check ~habit state t home =
  match
    let state = settle ~wait state t home in
    if habit <> Habit.unknown && not (Habit.seems_good habit) then Strand.depend ();
    Context.check_if_any ();
    state
  with
  | state -> Promise.value state
  | exception exn ->
    let failure = Outcome.caught exn in
    Promise.forgo t home;
    Outcome.raise failure

let[@inline] finish ~habit ~young_at w t home f =
  let state = run_claimed ~habit ~young_at w t home f in
  Context.check_if_any ();
  Promise.value state

let[@inline] may_run_here w (home : Promise.home) =
  w.own.home == home
  && (home.lineage == Alone || nothing_to_look_at ())
  && Mailbox.is_idle w.mailbox

(* Where the place has no seal, as everywhere but on x86-64 Linux. *)
let[@inline never] await_unsealed w state t home f =
  let habit =
    if w.own.seal < 0 && may_run_here w home && owned w then habit_in_place w home f
    else Habit.other
  in
  if habit <> Habit.other && Promise.claim_from state t then
    finish ~habit ~young_at:never w t home f
  else await_and_check ~habit:(Habit.key f) state t home

(* What [settle] would do, for the case that has to be fast. *)
let[@inline never] await t =
  match Promise.state t with
  | (Returned _ | Raised _) as state ->
    Strand.meet ();
    Context.check_if_any ();
    Promise.value state
  | Ready (f, home, attached) as state ->
    Room.make ();
    let w = current () in
    let habit = if may_run_here w home then habit_in_place w home f else Habit.other in
    let claim =
      if habit = Habit.other then Machine.Refused
      else Promise.claim_sealed ~seal:w.own.seal t state home attached
    in
    if claim = Refused then await_unsealed w state t home f
    else
      finish ~habit ~young_at:(if claim = Young then Young.moment w.context else never) w t home f
  | Running (home, attached) as state ->
    let habit = if Promise.is_good attached then Habit.unknown else Habit.other in
    await_and_check ~habit state t home

(* Whatever becomes of the waiting task. *)
let join t =
  match Promise.state t with
  | Returned _ | Raised _ -> ()
  | (Ready (_, home, _) | Running (home, _)) as state ->
    ignore (Timer.look ());
    ignore (settle ~wait:Caller.wait state t home)

(* Who looks so is no short task, and may be waiting for something in a way of its own. *)
let check () =
  Strand.depend ();
  Context.check ()

let cancel t = Context.stop t

(* Nothing is left of a hook whose task has ended. *)
let on_cancel hook =
  let me = Context.get () in
  let fired = Atomic.make false in
  let fire () = if not (Atomic.exchange fired true) then apart (fun () -> Uncaught.protect hook) in
  if me != uncancelled then Promise.on_stop me ~is_live:(fun () -> not (Promise.is_done me)) fire

(* {2 Scopes} *)

(* For a task that runs in place on a thread without a place: a new one of nobody's, as the one that
   storage shows may be another thread's. *)
let place_or_none () =
  match Context.here () with Some w -> w | None -> Place.make (Pool.current ()) (-1)

let with_place f = Pool.with_current f ~in_place:(fun () -> f (place_or_none ()))

(* Whoever opened the scope is in its pool, and closing waits for it. *)
let fork_unguarded (s : Scope.t) f =
  let task = Scope.task s f in
  match
    match Caller.place_in s.pool with
    | Some w -> ignore (offer w task)
    | None -> Publish.send s.pool (Promise.any task)
  with
  | () -> task
  | exception exn ->
    let failure = Outcome.caught exn in
    Promise.stop task;
    Outcome.raise failure

let fork s f =
  Room.make ();
  Context.check ();
  fork_unguarded s (Scope.guarded s f)

(* A scope's code and tasks have ended: what it comes to. *)
let conclude (s : Scope.t) result =
  match (Atomic.get s.first, result) with
  | Some failure, _ | None, Error failure -> Context.rethrow failure
  | None, Ok v ->
    Context.check ();
    if Promise.was_stopped s.promise then Outcome.raise Promise.cancelled;
    v

let scope f =
  with_place (fun w ->
      Context.check_at w;
      let s = Scope.make w in
      conclude s (Scope.inside s w ~failed:(fun failure -> Scope.fail s failure) f))

let cancel_scope = Scope.stop

(* {2 Deadlines} *)

let ns seconds = int_of_float (seconds *. 1e9)
let longest = 1e9

(* The end tells who has met no checkpoint. Who was told at none may have obtained something in time, a message,
   say, which would be lost with the value: so that counts. *)
let in_time f ~at s =
  let v = f () in
  let is_told w = Scope.was_told s w || (Machine.now () >= at && not w.own.checked) in
  if Option.fold (Context.here ()) ~none:false ~some:is_told then raise Promise.Cancelled;
  v

let end_by s ~at = function
  | Ok v -> v
  | Error Outcome.{ exn = Promise.Cancelled; _ } when Machine.now () >= at ->
    Context.check ();
    raise Deadline_exceeded
  | Error _ as result -> conclude s result

let with_deadline seconds f =
  if Float.is_nan seconds then invalid_arg "Muster.Task.with_deadline: seconds = nan is no time";
  if seconds <= 0. then raise Deadline_exceeded;
  let at = Machine.now () + ns (min seconds longest) in
  with_place (fun w ->
      Context.check_at w;
      let s = Scope.make w in
      let run () =
        Context.expect_deadline ();
        Scope.inside s w ~failed:(fun failure -> Scope.fail s failure) (in_time f ~at)
      in
      let timer = Timer.add at (fun () -> Scope.stop s) in
      let result = Outcome.finally Timer.remove timer run in
      end_by s ~at result)

(* {2 Several} *)

let keep_failure failures i f =
  let note failure = Leftmost.note failures i failure in
  let body () = Outcome.on_failure f note in
  body

(* All at once; every one has ended when it returns. *)
let run_group start =
  with_place (fun w ->
      Context.check_at w;
      let s = Scope.make w in
      let start s =
        let tasks = start s in
        List.iter join tasks;
        tasks
      in
      let tasks = Scope.inside s w ~failed:ignore start in
      Context.check ();
      match tasks with Ok tasks -> tasks | Error failure -> Outcome.raise failure)

(* What strikes who stops others (Ctrl-C, or what a hook of theirs raises), kept to be raised at the end: as the failure of a
   task it might be one that nobody sees. *)
let strike struck failure =
  Atomic.set struck (Some failure);
  Outcome.raise failure

(* A failure stops those right of it that have begun; who begins is one of these, or sees it. Those left of it are waited
   for: theirs would come first. *)
let all fs =
  let failures = Leftmost.create () and begun = Atomic.make [] and struck = Atomic.make None in
  let stop_right i () =
    let right (j, task) = if j > i then Some task else None in
    Context.stop_each (List.filter_map right (Atomic.get begun))
  in
  let guarded i f () =
    change begun (List.cons (i, Context.get ()));
    if Leftmost.stops failures i then raise Promise.Skipped;
    Outcome.on_failure f (fun failure ->
        Leftmost.note failures i failure;
        try Outcome.firmly stop_right i () with exn -> strike struck (Outcome.caught exn))
  in
  let tasks = run_group (fun s -> List.mapi (fun i f -> fork_unguarded s (guarded i f)) fs) in
  Option.iter Context.rethrow (Atomic.get struck);
  Context.reraise failures;
  List.map Promise.result tasks

(* Who has won the race stops the others that have begun; who begins is one of these, or sees that there is
   a winner. The scope is not stopped: with it what the winner has started would be, and the winner's hooks
   called. *)
let enter racers me = change racers (List.cons me)

(* What a racer starts is a part of it: where it awaits that, and runs it in place, it could not be stopped otherwise. *)
let within_scope f =
  let run w =
    match Scope.inside (Scope.make w) w ~failed:ignore (fun _ -> f ()) with
    | Ok v -> v
    | Error failure -> Outcome.raise failure
  in
  with_place run

let stop_others racers me =
  Context.stop_each (List.filter (fun racer -> racer != me) (Atomic.get racers))

let first fs =
  if fs = [] then invalid_arg "Muster.Task.first: empty list";
  let winner = Atomic.make None and struck = Atomic.make None and racers = Atomic.make [] in
  let failures = Leftmost.create () in
  let race f () =
    let me = Context.get () in
    enter racers me;
    if Option.is_some (Atomic.get winner) then raise Promise.Skipped;
    within_scope (fun () ->
        let v = f () in
        if Atomic.compare_and_set winner None (Some v) then
          try Outcome.firmly stop_others racers me with exn -> strike struck (Outcome.caught exn))
  in
  (* Nor is Ctrl-C the failure of a loser. *)
  let interruptible s f () =
    try race f ()
    with Sys.Break as exn ->
      let failure = Outcome.caught exn in
      (try Scope.stop_firmly s with exn -> strike struck (Outcome.caught exn));
      strike struck failure
  in
  let fork s i f = fork_unguarded s (keep_failure failures i (interruptible s f)) in
  let tasks = run_group (fun s -> List.mapi (fork s) fs) in
  Option.iter Context.rethrow (Atomic.get struck);
  match Atomic.get winner with
  | Some v -> v
  | None ->
    Context.reraise failures;
    List.iter Promise.result tasks;
    assert false
