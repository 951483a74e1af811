(* One atomic with an immutable state, changed as a whole by compare-and-set.

   Parties: those that have permits; newcomers; waiters, asleep in [queue] or in [first]; waiters
   that have been woken and are on their way.

   free    permits that nobody has.
   holder  the party that has all permits by name (a mutex's holder, a writer), or [in_transit].
           0: nobody, or parties without a name.
   queue   waiters that have not been woken, the oldest first.
   woken   how many permits those want who have been woken and have yet to try.
   first   waiters that were woken and found too few, the oldest first. Newcomers take nothing while
           one of these lives. A party that gives permits back hands them over: the holder is
           [in_transit] until the waiter runs and puts its own number there. (Until then its task
           may be cancelled and try to lock, and is no holder.)

   A waiter whose task was cancelled is dead: its grant fails, and the granting party takes back
   what it gave.

   So free permits go to the first party that asks, and nobody overtakes a waiter that has been
   woken and found too few (as in Go's sync.Mutex and WebKit's locks; Pizlo, 2016). Handing over
   always would leave the permits idle until a worker gets to the waiter (convoys, Blasgen et al.
   1979).

   Every step but [take] ends with [serve]. It hands permits to the head of [first], if there are
   enough. If nobody is in [first], it wakes the head of [queue] in two cases. There is room for
   that one beside those on their way. Or nobody is on the way, and something is free: then it is a
   writer among readers, which others could overtake for ever. That one tries, and goes to [first].

   No wake-up is lost: while somebody sleeps, a party has permits, or is on its way, or owes a
   [serve] (Duty). A waiter joins by a step that ends with [serve]. A party that has permits gives
   them back, and serves. One on its way takes permits, or goes to [first] and serves, or leaves and
   serves.

   At rest all permits are free, and the line is [Nobody]. *)

type entry = { wants : int; is_named : bool; waiter : Waiter.t }
type line = Nobody | Line of { woken : int; first : entry Fifo.t; queue : entry Fifo.t }
type state = { free : int; holder : int; line : line }
type t = state Atomic.t

(* No fiber's number. *)
let in_transit = max_int
let nobody = Nobody
let make n = Atomic.make { free = n; holder = 0; line = Nobody }
let is_live e = Waiter.is_waiting e.waiter

let line ~woken ~first ~queue =
  if woken = 0 && Fifo.is_empty first && Fifo.is_empty queue then Nobody
  else Line { woken; first; queue }

let no_longer_woken n = function
  | Nobody -> Nobody
  | Line { woken; first; queue } -> line ~woken:(woken - n) ~first ~queue

(* {2 Serve} *)

let rec serve s =
  match s.line with
  | Nobody -> (s, Duty.Done)
  | Line { woken; first; queue } -> (
    match Fifo.pop first with
    | Oldest (e, first) when e.wants <= s.free ->
      hand_over { s with line = line ~woken ~first ~queue } e
    | Oldest (e, first) when not (is_live e) -> serve { s with line = line ~woken ~first ~queue }
    | Oldest _ -> (s, Done)
    | Empty -> (
      match Fifo.pop queue with
      | Oldest (e, queue) when e.wants <= s.free - woken || (woken = 0 && s.free > 0) ->
        let woken = woken + e.wants in
        wake { s with line = line ~woken ~first ~queue } e ~more:(s.free > woken)
      | Oldest _ | Empty -> (s, Done)))

and hand_over s { wants; is_named; waiter } =
  let free = s.free - wants and holder = if is_named then in_transit else 0 in
  ({ s with free; holder }, Grant { waiter; granted = serving (free > 0); dead = returning wants })

and wake s { wants; waiter; _ } ~more =
  (s, Grant { waiter; granted = serving more; dead = passing_on wants })

and serving more = if more then Duty.Step serve else Done

(* The duty of a party that has [n]. *)
and returning n = Duty.Step (fun s -> serve { s with free = s.free + n; holder = 0 })

(* The duty of a party that was woken for [n]. *)
and passing_on n = Duty.Step (fun s -> serve { s with line = no_longer_woken n s.line })

(* {2 Give} *)

let with_back s n = { s with free = s.free + n; holder = 0 }

let giving n ~why_not fn s =
  match why_not fn s with
  | Some message -> (s, Duty.Misuse message)
  | None -> serve (with_back s n)

let gives_at_once t n ~why_not fn =
  let s = Atomic.get t in
  s.line == Nobody
  && Option.is_none (why_not fn s)
  && Atomic.compare_and_set t s (with_back s n)

(* An asynchronous exception goes on when they are back. Unbroken where [owes] becomes false. *)
let give t n ~why_not fn =
  let owes = ref true in
  try
    owes := not (gives_at_once t n ~why_not fn);
    if !owes then begin
      let duty = ref (Duty.Step (giving n ~why_not fn)) in
      owes := false;
      Duty.fulfil t duty
    end
  with exn when !owes ->
    let failure = Outcome.caught exn in
    Duty.step t (giving n ~why_not fn);
    Outcome.raise failure

(* {2 Take} *)

let is_first = function Nobody -> false | Line { first; _ } -> Fifo.exists is_live first

(* [woken]: it is a waiter that was woken. *)
let rec take t n ~me ~woken =
  let s = Atomic.get t in
  s.free >= n
  && (not (is_first s.line))
  &&
  let line = if woken then no_longer_woken n s.line else s.line in
  (Atomic.compare_and_set t s { free = s.free - n; holder = me; line }
  || begin
    Duty.stay_away ();
    take t n ~me ~woken
  end)

let try_take t n ~me = take t n ~me ~woken:false

let joined s e ~woken =
  match s.line with
  | Nobody -> Line { woken = 0; first = Fifo.empty; queue = Fifo.push Fifo.empty e }
  | Line l when woken ->
    Line { l with woken = l.woken - e.wants; first = Fifo.push_live ~is_live l.first e }
  | Line l -> Line { l with queue = Fifo.push_live ~is_live l.queue e }

let rec accept t me =
  let s = Atomic.get t in
  if not (Atomic.compare_and_set t s { s with holder = me }) then accept t me

(* [owed] is the duty of the waiter if it left now. It is made before it is owed, so that no
   asynchronous exception comes in between. A waiter of [queue] is woken, one of [first] is handed
   its permits; a dead one of [first] may have held up others. *)
let rec take_or_sleep t n ~me ~wait ~woken owed =
  let join waiter s =
    serve { s with line = joined s { wants = n; is_named = me <> 0; waiter } ~woken }
  in
  let register waiter =
    let joining = ref (Duty.Step (join waiter)) in
    owed := Duty.Step serve;
    Duty.fulfil t joining
  in
  let granted = if woken then returning n else passing_on n in
  let soon () = Place.soon (fun () -> take t n ~me ~woken) in
  if not (Tell.spin soon) then begin
    wait register;
    owed := granted;
    if not woken then take_or_sleep t n ~me ~wait ~woken:true owed else if me <> 0 then accept t me
  end

(* A waiter that is cancelled, or gets an asynchronous exception, leaves its turn to the next. *)
let wait_and_take t n ~me ~wait =
  let owed = ref Duty.Done in
  let leave _ = Duty.fulfil t owed in
  Outcome.on_failure (fun () -> take_or_sleep t n ~me ~wait ~woken:false owed) leave
