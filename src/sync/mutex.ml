(* A mutex is one atomic with an immutable state, changed as a whole by compare-and-set.

   {v
     Free <--lock, unlock--> Held h --a waiter comes--> Busy { holder = h; queue; ... }
   v}

   Parties: the holder; strands that come; waiters, asleep in [queue] or in [first]; at most one
   waiter that has been woken and is on its way.

   holder  0: nobody. Only the holder leaves Held, and unlocks a Busy.
   queue   waiters that have not been woken, the oldest first. Those whose tasks were cancelled are
           dead: a grant fails.
   woken   a waiter has been granted its wake by an unlock, to try again, and has not yet tried.
           While it is set no unlock wakes another one. Whoever is granted clears it, when it takes
           the lock or goes to [first]; who sets it and finds the waiter dead clears it too.
   first   the waiter that was woken and found the lock taken. The next unlock hands it the lock:
           the holder is [in_transit] until the waiter runs and puts its own number there. If it is
           dead the unlocker goes on to unlock in its place. (Its number as the holder would not do:
           the task that was cancelled may try to lock meanwhile, and is no holder.)

   So a free lock goes to whoever comes first, and no waiter is passed over more than once after
   its turn has come. Handing over always would leave the lock idle until a worker gets to the
   waiter, with everybody else queueing up behind it (convoys, Blasgen et al. 1979); the measurements are
   in bench/README.md. The mixture is that of Go's sync.Mutex and of WebKit's locks (Pizlo, 2016).

   No wake-up is lost: a waiter enters the queue by a compare-and-set from a state that has a holder,
   and that one unlocks later. If an unlock finds a queue, it wakes somebody, or somebody is woken
   already, who will find the lock free or wait in [first]. In any state with a queue or [first],
   therefore, there is a holder, or somebody on the way to become one, or the one who has just
   found a waiter dead and looks for the next ([wake_next]).

   At rest: Free, or Held by one that runs. *)

open Muster_core

type state =
  | Free
  | Held of int
  | Busy of busy

and busy = { holder : int; woken : bool; first : Waiter.t option; queue : Waiter.t Fifo.t }

type t = state Atomic.t

