(* A pool made by hand, whose workers only announce their sleep: whom a wake for work or for the inbox
   reaches, who passes on one that it has no use for, and what stays in a deque. *)

open Muster_core
open Harness

let nothing_to_do = Promise.(any (make nowhere ignore))

let make_pool ?(with_caller = true) ?(hire = ignore) ?(watch = ignore) ~residents ~allowed () =
  let pool =
    Place.make_pool ~name:"by hand"
      { number = 0; wanted = Exactly 3; minor_heap = None; regulars = 3 }
  in
  Sleep.help := { hire; watch };
  if with_caller then ignore (Place.claim (Place.workers pool).(0) 1);
  Place.set_size pool 3;
  Atomic.set pool.residents residents;
  Atomic.set pool.allowed allowed;
  Array.iter (fun (w : Place.t) -> Mailbox.unlock w.mailbox) (Place.workers pool);
  pool

let sleeps (pool : Place.pool) i = Parking.announce pool.parking i
let sleeps_aside (pool : Place.pool) i = Parking.announce_aside pool.parking i
let push (pool : Place.pool) = Deque.push (Place.workers pool).(0).deque nothing_to_do

(* Ends the sleep, if it has not ended. *)
let check_awake (pool : Place.pool) i awake =
  check_bool (Printf.sprintf "worker %d is awake" i) awake (not (Parking.wake pool.parking i))

let need_tells_the_dismissed () =
  let pool = make_pool ~residents:2 ~allowed:0 () in
  sleeps_aside pool 2;
  Budget.need pool 2 ~ms:1000;
  check_awake pool 2 true

let need_of_no_more_wakes_nobody () =
  let pool = make_pool ~residents:2 ~allowed:2 () in
  sleeps pool 2;
  Budget.need pool 2 ~ms:1000;
  check_awake pool 2 false

let inbox_wakes_the_dismissed () =
  let pool = make_pool ~residents:2 ~allowed:1 () in
  sleeps_aside pool 2;
  Publish.send pool nothing_to_do;
  check_awake pool 2 true

let inbox_wakes_one () =
  let pool = make_pool ~residents:2 ~allowed:1 () in
  sleeps pool 1;
  sleeps_aside pool 2;
  Publish.send pool nothing_to_do;
  check_awake pool 1 true;
  check_awake pool 2 false

(* Worker 2 is dismissed, and takes nothing from deques. While it searched, work was published that
   woke nobody. *)
let search_of_one_dismissed ~until =
  let pool = make_pool ~residents:2 ~allowed:1 () in
  sleeps pool 1;
  push pool;
  (try Worker.search (Place.workers pool).(2) ~pauses:0 ~until with Exit -> ());
  check_int "searching" 0 (Atomic.get pool.searching);
  check_awake pool 1 true

let dismissed_leaves () = search_of_one_dismissed ~until:(fun () -> true)
let dismissed_sleeps () = search_of_one_dismissed ~until:(fun () -> false)

let interrupted_sleeper_passes_on () =
  let pool = make_pool ~residents:2 ~allowed:2 () in
  let w = (Place.workers pool).(2) in
  let until () =
    Atomic.get pool.searching = 0
    && begin
      (* Its own wake for work has come, and now an interrupt. *)
      ignore (Parking.wake pool.parking 2);
      sleeps pool 1;
      push pool;
      raise Exit
    end
  in
  (try Worker.search w ~pauses:0 ~until with Exit -> ());
  check_awake pool 1 true

let passed_on_to_the_dismissed () =
  let pool = make_pool ~residents:2 ~allowed:1 () in
  Inbox.push pool.inbox nothing_to_do;
  sleeps_aside pool 2;
  Sleep.pass_on (Place.workers pool).(1);
  check_awake pool 2 true

(* The one resident that may work is blocked, say in [Thread.join], until an item in the inbox is done. *)
let watchdog_calls_for_more () =
  let hired = Atomic.make 0 in
  let hire _ = Atomic.incr hired in
  let pool = make_pool ~hire ~watch:Watchdog.start ~residents:1 ~allowed:1 () in
  Place.change Place.open_pools (List.cons pool);
  Fun.protect
    (fun () ->
      Publish.send pool nothing_to_do;
      wait_until (fun () -> Atomic.get hired > 0))
    ~finally:(fun () -> Place.change Place.open_pools (List.filter (fun p -> p != pool)));
  check_int "residents that may work" 2 (Atomic.get pool.allowed)

