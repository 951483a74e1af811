(* Tasks with a promise that anyone may await, from anywhere. *)

module P = Place

type 'a t = 'a Promise.t
type scope = Scope.t

exception Cancelled = Promise.Cancelled
exception Deadline_exceeded

(* {2 Hooks and handlers}

   A hook is no part of the code that it interrupts. Else it would take a [Cancelled] that is
   meant for the fiber beneath, and a lock which that fiber holds would refuse the hook as its
   holder. So each hook is a fiber of its own; when it waits, its caller goes on. *)

(* What it raises goes to the caller, unless it has waited: then nobody is beneath it. *)
let apart f =
  match P.owned_place () with
  | None -> f ()
  | Some w ->
    let waited = ref false in
    let later exn = if exn == Sys.Break then Worker.raise_later exn else Uncaught.complain exn in
    let run () = try f () with exn when !waited -> later exn in
    let in_fiber () = Compat.match_with run () (Run.noting waited) in
    Run.aside w ~records:(Machine.backtrace_status ()) (Fiber.plain w ~handled:true) in_fiber ()

let set_uncaught_handler f =
  Uncaught.set_handler (fun exn backtrace -> apart (fun () -> f exn backtrace))

(* {2 Start} *)

let send pool promise =
  Caller.refuse_or_send "Task.async" pool (Promise.any promise);
  promise

let offer (w : P.t) promise =
  P.count_on_others w.pool;
  Publish.offer w ~wake:true (Promise.any promise);
  promise

let rec from_outside f =
  let pool = Pool.current () in
  match send pool (Promise.make pool.home f) with
  | promise -> promise
  | exception Invalid_argument _ when Pool.current () != pool -> from_outside f

let async_from_outside f =
  Stack_room.reserve ();
  from_outside f

(* Whoever is in a pool may use it to the end: closing waits for it. *)
let[@inline] async_at (w : P.t) f =
  Stack_room.reserve ();
  Fiber.check_at w;
  offer w (Promise.make (Fiber.home w) f)

let[@inline never] async f =
  let w = P.current () in
  if P.owned w then async_at w f
  else match P.owned_place () with Some w -> async_at w f | None -> async_from_outside f

(* {2 Await} *)

