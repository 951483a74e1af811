(* The structures from which the scheduler is built, each alone. Plain payloads go along with
   what passes through them, so that an order which a structure should give and does not is
   seen there, too. *)

open Muster_core
open Rounds

(* {2 Deque}: an entry may be stolen although it was popped, hence the claim. *)

type entry = { mutable payload : int; taken : bool Atomic.t }

let nothing = { payload = -1; taken = Atomic.make true }
let entry () = { payload = 0; taken = Atomic.make false }
let is_live entry = not (Atomic.get entry.taken)
let create ~capacity = Deque.create ~capacity ~is_live nothing

let receive total entry =
  if entry != nothing && not (Atomic.exchange entry.taken true) then total := !total + entry.payload

let counters n = Array.init n (fun _ -> ref 0)
let sum = Array.fold_left (fun n r -> n + !r) 0

(* [width] entries a round: pushed by the owner, who then pops, and stolen by two. *)
let deque_shares ~capacity ~width () =
  let deque = ref (create ~capacity) in
  let entries = ref [||] and got = counters 3 in
  let before _ =
    deque := create ~capacity;
    entries := Array.init width (fun _ -> entry ());
    Array.iter (fun r -> r := 0) got
  in
  let push i entry =
    entry.payload <- 1 + i;
    Deque.push !deque entry
  in
  let rec pop_all () =
    let entry = Deque.pop !deque in
    receive got.(0) entry;
    if entry != nothing then pop_all ()
  in
  let owner _ =
    Array.iteri push !entries;
    pop_all ();
    Deque.sweep !deque
  in
  let thief i _ =
    for _ = 1 to width do
      receive got.(i) (Deque.steal !deque)
    done
  in
  let after _ =
    Array.iter (fun entry -> receive got.(0) entry) !entries;
    check "each entry once" (sum got = width * (width + 1) / 2)
  in
  race 3_000 ~before ~after [ owner; thief 1; thief 2 ]

(* Push over what was popped and may be stolen at the same moment. *)
let deque_replaces () =
  let deque = create ~capacity:4 in
  let got = counters 2 in
  let owner _ =
    for i = 1 to 4 do
      let entry = entry () in
      entry.payload <- i;
      Deque.push deque entry;
      receive got.(0) (Deque.pop deque)
    done
  in
  let thief _ =
    for _ = 1 to 4 do
      receive got.(1) (Deque.steal deque)
    done
  in
  let after _ = Deque.sweep deque in
  race 10_000 ~after [ owner; thief ];
  check "each entry once" (sum got = 10 * times 10_000)

let deque_looked_at () =
  let deque = create ~capacity:1 in
  let owner _ =
    Deque.push deque (entry ());
    Deque.push deque (entry ());
    Deque.drop deque (Deque.peek deque);
    ignore (Deque.pop deque)
  in
  let look _ =
    for _ = 1 to 8 do
      ignore (Deque.is_empty deque);
      let entry = Deque.oldest_such (fun _ -> true) deque in
      if entry != nothing then ignore (Atomic.get entry.taken)
    done
  in
  race 10_000 ~after:(fun _ -> Deque.sweep deque) [ owner; look; look ]

(* {2 Inbox} *)

let inbox () =
  let nobodys = ref 0 in
  let inbox = Inbox.create nobodys and got = counters 2 in
  let send _ =
    for i = 1 to 2 do
      let item = ref 0 in
      item := i;
      Inbox.push inbox item
    done
  in
  let receive i _ =
    for _ = 1 to 2 do
      if not (Inbox.is_empty inbox) then got.(i) := !(got.(i)) + !(Inbox.pop inbox)
    done
  in
  let rec drain () =
    let item = Inbox.pop inbox in
    if item != nobodys then (
      got.(0) := !(got.(0)) + !item;
      drain ())
  in
  let look _ = ignore (Sys.opaque_identity (Inbox.oldest inbox)) in
  race 5_000 ~after:(fun _ -> drain ()) [ send; send; receive 0; receive 1; look ];
  check "each item once" (sum got = 6 * times 5_000)

(* {2 Parking}: what was published before the wake is seen after it. *)

let rec sleep parking i = if not (Parking.sleep parking i ~limit_ms:1_000) then sleep parking i

