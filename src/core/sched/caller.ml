(* A caller's thread takes a place, which is made if all are taken, works there until its function
   has ended, and leaves. So no caller waits for another, nor for a resident that may be waiting for
   it.

   A place is found through domain-local storage, unless another thread of the domain is in a
   pool already: then by its owner (Place.owned_place). A thread that comes back to a pool through
   another one takes a further place there, as any caller. *)

module P = Place

let invalid fn fmt = Printf.ksprintf (fun s -> invalid_arg ("Muster." ^ fn ^ ": " ^ s)) fmt
let refuse fn (pool : P.pool) () = invalid fn "pool %S is closed" pool.name

let has_place pool = Array.exists P.owned (P.workers pool)

(* A thread that is within may use the pool to the end: closing waits for it. *)
let is_late (pool : P.pool) = Atomic.get pool.closing && not (has_place pool)

(* From place [i] on. Unbroken from the moment when a place is taken. *)
let rec take_from pool (workers : P.t array) i =
  if i = Array.length workers then begin
    P.add_place pool workers;
    take_from pool (P.workers pool) i
  end
  else if (not workers.(i).resident) && P.claim workers.(i) (Machine.thread_id ()) then workers.(i)
  else take_from pool workers (i + 1)

(* [shown] is what storage shows: is that nobody's place, or the caller's own? *)
let is_free shown = shown == P.nobody || P.owned shown

(* Storage shows the calling thread's place, unless it shows another thread's. Between the look and
   the write there is no allocation, at which that thread could get its turn. The result is what
   storage showed; [on_domain] tells which it was. *)

let show (w : P.t) =
  let shown = P.current () in
  if is_free shown then Compat.set P.here w
  else begin
    Atomic.set w.on_domain false;
    ignore (Atomic.fetch_and_add P.unshown 1)
  end;
  shown

let hide (w : P.t) ~shown =
  if Atomic.get w.on_domain then (if P.current () == w then Compat.set P.here shown)
  else begin
    Atomic.set w.on_domain true;
    ignore (Atomic.fetch_and_add P.unshown (-1))
  end

let go_back w ~shown outer =
  hide w ~shown;
  Option.iter Share.come_back outer

