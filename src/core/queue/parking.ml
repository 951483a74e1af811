(* A worker that found nothing to do
     1. announces:  [sleepers] + 1, [state] <- asleep;
     2. re-checks every source of work;
     3. sleeps until its [state] is awake again; or cancels, if 2 found something.
   A publisher of work first publishes it (an atomic write), then calls [wake_one], which
   reads [sleepers] first.

   No wake-up is lost. All these are sequentially consistent atomics. A state that is asleep
   is counted in [sleepers]: it is counted before and uncounted after. So if the publisher
   reads [sleepers] = 0, or looks for a sleeper and finds a state awake, its publication comes
   before that state is asleep again in the total order, hence before the re-check, which finds
   the work. If it finds one asleep it wakes it, or another waker does; each that is woken
   searches everything again.

   One compare-and-set from asleep to awake ends a sleep: a waker's, or the sleeper's own [cancel].
   Its winner takes the 1 off [sleepers]. (Were the state asleep before it is counted, that could be
   another sleeper's 1.) A wake-up token may come late, after a failed [cancel]; the next sleep then
   returns early, sees that [state] is still asleep, and goes on.

   A worker that waits for something of its own, and will not search, announces itself [aside]. It
   is not counted, and [wake_one] passes it over: a wake meant for anybody would be lost on it.

   A signal's handler or a finaliser may announce on top of a sleep, and so take its state over:
   that sleep counts no more, and ends when the handler's does.

   At rest [sleepers] is the number of states that are asleep. *)

type place = { state : int Atomic.t; sleeper : Machine.Sleeper.t }
type t = { sleepers : int Atomic.t; all : place array Atomic.t  (** grows, for callers *) }

let awake = 0
let asleep = 1
let aside = 2
let place _ = { state = Compat.padded (Atomic.make awake); sleeper = Machine.Sleeper.create () }

let create n =
  { sleepers = Compat.padded (Atomic.make 0); all = Atomic.make (Array.init n place) }

let[@inline] places t = Atomic.get t.all
let state t i = Atomic.get (places t).(i).state

let rec reach t i =
  let before = places t in
  if i >= Array.length before then begin
    ignore (Atomic.compare_and_set t.all before (Array.append before [| place i |]));
    reach t i
  end

let[@inline] sleepers t = Atomic.get t.sleepers
let no_longer_counted t = ignore (Atomic.fetch_and_add t.sleepers (-1))

let enter t i how =
  if Atomic.exchange (places t).(i).state how = asleep then no_longer_counted t

let announce t i =
  ignore (Atomic.fetch_and_add t.sleepers 1);
  enter t i asleep

let announce_aside t i = enter t i aside

(* [how] it seems to sleep. One that changes from asleep to aside meanwhile, or back, has been up
   and looks again by itself. *)
let end_sleep t i how =
  how <> awake
  && Atomic.compare_and_set (places t).(i).state how awake
  &&
  (if how = asleep then no_longer_counted t;
   true)

let cancel t i = ignore (end_sleep t i (state t i))
let is_asleep t i = state t i <> awake

(* A token may have come late. *)
let rec try_sleep how t i ~limit_ms =
  let had_token = is_asleep t i && how (places t).(i).sleeper limit_ms in
  (not (is_asleep t i)) || (had_token && try_sleep how t i ~limit_ms)

let doze t i ~limit_ms = try_sleep Machine.Sleeper.doze t i ~limit_ms
let sleep t i ~limit_ms = try_sleep Machine.Sleeper.sleep t i ~limit_ms

let wake_if has_ended t i =
  if has_ended then Machine.Sleeper.wake (places t).(i).sleeper;
  has_ended

let wake t i = wake_if (end_sleep t i (state t i)) t i
let wake_searcher t i = wake_if (state t i = asleep && end_sleep t i asleep) t i

let wake_one ?(from = 0) t =
  let rec first i = i < Array.length (places t) && (wake_searcher t i || first (i + 1)) in
  sleepers t > 0 && first from

let wake_all t = Array.iteri (fun i _ -> ignore (wake t i)) (places t)
