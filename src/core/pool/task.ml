module P = Place

type 'a t = 'a Promise.t

exception Cancelled = Promise.Cancelled

(* {2 Hooks and handlers}

   A hook is no part of the code that it interrupts. Else it would take a [Cancelled] that is
   meant for the fiber beneath, and a lock which that fiber holds would refuse the hook as its
   holder. So each hook is a fiber of its own; when it waits, its caller goes on. *)

(* The hook's exception goes to the caller, unless the hook has waited: then nobody is beneath. *)
let apart f =
  match P.owned_place () with
  | None -> f ()
  | Some w ->
    let call = Run.call () in
    let later exn =
      if exn == Sys.Break then Worker.raise_later exn else Uncaught.complain_of_handler exn
    in
    let run () = try f () with exn when Run.has_waited call -> later exn in
    let fiber = { (Fiber.plain w ~handled:true) with call = Some call } in
    Run.aside w ~records:(Machine.backtrace_status ()) fiber (Compat.fibers Run.handler run) ()

(* The hook is called once, and not after its removal. An asynchronous exception that strikes before
   its first step leaves it to be called again (Entries). *)
let hook_entry hook =
  let over = Atomic.make false and what = "a function given to Task.on_cancel" in
  let call () = if not (Atomic.exchange over true) then Uncaught.protect what hook in
  (over, Entries.entry (fun () -> apart call))

let set_uncaught_handler f =
  Uncaught.set_handler (fun exn backtrace -> apart (fun () -> f exn backtrace))

(* {2 Start} *)

let send pool promise =
  if not (Caller.send pool (Promise.any promise)) then Caller.refuse "Task.async" pool ();
  promise

let offer (w : P.t) promise =
  Yield.look_up w;
  let w = Fiber.place_after w in
  Budget.promise_one w.pool;
  Publish.offer w ~wake:true (Promise.any promise);
  promise

let rec from_outside f =
  let pool = Pool.current () in
  let home = Waiting.started (Fiber.home_of pool Alone (Fiber.locals ())) in
  let f = Fiber.traced ~code:0 f in
  match send pool (Promise.make home f) with
  | promise -> promise
  | exception Invalid_argument _ when Pool.current () != pool -> from_outside f

(* Code in a pool may use it to the end: closing waits for it. *)
let[@inline] async_at (w : P.t) f =
  Fiber.check_at w;
  offer w (Promise.make (Waiting.started (Fiber.home w)) (Fiber.traced ~code:0 f))

let[@inline never] async f =
  Stack_room.reserve ();
  let w = P.current () in
  if P.owned w then async_at w f
  else match P.owned_place () with Some w -> async_at w f | None -> from_outside f

(* {2 Await} *)

let event = Event.make "Task.await"

let wait t =
  let me = Fiber.get () in
  let event = Waiting.about event Waiting.task t in
  if me == P.uncancelled then Caller.wait event t
  else if Cancellation.task_of me == Promise.any t then
    invalid_arg "Muster.Task.await: the task that awaits is the awaited one"
  else Waiter.wait_for event t

let wait_if_needed t = if not (Promise.is_done t) then wait t

(* A task that nobody has begun begins here, on a fiber of its own: its waiter would wait anyway.
   If the task waits in turn, its waiter waits beside it, and can be told of a cancellation
   meanwhile. *)
let begin_at t (w : P.t) =
  if Promise.is_ready t then begin
    Run.refuse_endless w;
    Run.execute w ~records:(Machine.backtrace_status ()) (Promise.any t);
    Deque.retire (Fiber.place_after w).deque (Promise.any t)
  end

let join_at t (w : P.t) =
  Run.serve w;
  begin_at t w;
  wait_if_needed t

(* A worker of another pool comes in to begin the task, and then stays with its own. A thread that
   works nowhere comes in until the task has ended, but not for one that runs in a closing pool. *)
let join_in (pool : P.pool) t =
  match P.owned_place () with
  | Some w when w.pool == pool -> join_at t w
  | Some _ ->
    if Promise.is_ready t then Caller.with_worker Here Stay pool (begin_at t);
    Load.stand_in pool;
    wait_if_needed t
  | None ->
    let is_late () = Caller.is_late pool && not (Promise.is_ready t) in
    if is_late () || Fiber.is_elsewhere () then wait_if_needed t
    else Caller.with_worker Here Stay pool (join_at t)

let join_from t (home : Promise.home) =
  match home.owner with P.Pool pool -> join_in pool t | _ -> wait_if_needed t

let[@inline never] await_slowly t home =
  let join () =
    Stack_room.reserve ();
    join_from t home;
    Fiber.check ()
  in
  Outcome.on_failure join (fun _ -> Promise.forgo t home);
  Promise.result t

let[@inline never] await t =
  (match Promise.state t with
  | Ready (_, home, _) ->
    let w = P.current () in
    if Fiber.home w == home && Mailbox.is_idle w.mailbox && P.owned w then
      Run.on_top w (Promise.any t)
  | Running _ | Returned _ | Raised _ -> ());
  match Promise.state t with
  | (Returned _ | Raised _) as state ->
    Fiber.check ();
    Promise.value state
  | Ready (_, home, _) | Running (home, _) -> await_slowly t home

let join t =
  Fiber.check ();
  match Promise.state t with
  | Returned _ | Raised _ -> ()
  | Ready (_, home, _) | Running (home, _) -> join_from t home

(* {2 Cancellation} *)

let check () =
  Fiber.check ();
  Yield.poll ()

let yield () =
  Fiber.check ();
  match P.owned_place () with Some w -> Yield.take_turns w | None -> Machine.yield_domain ()

let cancel t = Fiber.stop t

(* {2 Time limits of waits}

   Workers look at the clock, and threads that sleep outside. A fiber of another scheduler, whose
   thread does neither, has a task that waits until then: so some worker stays to look (Resident).
   *)

let time = Event.make "the time limit of a wait outside"

let keeper at =
  let register waiter = ignore (Timer.add at (fun () -> ignore (Waiter.grant waiter))) in
  async (fun () -> Waiter.wait time register)

let at when_due what =
  let timer = Timer.add when_due what in
  let keeper = if Fiber.is_elsewhere () then Some (keeper when_due) else None in
  fun () -> Timer.remove timer; Option.iter cancel keeper

(* Nothing is left of a hook whose task has ended. *)
let on_cancel hook =
  let me = Fiber.get () in
  if me != P.uncancelled then Promise.on_stop me (snd (hook_entry hook))

let remove (over, entry) =
  Atomic.set over true;
  Entries.forget entry

let with_on_cancel hook f =
  let me = Fiber.get () and (_, entry) as it = hook_entry hook in
  let run () =
    if me != P.uncancelled then Promise.on_stop me entry;
    f ()
  in
  Outcome.finally remove it run ()