let parking ~announce ~wake n () =
  let parking = Parking.create 2 and work = Atomic.make false and data = ref 0 in
  let sleeper round =
    announce parking 0;
    if Atomic.get work then Parking.cancel parking 0 else sleep parking 0;
    check "awake with work" (Atomic.get work && !data = round)
  in
  let publisher round =
    data := round;
    Atomic.set work true;
    wake parking
  in
  let after _ = check "nobody is counted" (Parking.sleepers parking = 0) in
  race n ~before:(fun _ -> Atomic.set work false) ~after [ sleeper; publisher ]

let wake_one = parking 5_000 ~announce:Parking.announce ~wake:(fun p -> ignore (Parking.wake_one p))

let wake_place =
  parking 5_000 ~announce:Parking.announce_aside ~wake:(fun p -> ignore (Parking.wake p 0))

let wakers_meet () =
  let parking = Parking.create 2 and woken = Atomic.make 0 in
  let sleeper i _ =
    Parking.announce parking i;
    sleep parking i;
    Atomic.incr woken
  in
  let waker _ =
    let awake = Atomic.get woken in
    relax_until (fun () ->
        ignore (Parking.wake_one parking);
        Atomic.get woken >= awake + 2)
  in
  let after _ = check "nobody is counted" (Parking.sleepers parking = 0) in
  let before _ = Atomic.set woken 0 in
  race 2_000 ~before ~after [ sleeper 0; sleeper 1; waker ]

(* {2 Promise} *)

let block x = ref x

let promise_runs_once () =
  let runs = ref 0 in
  let f () =
    incr runs;
    block !runs
  in
  let promise = ref (Promise.make Promise.nowhere f) in
  let before _ = promise := Promise.make Promise.nowhere f in
  let claim round =
    match Promise.run !promise with
    | Returned result -> check "its own round's" (!result = round + 1)
    | _ -> ()
  in
  let look round =
    relax_until (fun () -> Promise.is_done !promise);
    check "the result's content" (!(Promise.result !promise) = round + 1)
  in
  race 10_000 ~before [ claim; claim; look ]

let promise_wakes () =
  let promise = ref (Promise.make Promise.nowhere ignore) in
  let wakes = Atomic.make 0 and data = ref 0 in
  let before round =
    promise := Promise.make Promise.nowhere (fun () -> data := round);
    Atomic.set wakes 0
  in
  let run _ = ignore (Promise.run !promise) in
  let wait round =
    Promise.on_done !promise (fun () ->
        check "woken after the task" (!data = round);
        Atomic.incr wakes)
  in
  let after _ = check "each waiter once" (Atomic.get wakes = 2) in
  race 10_000 ~before ~after [ run; wait; wait ]

exception Failed of int ref

let promise_fails () =
  let promise = ref (Promise.make Promise.nowhere ignore) in
  let before round =
    promise := Promise.make Promise.nowhere (fun () -> raise (Failed (block round)))
  in
  let run _ = ignore (Promise.run !promise) in
  let stop round =
    Promise.stop !promise;
    relax_until (fun () -> Promise.is_done !promise);
    match Promise.result !promise with
    | () -> check "no value" false
    | exception Failed content -> check "the exception's content" (!content = round)
    | exception Promise.Cancelled -> ()
  in
  race 10_000 ~before [ run; stop ]

(* Stopped while it runs, begins, or has ended; each waiter hears of the end once. *)
let promise_stopped () =
  let promise = ref (Promise.make Promise.nowhere ignore) in
  let ends = Atomic.make 0 and stops = Atomic.make 0 and data = ref 0 in
  let before round =
    promise := Promise.make Promise.nowhere (fun () -> data := round);
    Atomic.set ends 0;
    Atomic.set stops 0
  in
  let run _ = ignore (Promise.run !promise) in
  let stop _ = Promise.stop !promise in
  let wait _ =
    Promise.on_stop !promise (Entries.entry (fun () -> Atomic.incr stops));
    Promise.on_done !promise (fun () -> Atomic.incr ends)
  in
  let after _ =
    check "one end" (Atomic.get ends = 1 && Atomic.get stops <= 1);
    check "ended" (Promise.is_done !promise)
  in
  race 10_000 ~before ~after [ run; stop; wait ]

