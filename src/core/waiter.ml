(* One wait for one event.

   {v Idle --arm--> Armed wake --grant--> Granted
        \                 \
         +---- grant ------+--cancel--> Dead v}

   [register] shows the waiter to others before the thread is ready to sleep, so a grant may come
   first: arming is a compare-and-set from Idle that fails then. Granting and cancelling are
   compare-and-sets too, so exactly one of them ends the wait, and wakes once. *)

type state = Idle | Armed of (unit -> unit) | Granted | Dead
type t = state Atomic.t

let is_waiting w = match Atomic.get w with Idle | Armed _ -> true | Granted | Dead -> false
let was_granted w = match Atomic.get w with Granted -> true | Idle | Armed _ | Dead -> false

let rec finish w verdict =
  match Atomic.get w with
  | Idle as seen -> Atomic.compare_and_set w seen verdict || finish w verdict
  | Armed wake as seen ->
    if Atomic.compare_and_set w seen verdict then (
      wake ();
      true)
    else finish w verdict
  | Granted | Dead -> false

let grant w = finish w Granted
let has_granted w = grant w || was_granted w

let rec grant_each waiters () =
  match waiters with
  | [] -> ()
  | w :: others ->
    ignore (grant w);
    grant_each others ()

let grant_all waiters = Outcome.firmly grant_each waiters ()

(* An asynchronous exception may end a wait too. If the grant was first, the event must not be
   lost: the wait returns, and the exception is raised later (Worker.raise_later). Not [Cancelled],
   which is dropped: it was raised by a handler's own await. Or, where a handler cannot be told from
   the strand (Machine.interruptions), it was the strand's own, which then is told again.

   If not, [w] is dead: nobody grants it to one who is gone. *)
let until_over w go =
  let tell_again = Context.keep () in
  match go () with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    if finish w Dead then Outcome.raise failure
    else if failure.exn == Promise.Cancelled then tell_again ()
    else Worker.raise_later failure.exn

let sleep w =
  let arm wake = if not (Atomic.compare_and_set w Idle (Armed wake)) then wake () in
  Worker.wait ~ready:(fun () -> not (is_waiting w)) ~register:arm

let wait_firmly register =
  let w = Atomic.make Idle in
  until_over w (fun () ->
      register w;
      if is_waiting w then sleep w)

let stop_with w context =
  if context != Place.uncancelled then
    Promise.on_stop context ~is_live:(fun () -> is_waiting w) (fun () -> ignore (finish w Dead))

let wait register =
  Context.check ();
  let context = Context.get () and w = Atomic.make Idle in
  until_over w (fun () ->
      register w;
      if is_waiting w then stop_with w context;
      if is_waiting w then sleep w);
  if Atomic.get w == Dead then Context.deliver_here ()

let wait_or_leave register ~leave =
  let tell_again = Context.keep () in
  try wait register
  with exn ->
    let failure = Outcome.caught exn in
    if leave () && failure.exn == Promise.Cancelled then tell_again () else Outcome.raise failure
