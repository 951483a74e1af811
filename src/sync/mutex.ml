(* A mutex is one atomic with an immutable state, changed as a whole by compare-and-set.

   {v
     Free <--lock, unlock--> Held h --a waiter comes--> Busy { holder = h; queue; ... }
   v}

   Parties: the holder; newcomers; waiters, asleep in [queue] or in [first]; at most one waiter that
   has been woken and is on its way.

   holder  0: nobody. Only the holder leaves Held, and unlocks a Busy.
   queue   waiters that have not been woken, the oldest first. Those whose tasks were cancelled are
           dead: a grant fails.
   woken   an unlock has granted a waiter, which has yet to try the lock. Meanwhile no unlock wakes
           another one. The waiter clears it, when it takes the lock or goes to [first]. An unlocker
           that finds the waiter dead passes it on to the next, or clears it.
   first   the waiter that was woken and found the lock taken. The next unlock hands it the lock:
           the holder is [in_transit] until the waiter runs and puts its own number there. (Until
           then its task may be cancelled and try to lock, and is no holder.) If it is dead the
           unlocker unlocks in its place.

   So a free lock goes to the first party that asks, and no waiter is overtaken more than once after
   its turn has come (as in Go's sync.Mutex and WebKit's locks; Pizlo, 2016). Handing over always
   would leave the lock idle until a worker gets to the waiter (convoys, Blasgen et al. 1979).

   No wake-up is lost: a waiter enters the queue by a compare-and-set from a state that has a
   holder, and that one unlocks later. If an unlock finds a queue, it wakes a waiter, or a waiter is
   woken already. That one will find the lock free or wait in [first]. So any state with a queue or
   [first] has a holder, a party that is about to become one, or an unlocker that has just found a
   waiter dead and looks for the next ([passing_on]).

   At rest: Free, or Held by a party that runs. *)

module Outcome = Muster_core.Outcome
module Fiber = Muster_core.Fiber
module Waiter = Muster_core.Waiter

type state = Free | Held of int | Busy of busy
and busy = { holder : int; woken : bool; first : Waiter.t option; queue : Waiter.t Fifo.t }

type t = state Atomic.t

