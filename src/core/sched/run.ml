(* A task from a deque or the inbox runs under the handler of [Suspend] in a fiber of its own, and
   so does a region's share on top of another fiber. A fiber that goes on has its handler. A branch
   that its forker takes back runs in place, as does a share at the bottom of a resident's stack. *)

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

let raise_failure_at k (failure : Outcome.failure) =
  Effect.Deep.discontinue_with_backtrace k failure.exn failure.backtrace

let raise_at k exn = raise_failure_at k (Outcome.caught exn)

(* An exception that strikes there, or after the fiber's last step, is for the code beneath. *)
let resumed = Promise.home ~unheard:(fun _ { failure; _ } -> Outcome.raise failure) Promise.Nobody

(* The entry for a deque to go on with the fiber, which has left this worker. An exception that
   strikes before is raised where the fiber waits. *)
let set_aside pool (fiber : Fiber.t) k =
  let records = Machine.backtrace_status () in
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
  let entry = Promise.make resumed rest in
  Fiber.leave fiber;
  Publish.count_suspended pool 1;
  entry

(* May be done twice: all but one of its entries are stale. *)
let resume pool entry =
  let wake () = Outcome.firmly Publish.submit pool (Promise.any entry) in
  wake

(* The fiber writes that it waits and then reads whether it was struck. *)
let note_wait resume (call : Slot.call) =
  Atomic.set call.waits resume;
  if Option.is_some (Atomic.get call.struck) then resume ()

(* A share that suspends frees its worker's mailbox before another worker can go on with it. An
   exception that strikes here is the fiber's, unless another worker goes on with it already. *)
let suspend pool register k =
  let fiber = (Fiber.place ()).own.fiber in
  match
    Option.iter Share.free_mailbox (P.owned_place ());
    set_aside pool fiber k
  with
  | exception exn -> raise_at k exn
  | entry -> (
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
  let run x =
    Machine.record_backtrace records;
    Fiber.switch w fiber;
    f x
  in
  Outcome.finally put_back () run x

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
  | exception exn ->
    Fiber.put (Fiber.place_after w) before;
    if exn == Promise.Cancelled then Promise.stop p else raise exn

(* A branch, or a fiber that goes on, sets its context itself. An orphan is dropped without a fiber:
   a stopped scope may have many. *)
let execute (w : P.t) ~records p =
  match Promise.state p with
  | Ready (_, { lineage = Within _ as lineage; _ }, _) when Promise.is_orphan lineage ->
    Promise.stop p
  | Ready (_, home, _) ->
    Counts.add_task w.own.counts;
    (try
       if home == resumed then aside w ~records w.own.fiber run_task p
       else if home == Promise.nowhere then
         aside w ~records (Fiber.plain w ~handled:true) in_fiber p
       else aside w ~records (Fiber.make w p home) in_fiber p
     with Promise.Cancelled -> Promise.stop p)
  | Running _ | Returned _ | Raised _ -> ()

let share_and_finish ({ share; report; _ } : Mailbox.letter) index ~begun ~finish =
  begun := true;
  match Share.note_failure share index report with
  | () -> Outcome.firmly finish () ()
  | exception exn ->
    Outcome.firmly finish () ();
    raise exn

(* In a fiber of its own, as the one beneath may hold the very lock for which the share will wait.
   [end_job] is called once, whatever strikes: all closures are made before the job is taken. *)
let serve_on_top (w : P.t) job =
  let letter = Mailbox.blank () and begun = ref false and over = ref false in
  let finish () () =
    let here = Fiber.place_after w == w in
    if not !over then begin
      over := true;
      Share.end_job w ~here letter.report ~from:letter.from
    end
  in
  let body () = share_and_finish letter w.index ~begun ~finish in
  let run = Compat.fibers handler body in
  let fiber = Fiber.plain w ~handled:true in
  Share.begin_job w job
  && begin
    Mailbox.read w.mailbox ~into:letter;
    (try aside w ~records:letter.backtrace fiber run ()
     with exn ->
       if !begun then raise exn;
       Share.note letter.report w.index exn;
       Share.end_job w ~here:true letter.report ~from:letter.from);
    true
  end

(* Whether there was a job. Unbroken from its beginning to the handler. *)
let serve_one (w : P.t) ~on_top =
  Share.free_mailbox w;
  let job = Mailbox.posted w.mailbox in
  job <> Mailbox.none
  &&
  if on_top then serve_on_top w job
  else
    let fiber = Fiber.plain w ~handled:false in
    Share.begin_job w job
    && begin
      let { Mailbox.share; report; from; backtrace; _ } = w.mailbox in
      Machine.record_backtrace backtrace;
      match Share.run_in fiber w w.index share report with
      | () ->
        Share.end_job w ~here:true report ~from;
        true
      | exception exn ->
        Share.end_job w ~here:true report ~from;
        raise exn
    end

let serve w = ignore (serve_one w ~on_top:true)