(* No strand's number. *)
let in_transit = max_int

let create () = Atomic.make Free
let replace t seen state = Atomic.compare_and_set t seen state

let state b =
  if b.woken || Option.is_some b.first || not (Fifo.is_empty b.queue) then Busy b
  else if b.holder = 0 then Free
  else Held b.holder

let holder = function Free -> 0 | Held h -> h | Busy b -> b.holder
let is_mine t = holder (Atomic.get t) = Strand.current ()

let misuse fn what = invalid_arg ("Muster.Mutex." ^ fn ^ ": the mutex is " ^ what)

(* {2 Wake} *)

(* It may be clear already: who was struck by an asynchronous exception does this again. *)
let rec clear_woken t =
  match Atomic.get t with
  | Busy b as seen -> if not (replace t seen (state { b with woken = false })) then clear_woken t
  | Free | Held _ -> ()

(* Likewise: a grant that has counted before counts. *)
let grant e = Waiter.grant e || Waiter.was_granted e

(* Where a lock is free and nobody is on the way to it. *)
let rec wake_next t =
  match Atomic.get t with
  | Busy ({ holder = 0; woken = false; _ } as b) as seen -> (
    match Fifo.pop b.queue with
    | None -> ()
    | Some (e, queue) ->
      if not (replace t seen (Busy { b with woken = true; queue })) then wake_next t
      else Outcome.firmly wake t e)
  | Free | Held _ | Busy _ -> ()

and wake t e =
  if not (grant e) then begin
    clear_woken t;
    wake_next t
  end

(* For one whose turn it was. *)
let pass_on t () = clear_woken t; wake_next t

(* {2 Unlock} *)

let rec release t me = function
  | Held h as seen when h = me -> replace t seen Free || release t me (Atomic.get t)
  | Busy ({ first = Some e; _ } as b) as seen when b.holder = me ->
    if replace t seen (Busy { b with holder = in_transit; first = None }) then hand_to t e
    else release t me (Atomic.get t)
  | Busy b as seen when b.holder = me ->
    if b.woken then
      replace t seen (Busy { b with holder = 0 }) || release t me (Atomic.get t)
    else release_and_wake t me seen b
  | Free | Held _ | Busy _ -> false

and hand_to t e =
  Outcome.firmly (fun t e -> if not (grant e) then ignore (release t in_transit (Atomic.get t))) t e;
  true

and release_and_wake t me seen b =
  match Fifo.pop b.queue with
  | None -> replace t seen Free || release t me (Atomic.get t)
  | Some (e, queue) ->
    if replace t seen (Busy { b with holder = 0; woken = true; queue }) then (Outcome.firmly wake t e; true)
    else release t me (Atomic.get t)

(* An asynchronous exception does not leave it locked. *)
let unlock t =
  let seen = Atomic.get t in
  match release t (Strand.current ()) seen with
  | true -> ()
  | false ->
    misuse "unlock"
      (if holder seen = 0 then "not locked" else "locked by another task or thread")
  | exception exn ->
    let failure = Outcome.caught exn in
    ignore (release t (Strand.current ()) (Atomic.get t));
    Outcome.raise failure

(* {2 Lock} *)

(* [woken]: this strand is the one that was woken, if anybody is. *)
let rec take t me ~woken =
  match Atomic.get t with
  | Free as seen -> replace t seen (Held me) || take t me ~woken
  | Busy ({ holder = 0; _ } as b) as seen ->
    replace t seen (state { b with holder = me; woken = b.woken && not woken })
    || take t me ~woken
  | Held _ | Busy _ -> false

let rec take_soon t me ~woken turns =
  take t me ~woken
  || (turns > 0 && (Domain.cpu_relax (); take_soon t me ~woken (turns - 1)))

let queued b e ~woken =
  if woken then { b with woken = false; first = Some e }
  else { b with queue = Fifo.push ~is_live:Waiter.is_waiting b.queue e }

(* Whether it waits: not if the lock is free now. *)
let rec join t e ~woken =
  let queue_up seen b = replace t seen (Busy (queued b e ~woken)) || join t e ~woken in
  match Atomic.get t with
  | Held holder as seen ->
    queue_up seen { holder; woken = false; first = None; queue = Fifo.empty }
  | Busy b as seen when b.holder <> 0 -> queue_up seen b
  | Free | Busy _ -> false

type turn =
  | None_yet
  | Woken  (** it may try *)
  | Handed  (** it has the lock, in transit *)

(* What comes of the wait is the strand's turn, as soon as it is over. *)
let sleep t ~wait turn =
  let woken = !turn = Woken and joined = ref false in
  let register e =
    joined := join t e ~woken;
    if !joined then turn := None_yet else ignore (Waiter.grant e)
  in
  wait register;
  if !joined then turn := if woken then Handed else Woken

let rec accept t me =
  match Atomic.get t with
  | Busy b as seen when b.holder = in_transit ->
    if not (replace t seen (state { b with holder = me })) then accept t me
  | Free | Held _ | Busy _ -> assert false (* only its own unlock would leave that state *)

let rec try_and_sleep t me ~wait turn =
  if not (take_soon t me ~woken:(!turn = Woken) (Strand.spins ())) then begin
    sleep t ~wait turn;
    if !turn = Handed then accept t me else try_and_sleep t me ~wait turn
  end

(* A strand that is cancelled, or struck by an asynchronous exception, leaves its turn to the next. *)
let leave_turn t turn =
  match !turn with
  | None_yet -> ()
  | Woken -> Outcome.firmly pass_on t ()
  | Handed -> ignore (release t in_transit (Atomic.get t))

let await t me ~wait =
  let turn = ref None_yet in
  Outcome.on_failure (fun () -> try_and_sleep t me ~wait turn) (fun _ -> leave_turn t turn)

let[@inline never] contend t me =
  if holder (Atomic.get t) = me then misuse "lock" "already locked by this task or thread";
  await t me ~wait:Waiter.wait

let lock t =
  let me = Strand.current () in
  if not (replace t Free (Held me)) then contend t me

let try_lock t = take t (Strand.current ()) ~woken:false

let relock t =
  let me = Strand.current () in
  if not (replace t Free (Held me)) then await t me ~wait:Waiter.wait_firmly

let protect t f =
  lock t;
  Outcome.finally unlock t f