(* No fiber's number. *)
let in_transit = max_int
let create () = Atomic.make Free
let replace = Atomic.compare_and_set

let state b =
  if b.woken || Option.is_some b.first || not (Fifo.is_empty b.queue) then Busy b
  else if b.holder = 0 then Free
  else Held b.holder

let holder = function Free -> 0 | Held h -> h | Busy b -> b.holder
let is_mine t = holder (Atomic.get t) = Fiber.number ()

(* [fn] is the function that the user called. *)
let misuse fn what = invalid_arg ("Muster.Mutex." ^ fn ^ ": the mutex is " ^ what)

(* {2 Unlock} *)

(* The duty of the holder, or of an unlocker in the place of one in transit. *)
let rec unlocking =
  Duty.Step
    (function
    | Busy ({ first = Some waiter; _ } as b) ->
      let state = Busy { b with holder = in_transit; first = None } in
      (state, Grant { waiter; granted = Done; dead = unlocking })
    | Busy ({ woken = true; _ } as b) -> (Busy { b with holder = 0 }, Done)
    | Busy b -> wake_next b
    | Free | Held _ -> (Free, Done))

(* The duty of a party at which a wake has ended: a waiter that leaves, or an unlocker that found it
   dead. *)
and passing_on =
  Duty.Step
    (function
    | Busy ({ holder = 0; _ } as b) -> wake_next b
    | Busy b -> (state { b with woken = false }, Done)
    | (Free | Held _) as seen -> (seen, Done))

and wake_next b =
  match Fifo.pop b.queue with
  | Empty -> (Free, Done)
  | Oldest (waiter, queue) ->
    let state = Busy { b with holder = 0; woken = true; queue } in
    (state, Grant { waiter; granted = Done; dead = passing_on })

let unlock_as fn t me =
  match Atomic.get t with
  | Held h as seen when h = me && replace t seen Free -> ()
  | seen when holder seen = me -> Duty.fulfil t (ref unlocking)
  | seen -> misuse fn (if holder seen = 0 then "not locked" else "locked by another task or thread")

(* An asynchronous exception does not leave it locked. *)
let unlock_of fn t =
  match unlock_as fn t (Fiber.number ()) with
  | () -> ()
  | exception exn ->
    let failure = Outcome.caught exn in
    if is_mine t then unlock_as fn t (Fiber.number ());
    Outcome.raise failure

let unlock t = unlock_of "unlock" t

(* {2 Lock} *)

(* [woken]: this waiter is the one that was woken, if any is. *)
let rec take t me ~woken =
  match Atomic.get t with
  | Free as seen -> replace t seen (Held me) || take t me ~woken
  | Busy ({ holder = 0; _ } as b) as seen ->
    replace t seen (state { b with holder = me; woken = b.woken && not woken }) || take t me ~woken
  | Held _ | Busy _ -> false

let rec take_soon t me ~woken turns =
  take t me ~woken
  || turns > 0
     &&
     (Domain.cpu_relax ();
      take_soon t me ~woken (turns - 1))

let queued b w ~woken =
  if woken then { b with woken = false; first = Some w }
  else { b with queue = Fifo.push_live ~is_live:Waiter.is_waiting b.queue w }

(* Whether it waits: not if the lock is free now. *)
let rec join t w ~woken =
  let queue_up seen b = replace t seen (Busy (queued b w ~woken)) || join t w ~woken in
  match Atomic.get t with
  | Held holder as seen -> queue_up seen { holder; woken = false; first = None; queue = Fifo.empty }
  | Busy b as seen when b.holder <> 0 -> queue_up seen b
  | Free | Busy _ -> false

(* [turn] is the duty of the waiter if it left now: [passing_on] where it was woken, [unlocking]
   where it has the lock, in transit, as it does when its wait is over. *)
let sleep t ~wait turn =
  let woken = !turn == passing_on and joined = ref false in
  let register w =
    joined := join t w ~woken;
    if !joined then turn := Duty.Done else ignore (Waiter.grant w)
  in
  wait register;
  if !joined then turn := if woken then unlocking else passing_on

let rec accept t me =
  match Atomic.get t with
  | Busy b as seen when b.holder = in_transit ->
    if not (replace t seen (state { b with holder = me })) then accept t me
  | Free | Held _ | Busy _ -> assert false (* only its own unlock would leave that state *)

let rec try_and_sleep t me ~wait turn =
  if not (take_soon t me ~woken:(!turn == passing_on) (Fiber.spins ())) then begin
    sleep t ~wait turn;
    if !turn == unlocking then accept t me else try_and_sleep t me ~wait turn
  end

(* A waiter that is cancelled, or gets an asynchronous exception, leaves its turn to the next. *)
let await t me ~wait =
  let turn = ref Duty.Done in
  Outcome.on_failure (fun () -> try_and_sleep t me ~wait turn) (fun _ -> Duty.fulfil t turn)

let[@inline never] contend fn t me =
  if holder (Atomic.get t) = me then misuse fn "already locked by this task or thread";
  await t me ~wait:Waiter.wait

let[@inline] lock_of fn t =
  let me = Fiber.number () in
  Waiter.need_not_wait ();
  if not (replace t Free (Held me)) then contend fn t me

let lock t = lock_of "lock" t
let try_lock t = take t (Fiber.number ()) ~woken:false

let relock t =
  let me = Fiber.number () in
  if not (replace t Free (Held me)) then await t me ~wait:Waiter.wait_firmly

let unprotect t = unlock_of "protect" t

let protect t f =
  lock_of "protect" t;
  Outcome.finally unprotect t f