(* A publisher of work asks for a resident if, and only if, one is missing; and for the watchdog if that one may not have
   come, or the pool's tasks may count on more residents than may work. *)
let asks_if_one_is_missing () =
  let each choices f = List.iter f choices in
  each [ 0; 1; 2 ] @@ fun residents ->
  each [ 0; 1; 2 ] @@ fun allowed ->
  each [ false; true ] @@ fun counted_on ->
  each [ 0; 1 ] @@ fun refused ->
  let asked = ref 0 and watches = ref 0 in
  let hire _ = incr asked and watch () = incr watches in
  let pool = make_pool ~hire ~watch ~residents ~allowed:0 () in
  Atomic.set pool.refused refused;
  if counted_on then Budget.promise pool 1;
  Atomic.set pool.allowed allowed;
  Sleep.wake_for_work pool;
  let likely = if refused = 0 then allowed else Int.min allowed residents in
  check_int "asks" (Bool.to_int (residents < allowed)) !asked;
  let has_too_few = residents < allowed || (counted_on && likely < 1) in
  check_int "is watched" (Bool.to_int has_too_few) !watches

(* Without a caller that takes part, a resident more may work: the watchdog asks for it, not the publisher. *)
let watched_without_a_caller () =
  let asked = ref 0 and watches = ref 0 in
  let hire _ = incr asked and watch () = incr watches in
  let pool = make_pool ~with_caller:false ~hire ~watch ~residents:1 ~allowed:1 () in
  push pool;
  Sleep.wake_for_work pool;
  check_equal "asks, is watched" (0, 1) (!asked, !watches);
  Load.stand_in pool;
  check_int "asks for a stand-in" 1 !asked

(* A worker that awaits a task may run it in place, and leaves its entry. *)
let entries_are_forgotten ~by_owner ~at_once () =
  let pool = make_pool ~residents:0 ~allowed:0 () in
  let w = (Place.workers pool).(0) in
  for _ = 1 to 1000 do
    let tasks = List.init at_once (fun _ -> Promise.(any (make nowhere ignore))) in
    List.iter (Publish.offer w ~wake:false) tasks;
    let run task =
      ignore (Promise.run task);
      if by_owner then Deque.retire w.deque task
    in
    List.iter run tasks;
    let few = if by_owner then at_once else 512 + (2 * at_once) in
    check_bool "few entries" true (Deque.size w.deque <= few)
  done

(* What is due while somebody sleeps runs there, as a signal's handler would. The event has come first,
   so it is not lost; and a cancellation is for one fiber alone, no other gets it instead. *)
let cancelled_after_the_grant () =
  let wait_with_handler raised =
    Waiter.wait (Event.make "a test") (fun waiter ->
        let strike () =
          ignore (Waiter.grant waiter);
          raise raised
        in
        ignore (Timer.add (Machine.now () + 1_000_000) strike))
  in
  let raised () =
    match Worker.take_stray Place.nobody.pool with () -> None | exception exn -> Some exn
  in
  wait_with_handler Exit;
  check_equal "another thread's" None (Domain.join (Domain.spawn raised));
  check_equal "kept for this thread" (Some Exit) (raised ());
  check_equal "once" None (raised ());
  wait_with_handler Promise.Cancelled;
  check_equal "for nobody else" None (raised ())

let () =
  Alcotest.run "place"
    [
      ( "need",
        [
          case "a need is told to dismissed workers" need_tells_the_dismissed;
          case "a need that is met wakes nobody" need_of_no_more_wakes_nobody;
          case "publishers ask for a missing worker" asks_if_one_is_missing;
          case "the watchdog asks for a stand-in" watched_without_a_caller;
        ] );
      ( "inbox",
        [
          case "a dismissed worker serves the inbox" inbox_wakes_the_dismissed;
          case "an item wakes one worker" inbox_wakes_one;
          case "an item is passed on to a dismissed worker" passed_on_to_the_dismissed;
          case ~seconds:20 "the watchdog calls for more workers" watchdog_calls_for_more;
        ] );
      ( "the last searcher wakes another",
        [
          case "the last searcher is dismissed and leaves" dismissed_leaves;
          case "the last searcher is dismissed and sleeps" dismissed_sleeps;
          case "the last searcher is interrupted in its sleep" interrupted_sleeper_passes_on;
        ] );
      ("an exception in a sleep", [ case "an exception strikes a sleeper after its event"
        cancelled_after_the_grant ]);
      ( "entries of tasks that were awaited",
        [
          case "the owner forgets the entry of an awaited task"
            (entries_are_forgotten ~by_owner:true ~at_once:1);
          case "the owner forgets the entries of two awaited tasks"
            (entries_are_forgotten ~by_owner:true ~at_once:2);
          case "other workers forget the entry of an awaited task"
            (entries_are_forgotten ~by_owner:false ~at_once:1);
          case "other workers forget the entries of two awaited tasks"
            (entries_are_forgotten ~by_owner:false ~at_once:2);
          case "other workers forget the entries of eight awaited tasks"
            (entries_are_forgotten ~by_owner:false ~at_once:8);
        ] );
    ]