(* A failure that nobody awaits, reported from elsewhere. *)
let promise_unheard () =
  let reported = Atomic.make 0 in
  let is_whole = function Failed content -> !content >= 0 | _ -> false in
  Uncaught.set_handler (fun exn _ -> if is_whole exn then Atomic.incr reported);
  let home = Promise.home ~unheard:(Uncaught.note Promise.Nobody) Promise.Nobody in
  let promise = ref (Promise.make home ignore) in
  let before round = promise := Promise.make home (fun () -> raise (Failed (block round))) in
  let run _ = ignore (Promise.run !promise) in
  let look _ =
    relax_until (fun () -> Promise.is_done !promise);
    try Promise.result !promise with Failed _ -> ()
  in
  race 2_000 ~before [ run; look; (fun _ -> Uncaught.collect ()) ];
  Uncaught.flush ~owner:Promise.Nobody ()

(* Many, whose promises are still there while two look; in the end they are heard. *)
let promises_unheard () =
  let home = Promise.home ~unheard:(Uncaught.note Promise.Nobody) Promise.Nobody in
  let fail () = raise (Failed (block 0)) in
  let promises = Array.init 80 (fun _ -> Promise.make home fail) in
  Array.iter (fun promise -> ignore (Promise.run promise)) promises;
  let collect _ = Uncaught.collect () in
  race 2_000 [ collect; collect ];
  Array.iter (fun promise -> try Promise.result promise with Failed _ -> ()) promises;
  Uncaught.collect ()

(* {2 Leftmost} *)

let leftmost () =
  let noted = ref (Leftmost.create ()) in
  let before _ = noted := Leftmost.create () in
  let note i _ = if not (Leftmost.stops !noted i) then Leftmost.note !noted i (block i) in
  let look _ = Option.iter (fun i -> check "content" (!i < 3)) (Leftmost.get !noted) in
  let after _ = check "the leftmost" (Option.map ( ! ) (Leftmost.get !noted) = Some 0) in
  race 10_000 ~before ~after [ note 2; note 0; note 1; look ]

(* {2 Waiter}, for a thread that is no worker *)

let waiter () =
  let shown = Atomic.make None and data = ref 0 in
  let wait round =
    Waiter.wait (Event.make "a test") (fun w -> Atomic.set shown (Some w));
    check "granted after" (!data = round)
  in
  let grant round =
    relax_until (fun () -> Atomic.get shown <> None);
    data := round;
    check "the first grant counts" (Waiter.grant (Option.get (Atomic.get shown)))
  in
  race 5_000 ~before:(fun _ -> Atomic.set shown None) [ wait; grant ]

let waiter_granted_twice () =
  let shown = Atomic.make None and grants = Atomic.make 0 in
  let before _ =
    Atomic.set shown None;
    Atomic.set grants 0
  in
  let wait _ = Waiter.wait (Event.make "a test") (fun w -> Atomic.set shown (Some w)) in
  let grant _ =
    relax_until (fun () -> Atomic.get shown <> None);
    let waiter = Option.get (Atomic.get shown) in
    ignore (Waiter.is_waiting waiter);
    if Waiter.grant waiter then Atomic.incr grants
  in
  let after _ = check "one grant counts" (Atomic.get grants = 1) in
  race 3_000 ~before ~after [ wait; grant; grant ]

let () =
  main
    [
      case "deque: one owner, two thieves, capacity 1" (deque_shares ~capacity:1 ~width:5);
      case "deque: one owner, two thieves, capacity 4" (deque_shares ~capacity:4 ~width:9);
      case "deque: a push over what was popped" deque_replaces;
      case "deque: others look" deque_looked_at;
      case "inbox: two senders, two receivers, one looks" inbox;
      case "parking: announce, sleep, wake one" wake_one;
      case "parking: aside, wake that one" wake_place;
      case "parking: two sleepers, one waker" wakers_meet;
      case "promise: two claim, one looks" promise_runs_once;
      case "promise: waiters come while it runs" promise_wakes;
      case "promise: failure or stop" promise_fails;
      case "promise: stopped while it is run" promise_stopped;
      case "promise: a failure nobody awaits" promise_unheard;
      case "unheard: many failures, two look" promises_unheard;
      case "leftmost: three note, one looks" leftmost;
      case "waiter: a grant from another domain" waiter;
      case "waiter: two grant" waiter_granted_twice;
    ]
