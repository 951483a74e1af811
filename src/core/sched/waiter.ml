(* {v Idle --arm--> Armed wake --grant--> Granted
        \                 \
         +---- grant ------+--cancel--> Dead v}

   [register] shows the waiter to others before the thread is ready to sleep, so a grant may come
   first: arming is a compare-and-set from Idle that fails then. Granting and cancelling are
   compare-and-sets too, so exactly one of them ends the wait, and wakes once.

   A thread that stops a scope comes to the scope's waits one after the other, and may be held up on
   the way. Others know meanwhile that the scope is stopped, so none of their events may end a wait
   that is to be cancelled. So a grant looks at the context, and cancels the wait itself. Such a
   waiter still needs waking: the stop, or a grant, has yet to come to it. *)

(* With the context while it counts: a waiter that stays somewhere when its wait is over keeps no
   task's result in memory. *)
type state = Idle of Promise.any | Armed of Promise.any * (unit -> unit) | Granted | Dead
type t = state Atomic.t

let make context = Atomic.make (Idle context)
let is_pending w = match Atomic.get w with Idle _ | Armed _ -> true | Granted | Dead -> false
let was_granted w = match Atomic.get w with Granted -> true | Idle _ | Armed _ | Dead -> false
let is_dead w = Atomic.get w == Dead
let is_cancelled context = context != Place.uncancelled && Promise.is_stopped context

let is_waiting w =
  match Atomic.get w with
  | Idle context | Armed (context, _) -> not (is_cancelled context)
  | Granted | Dead -> false

let rec finish w verdict =
  match Atomic.get w with
  | Idle _ as seen -> Atomic.compare_and_set w seen verdict || finish w verdict
  | Armed (_, wake) as seen ->
    if Atomic.compare_and_set w seen verdict then (
      wake ();
      true)
    else finish w verdict
  | Granted | Dead -> false

let kill w = ignore (finish w Dead)

let grant w =
  match Atomic.get w with
  | (Idle context | Armed (context, _)) when is_cancelled context ->
    kill w;
    false
  | _ -> finish w Granted

let has_granted w = grant w || was_granted w

(* An asynchronous exception may end a wait too. If the grant was first, the event must not be
   lost: the wait returns, and the exception is raised later (Worker.raise_later). [Cancelled] is
   not: it was the fiber's own, which is told again, as other schedulers tell theirs. *)
let cut_short w part failure =
  if finish w Dead then Outcome.raise failure
  else if failure.exn == Promise.Cancelled then Fiber.put_back part ()
  else if not (Dla.is_cancellation failure.exn) then Worker.raise_later failure.exn

let sleep ~firmly event w =
  let arm wake =
    match Atomic.get w with
    | Idle context as seen when Atomic.compare_and_set w seen (Armed (context, wake)) -> ()
    | _ -> wake ()
  in
  Worker.wait ~firmly event ~ready:(fun () -> not (is_pending w)) ~register:arm

let[@inline never] note_in_time () =
  Option.iter Fiber.note_checked (Place.owned_place ())

let[@inline] need_not_wait () =
  Yield.poll ();
  if Atomic.get Place.attention land Place.stops <> 0 then note_in_time ()

let wait_as ~firmly event (fiber : Fiber.t) register =
  let context = if firmly then Place.uncancelled else fiber.context in
  let w = make context and hook = Fiber.own_hook fiber and part = Fiber.part_of fiber in
  let on_stop () = kill w in
  (match
     register w;
     if context != Place.uncancelled && is_pending w then Fiber.heed_stop fiber hook on_stop;
     if is_pending w then sleep ~firmly event w;
     if is_cancelled context && not (is_dead w) then Cancellation.keep context
   with
  | () -> Entries.rest hook on_stop
  | exception exn ->
    let failure = Outcome.caught exn in
    Entries.rest hook on_stop;
    cut_short w part failure);
  if is_dead w then Fiber.deliver_here ()

let wait_firmly event register = wait_as ~firmly:true event (Fiber.mine ()) register

let wait event register =
  Fiber.check ();
  wait_as ~firmly:false event (Fiber.mine ()) register

let wait_for event p =
  wait event (fun w ->
      let is_live () = is_waiting w and grant_it () = ignore (grant w) in
      Promise.on_done p ~is_live grant_it)

(* Code that goes on though it was told is as code that was granted: its value counts, and it has
   met a checkpoint. *)
let wait_or_leave event register ~leave =
  Fiber.check ();
  let fiber = Fiber.mine () in
  let part = Fiber.part_of fiber in
  try wait_as ~firmly:false event fiber register
  with exn ->
    let failure = Outcome.caught exn in
    if leave () && (failure.exn == Promise.Cancelled || Dla.is_cancellation failure.exn) then begin
      Fiber.put_back part ();
      Cancellation.keep part.of_
    end
    else Outcome.raise failure