(* A task that nobody has begun begins here, on a fiber of its own: its waiter would wait anyway.
   If the task waits in turn, its waiter waits beside it, and can be told of a cancellation
   meanwhile. The task's entry stays in the deque until the owner pushes again (Publish.offer). *)

(* The state in which the task has ended. *)
let ended ~wait t = function
  | Promise.Ready _ | Running _ ->
    wait t;
    Promise.state t
  | (Returned _ | Raised _) as state -> state

let settle_at ~wait t (w : P.t) =
  Run.serve w;
  if Promise.is_ready t then begin
    Run.refuse_endless w;
    Run.execute w ~records:(Machine.backtrace_status ()) (Promise.any t)
  end;
  ended ~wait t (Promise.state t)

(* What nobody has begun keeps a closing pool open; but whoever only waits stays out of it. *)
let settle_from_outside ~wait t (pool : P.pool) =
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

let settle ~wait t (home : Promise.home) =
  let w = P.current () in
  if w.pool.home.owner == home.owner && P.owned w then settle_at ~wait t w
  else
    match home.owner with
    | P.Pool pool -> settle_from_outside ~wait t pool
    | _ -> ended ~wait t (Cancellation.run t)

let wait_or_stop t =
  Waiter.wait (fun waiter ->
      Promise.on_done t
        ~is_live:(fun () -> Waiter.is_waiting waiter)
        (fun () -> ignore (Waiter.grant waiter)))

let wait t =
  let me = Fiber.get () in
  if me == P.uncancelled then Caller.wait t
  else if Cancellation.is_strand_of (Promise.any t) me then
    invalid_arg "Muster.Task.await: the task that awaits is the awaited one"
  else wait_or_stop t

let[@inline never] await_slowly t home =
  match
    Stack_room.reserve ();
    let state = settle ~wait t home in
    Fiber.check_if_any ();
    state
  with
  | state -> Promise.value state
  | exception exn ->
    let failure = Outcome.caught exn in
    Promise.forgo t home;
    Outcome.raise failure

let[@inline never] await t =
  match Promise.state t with
  | (Returned _ | Raised _) as state ->
    Fiber.check_if_any ();
    Promise.value state
  | Running (home, _) -> await_slowly t home
  | Ready (_, home, _) -> (
    let w = P.current () in
    if not (Fiber.home w == home && Mailbox.is_idle w.mailbox && P.owned w) then await_slowly t home
    else begin
      Run.on_top w (Promise.any t);
      match Promise.state t with
      | (Returned _ | Raised _) as state ->
        Fiber.check_if_any ();
        Promise.value state
      | Ready _ | Running _ -> await_slowly t home
    end)

(* Whatever becomes of the waiting task. *)
let join t =
  match Promise.state t with
  | Returned _ | Raised _ -> ()
  | Ready (_, home, _) | Running (home, _) ->
    ignore (Timer.look ());
    ignore (settle ~wait:Caller.wait t home)

let check = Fiber.check

let cancel t = Fiber.stop t

(* Nothing is left of a hook whose task has ended. *)
let on_cancel hook =
  let me = Fiber.get () in
  let fired = Atomic.make false in
  let fire () = if not (Atomic.exchange fired true) then apart (fun () -> Uncaught.protect hook) in
  let is_live () = not (Promise.is_done me) in
  if me != P.uncancelled then Cancellation.on_stop me ~is_live fire

(* {2 Scopes} *)

(* For a task that runs in place on a thread without a place: a new one of nobody's, as the one that
   storage shows may be another thread's. *)
let place_or_none () =
  match Fiber.here () with Some w -> w | None -> P.make (Pool.current ()) (-1)

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
  Stack_room.reserve ();
  Fiber.check ();
  fork_unguarded s (Scope.guarded s f)

(* A scope's code and tasks have ended: what it comes to. *)
let conclude (s : Scope.t) result =
  match (Atomic.get s.first, result) with
  | Some failure, _ | None, Error failure -> Fiber.rethrow failure
  | None, Ok v ->
    Fiber.check ();
    if Cancellation.was_stopped s.promise then Outcome.raise Promise.cancelled;
    v

let scope f =
  with_place (fun w ->
      Fiber.check_at w;
      let s = Scope.make w in
      conclude s (Scope.inside s w ~failed:(fun failure -> Scope.fail s failure) f))

let cancel_scope = Scope.stop

(* {2 Deadlines} *)

let ns seconds = int_of_float (seconds *. 1e9)
let longest = 1e9

(* Code that met no checkpoint is told here, at its end. Code that met one and was not told there
   may have obtained something in time, a message, say, which would be lost with the value: so its
   value counts. *)
let in_time f ~at s =
  let v = f () in
  let is_told (w : P.t) = Scope.was_told s w || (Machine.now () >= at && not w.own.fiber.checked) in
  if Option.fold (Fiber.here ()) ~none:false ~some:is_told then raise Promise.Cancelled;
  v

let end_by s ~at = function
  | Ok v -> v
  | Error Outcome.{ exn = Promise.Cancelled; _ } when Machine.now () >= at ->
    Fiber.check ();
    raise Deadline_exceeded
  | Error _ as result -> conclude s result

let with_deadline seconds f =
  if Float.is_nan seconds then invalid_arg "Muster.Task.with_deadline: seconds = nan is no time";
  if seconds <= 0. then raise Deadline_exceeded;
  let at = Machine.now () + ns (min seconds longest) in
  with_place (fun w ->
      Fiber.check_at w;
      let s = Scope.make w in
      let run () =
        Fiber.expect_deadline ();
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
      Fiber.check_at w;
      let s = Scope.make w in
      let start s =
        let tasks = start s in
        List.iter join tasks;
        tasks
      in
      let tasks = Scope.inside s w ~failed:(fun _ -> Scope.stop_firmly s) start in
      Fiber.check ();
      match tasks with Ok tasks -> tasks | Error failure -> Outcome.raise failure)

(* An asynchronous exception (Ctrl-C) may strike a task that stops others. It is kept, and raised
   at the end: as the task's failure it might be one that nobody sees. *)
let strike struck failure =
  Atomic.set struck (Some failure);
  Outcome.raise failure

(* A failure stops the tasks to its right that have begun. A task that begins is one of these, or
   sees the failure. The call waits for the tasks to the left: their failures would come first. *)
let all fs =
  let failures = Leftmost.create () and begun = Atomic.make [] and struck = Atomic.make None in
  let stop_right i () =
    let right (j, task) = if j > i then Some task else None in
    Fiber.stop_each (List.filter_map right (Atomic.get begun))
  in
  let guarded i f () =
    P.change begun (List.cons (i, Fiber.get ()));
    if Leftmost.stops failures i then raise Promise.Skipped;
    Outcome.on_failure f (fun failure ->
        Leftmost.note failures i failure;
        try Outcome.firmly stop_right i () with exn -> strike struck (Outcome.caught exn))
  in
  let tasks = run_group (fun s -> List.mapi (fun i f -> fork_unguarded s (guarded i f)) fs) in
  Option.iter Fiber.rethrow (Atomic.get struck);
  Fiber.reraise failures;
  List.map Promise.result tasks

(* The winner stops the other racers that have begun. A racer that begins is one of these, or sees
   that there is a winner. The scope is not stopped: that would stop the tasks that the winner has
   started, and call its hooks. *)
let enter racers me = P.change racers (List.cons me)

(* A racer's tasks are a part of it: where it awaits one of them, it could not be stopped
   otherwise. *)
let within_scope f =
  let run w =
    match Scope.inside (Scope.make w) w ~failed:ignore (fun _ -> f ()) with
    | Ok v -> v
    | Error failure -> Outcome.raise failure
  in
  with_place run

let stop_others racers me =
  Fiber.stop_each (List.filter (fun racer -> racer != me) (Atomic.get racers))

let first fs =
  if fs = [] then invalid_arg "Muster.Task.first: empty list";
  let winner = Atomic.make None and struck = Atomic.make None and racers = Atomic.make [] in
  let failures = Leftmost.create () in
  let race f () =
    let me = Fiber.get () in
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
  Option.iter Fiber.rethrow (Atomic.get struck);
  match Atomic.get winner with
  | Some v -> v
  | None ->
    Fiber.reraise failures;
    List.iter Promise.result tasks;
    assert false