type visit = {
  w : P.t;
  outer : P.t option;  (** where the caller worked until then, in another pool *)
  shown : P.t;  (** by storage *)
  fiber : Fiber.t;  (** the caller's function *)
}

let come_in (w : P.t) ~outer ~number =
  P.note_end ();
  let shown = show w in
  if Atomic.get w.away then Share.come_back w;
  Load.end_stand_in w.pool;
  Tell.arrive w;
  Load.tell_budget w;
  let fiber = Fiber.within w ~number ~part_of:outer in
  Option.iter Share.go_away outer;
  { w; outer; shown; fiber }

(* The place is anybody's again. *)
let let_go w = P.set_owner w 0

(* An asynchronous exception leaves no place taken: the code is unbroken from taking one to the
   handler, and in the caller of this, which goes on with [visiting] or [leave] at once. *)
let enter pool =
  let outer = P.owned_place () and number = Fiber.number () in
  let before = P.current () in
  let w = take_from pool (P.workers pool) 0 in
  match come_in w ~outer ~number with
  | visit -> visit
  | exception exn ->
    let shown = if is_free before then before else P.nobody in
    Outcome.finally let_go w (go_back w ~shown) outer;
    raise exn

let keeps_time (pool : P.pool) = Atomic.get pool.suspended > 0 && Timer.are_set ()

(* A wait through domain-local-await (Dla) suspends its task. A thread that storage does not
   show as the worker blocks in such a wait, as it would without a pool. *)
let as_host w f =
  if P.current () == w || Dla.has_each_its_own () then Trigger.within (fun () -> f w) else f w

(* The tasks that are left are for residents; where there can be none, the caller does them. If the
   machine has stopped the thread for longer than its request holds, it asks again. *)
let rec finish_up (w : P.t) =
  Deque.trim w.deque;
  let pool = w.pool in
  if Atomic.get pool.residents = 0 && Sleep.something_is_left pool then begin
    Sleep.ask_for_one pool;
    if Atomic.get pool.residents > 0 || Budget.needed pool = 0 then finish_up w
    else
      let until () = not (Sleep.something_is_left pool) in
      as_host w (Worker.work ~on_top:true ~until)
  end

(* May be done twice. *)
let pack_up { w; outer; shown; _ } () =
  Run.serve w;
  Tell.leave w;
  if outer = None && P.current () == w then Heap.give_back ~chosen:w.pool.settings.minor_heap;
  go_back w ~shown outer

let tell_of_leave (w : P.t) () =
  let pool = w.pool in
  (* The last resident may have left meanwhile, in the belief that this caller was there. *)
  if Atomic.get pool.residents = 0 && (Sleep.something_is_left pool || keeps_time pool) then
    Sleep.ask_for_one pool;
  (* A region's caller may be waiting for it: it will stand in now. *)
  if not (Mailbox.is_idle w.mailbox) then Parking.wake_all pool.parking;
  (* Every resident may be blocked until a task that lies here has run. *)
  if not (Deque.is_empty w.deque) then Sleep.watch ();
  if Atomic.get pool.closing then Publish.announce_leave pool

let go_out w =
  let_go w;
  Outcome.firmly tell_of_leave w ()

(* An asynchronous exception is raised afterwards. A second one leaves something unpacked, but never
   the place taken. *)
let pack_up_firmly visit = Outcome.firmly pack_up visit ()
let leave visit = Outcome.finally go_out visit.w pack_up_firmly visit
let finish_and_leave visit = Outcome.finally leave visit finish_up visit.w

let waiting_for p wait =
  let over = Atomic.make false in
  let is_live () = not (Atomic.get over) in
  let ready () = Promise.is_done p and register wake = Promise.on_done p ~is_live wake in
  Outcome.on_failure (fun () -> wait ~ready ~register) (fun _ -> Atomic.set over true)

let wait_as w p = waiting_for p (Worker.help w)

(* {2 The caller's fiber}

   [f] runs in a fiber of its own, so that nothing ever lies on top of it: where it waits, the
   thread goes on with the place's loop, and any worker may go on with the fiber. The thread returns
   when that has ended. An exception that strikes the thread meanwhile is raised where the fiber
   waits, or at its next checkpoint. One more, before that was raised, ends the call, and the fiber
   goes on by itself. *)

let rec to_the_end call p ~put_back ~wait step =
  match step () with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    put_back ();
    if Promise.claim p || not (Fiber.strike call failure) then Outcome.raise failure;
    to_the_end call p ~put_back ~wait wait

let in_fiber (fiber : Fiber.t) f (w : P.t) =
  let f = Fiber.traced ~code:Trace.by_place (fun () -> f w) in
  let call = Run.call () and p = Promise.(make nowhere f) in
  let beneath = w.own.fiber in
  let put_back () = Fiber.switch w beneath in
  let wait () = if not (Promise.is_done p) then wait_as w p in
  let start () =
    Fiber.switch w { fiber with call = Some call };
    Run.in_fiber (Promise.any p);
    put_back ();
    wait ()
  in
  Counts.add_task w.own.counts;
  to_the_end call p ~put_back ~wait start;
  Option.iter Outcome.raise (Fiber.take_strike call);
  Promise.result p

(* Calls [f], which never suspends, as the caller. *)
let as_caller (fiber : Fiber.t) f w =
  Run.aside w ~records:(Machine.backtrace_status ()) { fiber with handled = false } f w

(* Unbroken until the handler: an exception that struck there would leave the place taken. *)
let visiting visit run f =
  match as_host visit.w (run visit.fiber f) with
  | result ->
    finish_and_leave visit;
    result
  | exception exn ->
    let failure = Outcome.caught exn in
    finish_and_leave visit;
    Fiber.rethrow failure

let send pool task =
  Publish.kept_open pool (fun () ->
      let is_open = not (is_late pool) in
      if is_open then Publish.send pool task;
      is_open)

let wait event p = waiting_for p (Worker.wait ~firmly:false event)

let place_in pool =
  match P.owned_place () with Some w when w.pool == pool -> Some w | Some _ | None -> None

(* {2 Fibers of other schedulers}

   To work in a pool they would hold up their loop. So their function is a task, which counts as the
   fiber, for which they wait. A fiber that is cancelled meanwhile cancels the task, and leaves at
   once: it could not wait again. Until the task ends two parties have the fiber's number. *)

let event = Event.make "the end of a call in a pool"

let hand_over (pool : P.pool) ~if_closed f =
  let home = Fiber.home_of pool Alone (Fiber.locals ()) and number = Fiber.number () in
  let run () =
    let w = Fiber.place () in
    Fiber.take_number w number;
    f w
  in
  let task = Promise.make home run in
  let leave _ = Fiber.leave_behind task number; Promise.forgo task home in
  if not (send pool (Promise.any task)) then if_closed ()
  else (Outcome.on_failure (fun () -> wait event task) leave; Promise.result task)

(* {2 Working in a pool} *)

type how = Anywhere | Here | Plainly
type 'a closed = Refuse of string | Instead of (unit -> 'a) | Stay

(* Whether the pool closes is asked once more after entering: so a closing pool is either left again
   or waits. *)
let visit_unless_closed pool run ~is_refused ~if_closed f =
  if is_refused () then if_closed ()
  else
    match enter pool with
    | visit when is_refused () ->
      leave visit;
      if_closed ()
    | visit -> visiting visit run f

let answer pool = function
  | Refuse fn -> refuse fn pool
  | Instead f -> f
  | Stay -> fun () -> assert false (* it is never refused *)

let with_worker how closed pool f =
  Stack_room.reserve ();
  if how = Anywhere && Fiber.is_elsewhere () then hand_over pool ~if_closed:(answer pool closed) f
  else
    match place_in pool with
    | Some w -> f w
    | None ->
      let stays = match closed with Stay -> true | Refuse _ | Instead _ -> has_place pool in
      let is_refused () = Atomic.get pool.Slot.closing && not stays in
      let run = if how = Plainly then as_caller else in_fiber in
      visit_unless_closed pool run ~is_refused ~if_closed:(answer pool closed) f
