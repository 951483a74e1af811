(* The mutex: mutual exclusion, for any holder, which may move; whose turn it is; errors;
   cancellation. *)

open Harness
open Sync_support
module Mutex = Muster.Mutex
module Task = Muster.Task
module Pool = Muster.Pool

exception Boom of int

let rounds = 200

(* {2 Exclusion} *)

(* Increments that cross would be lost: the counter is read and written apart. *)
let counts ~between ~run =
  let mutex = Mutex.create () and count = ref 0 in
  run (fun _ ->
      for round = 1 to rounds do
        Mutex.protect mutex (fun () ->
            let seen = !count in
            if round mod 20 = 0 then between ();
            count := seen + 1)
      done);
  check_int "count" (rounds * several) !count

let at_once = counts ~between:ignore
let held_across_waits = counts ~between:suspend

let short_sections () =
  let mutex = Mutex.create () and count = ref 0 in
  in_a_task_each 16 (fun _ ->
      for _ = 1 to 2_000 do
        Mutex.protect mutex (fun () -> incr count)
      done);
  check_int "count" 32_000 !count

(* The holder waits for a task that another worker runs, so that it may go on over there. *)
let holder_moves () =
  let mutex = Mutex.create () and count = ref 0 in
  in_a_task_each 8 (fun i ->
      for _ = 1 to 50 do
        Mutex.lock mutex;
        let seen = !count in
        check_int "awaited" i
          (Task.await
             (Task.async (fun () ->
                  suspend_in_task ();
                  i)));
        count := seen + 1;
        Mutex.unlock mutex
      done);
  check_int "count" 400 !count

let try_lock () =
  let mutex = Mutex.create () in
  check_bool "free" true (Mutex.try_lock mutex);
  check_bool "mine" false (Mutex.try_lock mutex);
  check_bool "another's" false (in_domain (fun () -> Mutex.try_lock mutex));
  Mutex.unlock mutex;
  check_bool "free again" true (in_domain (fun () -> Mutex.try_lock mutex))

(* {2 Whose turn it is} *)

let in_turn () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and came = ref [] and served = ref [] in
  Mutex.lock mutex;
  let comes i =
    came := i :: !came;
    Mutex.protect mutex (fun () -> served := i :: !served)
  in
  let tasks = all_waiting 20 comes in
  check_int "waiting" 20 (List.length !came);
  Mutex.unlock mutex;
  List.iter Task.await tasks;
  check_equal "in turn" !came !served

(* One that has it nearly always, on one worker: a waiter must get it nevertheless, at the second time
   that it is let go. *)
let passed_over_once () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and served = ref false and times = ref 0 in
  Mutex.lock mutex;
  let other = waiting_task (fun () -> Mutex.protect mutex (fun () -> served := true)) in
  while (not !served) && !times < 100 do
    incr times;
    letting_others_run (fun () ->
        Mutex.unlock mutex;
        Mutex.lock mutex)
  done;
  Mutex.unlock mutex;
  Task.await other;
  check_bool (Printf.sprintf "served after %d times" !times) true (!times <= 2)

(* A lock that is free does not wait for one who is on the way to it. *)
let free_for_whoever_comes () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and served = ref false in
  Mutex.lock mutex;
  let other = waiting_task (fun () -> Mutex.protect mutex (fun () -> served := true)) in
  Mutex.unlock mutex;
  check_bool "taken again at once" true (Mutex.try_lock mutex);
  check_bool "other" false !served;
  Mutex.unlock mutex;
  Task.await other

(* {2 Errors} *)

let check_relock what mutex =
  check_invalid what ~mentions:[ "Muster.Mutex.lock"; "already locked by this task" ] (fun () ->
      Mutex.lock mutex)

let check_not_locked what mutex =
  check_invalid what ~mentions:[ "Muster.Mutex.unlock"; "not locked" ] (fun () ->
      Mutex.unlock mutex)

let check_not_mine what mutex =
  check_invalid what ~mentions:[ "Muster.Mutex.unlock"; "by another task" ] (fun () ->
      Mutex.unlock mutex)

let misuse () =
  let mutex = Mutex.create () in
  check_not_locked "new" mutex;
  Mutex.lock mutex;
  check_relock "locked" mutex;
  check_relock "again" mutex;
  check_bool "still locked" false (in_domain (fun () -> Mutex.try_lock mutex));
  Mutex.unlock mutex;
  check_not_locked "unlocked" mutex;
  check_bool "usable" true (Mutex.try_lock mutex);
  Mutex.unlock mutex

let misuse_by_all ~run = run (fun _ -> misuse ())

let misuse_after_waits () =
  let mutex = Mutex.create () in
  let hold () =
    Mutex.lock mutex;
    suspend_in_task ();
    check_relock "after a wait" mutex;
    Task.scope (fun scope -> Task.await (Task.fork scope suspend_in_task));
    check_relock "after a scope" mutex;
    Task.with_deadline 60. (fun () ->
        check_relock "within a deadline" mutex;
        suspend_in_task ());
    ignore (Muster.both suspend_in_task suspend_in_task);
    check_relock "after both" mutex;
    Mutex.unlock mutex
  in
  Task.await (Task.async hold);
  hold ();
  Mutex.lock mutex;
  Mutex.unlock mutex

(* A task that first locks something within a scope, or a loop, is the same task afterwards. *)
let locked_within () =
  let holds what lock =
    let hold () =
      let mutex = Mutex.create () in
      lock mutex;
      suspend_in_task ();
      Mutex.unlock mutex;
      check_not_locked what mutex
    in
    Task.await (Task.async hold);
    hold ()
  in
  let fails mutex =
    Mutex.lock mutex;
    raise (Boom 3)
  in
  holds "a scope" (fun mutex -> Task.scope (fun _ -> Mutex.lock mutex));
  holds "a scope that fails" (fun mutex ->
      check_raises "scope" (Boom 3) (fun () -> Task.scope (fun _ -> fails mutex)));
  holds "a scope within one" (fun mutex ->
      Task.scope (fun _ -> Task.scope (fun _ -> Mutex.lock mutex)));
  holds "a deadline" (fun mutex -> Task.with_deadline 60. (fun () -> Mutex.lock mutex));
  holds "a deadline that passes" (fun mutex ->
      check_raises "deadline" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.001 (fun () ->
              Mutex.lock mutex;
              Muster.Latch.await (Muster.Latch.create 1))));
  holds "a loop of one iteration that fails" (fun mutex ->
      check_raises "loop" (Boom 3) (fun () ->
          Muster.parallel_for ~start:1 ~finish:1 (fun _ -> fails mutex)))

let unlock_of_anothers () =
  let mutex = Mutex.create () in
  let held = Muster.Latch.create 1 and let_go = Muster.Latch.create 1 in
  let hold () =
    Mutex.lock mutex;
    Muster.Latch.count_down held;
    Muster.Latch.await let_go;
    Mutex.unlock mutex
  in
  let task = Task.async hold in
  Muster.Latch.await held;
  check_not_mine "task" mutex;
  in_thread (fun () -> check_not_mine "thread" mutex);
  in_domain (fun () -> check_not_mine "domain" mutex);
  Task.await
    (Task.async (fun () ->
         suspend_in_task ();
         check_not_mine "another task" mutex));
  check_bool "still locked" false (Mutex.try_lock mutex);
  Muster.Latch.count_down let_go;
  Task.await task;
  check_not_locked "at last" mutex

(* A task is somebody else than the one that awaits it, wherever it runs: one that is awaited before it
   has begun runs in place. *)
let awaited_is_another () =
  let mutex = Mutex.create () in
  Mutex.lock mutex;
  let awaited f = Task.await (Task.async f) in
  awaited (fun () -> check_not_mine "awaited" mutex);
  awaited (fun () -> awaited (fun () -> check_not_mine "awaited twice" mutex));
  Task.scope (fun s -> Task.await (Task.fork s (fun () -> check_not_mine "forked" mutex)));
  Mutex.unlock mutex;
  awaited (fun () -> Mutex.lock mutex);
  check_not_mine "locked by a task that has ended" mutex

let unlock_of_a_threads () =
  let mutex = Mutex.create () in
  Mutex.lock mutex;
  in_thread (fun () -> check_not_mine "thread" mutex);
  in_domain (fun () -> check_not_mine "domain" mutex);
  run_on 2 (fun () -> Task.await (waiting_task (fun () -> check_not_mine "task" mutex)));
  Mutex.unlock mutex

(* What begins later may get the stack of a thread that has ended, and nothing else of it. *)
let locked_by_ended_threads () =
  let locked_in run =
    let mutex = Mutex.create () in
    run (fun () -> Mutex.lock mutex);
    mutex
  in
  let none_is_mine mutexes () =
    List.iter (check_not_mine "locked by a thread that has ended") mutexes
  in
  let mutexes = List.init 4 (fun i -> locked_in (if i < 2 then in_domain else in_thread)) in
  none_is_mine mutexes ();
  for _ = 1 to 4 do
    in_domain (none_is_mine mutexes);
    in_thread (none_is_mine mutexes)
  done

(* [Pool.run]'s function is its caller, even if it ends on another domain. *)
let run_is_its_caller () =
  let mutex = Mutex.create () in
  with_domains 3 @@ fun pool ->
  Mutex.lock mutex;
  Pool.run pool (fun () ->
      check_relock "in the pool" mutex;
      suspend_in_task ();
      Mutex.unlock mutex;
      suspend_in_task ();
      Mutex.lock mutex);
  check_relock "outside again" mutex;
  with_domains 2 (fun inner ->
      Pool.run pool (fun () ->
          Pool.run inner (fun () ->
              check_relock "in a pool within" mutex;
              Mutex.unlock mutex)));
  check_not_locked "at last" mutex

(* The branches of one task may run beside each other: then each waits for the other's lock. *)
let branches_are_no_relock () =
  run_on 2 @@ fun () ->
  let mutex = Mutex.create () and stolen = ref 0 in
  while !stolen < 20 do
    let begun = Atomic.make false and asks = Atomic.make false in
    let holds () =
      Mutex.protect mutex (fun () ->
          let limit = Unix.gettimeofday () +. 0.02 in
          while (not (Atomic.get begun)) && Unix.gettimeofday () < limit do
            Domain.cpu_relax ()
          done;
          if Atomic.get begun then begin
            while not (Atomic.get asks) do
              Domain.cpu_relax ()
            done;
            burn 0.0002
          end;
          Atomic.get begun)
    in
    let wants () =
      Atomic.set begun true;
      Atomic.set asks true;
      Mutex.protect mutex ignore
    in
    if fst (Muster.both holds wants) then incr stolen
  done

(* {2 Protect} *)

let protect () =
  let mutex = Mutex.create () in
  check_int "value" 3
    (Mutex.protect mutex (fun () ->
         check_relock "held" mutex;
         3));
  check_not_locked "after a value" mutex;
  check_raises "exception" (Boom 1) (fun () -> Mutex.protect mutex (fun () -> raise (Boom 1)));
  check_not_locked "after an exception" mutex;
  for i = 1 to 10 do
    check_raises "never poisoned" (Boom i) (fun () ->
        Mutex.protect mutex (fun () -> raise (Boom i)))
  done;
  check_int "usable" 4 (Mutex.protect mutex (fun () -> 4))

let origin () = Mutex.protect (Mutex.create ()) (fun () -> raise (Boom 2))
let origin_line = __LINE__ - 1

let backtrace () =
  Printexc.record_backtrace true;
  check_raises_with_origin ~file:"test_mutex.ml" ~line:origin_line "origin" origin

(* {2 Cancellation} *)

let cancelled_in_lock () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and log = ref [] in
  Mutex.lock mutex;
  let waits i = waiting_task (fun () -> Mutex.protect mutex (fun () -> log := i :: !log)) in
  let first = waits 1 in
  let second = waits 2 in
  let third = waits 3 in
  check_cancelled "first" first;
  check_cancelled "third" third;
  check_relock "still held" mutex;
  Mutex.unlock mutex;
  Task.await second;
  check_equal "only the second" [ 2 ] !log;
  check_not_locked "at last" mutex

(* Woken, but passed over: the turn of one that is cancelled then goes to the next. *)
let cancelled_at_the_second_wait () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () in
  Mutex.lock mutex;
  let first = waiting_task (fun () -> Mutex.lock mutex) in
  let second = waiting_task (fun () -> Mutex.protect mutex (fun () -> 2)) in
  letting_others_run (fun () ->
      Mutex.unlock mutex;
      Mutex.lock mutex);
  check_cancelled "first" first;
  Mutex.unlock mutex;
  check_int "second" 2 (Task.await second);
  check_not_locked "at last" mutex

(* Cancelled between its wake and its second wait, which it therefore does not begin. *)
let cancelled_on_its_way () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () in
  Mutex.lock mutex;
  let first = waiting_task (fun () -> Mutex.lock mutex) in
  let second = waiting_task (fun () -> Mutex.protect mutex (fun () -> 2)) in
  Mutex.unlock mutex;
  Mutex.lock mutex;
  check_cancelled "first" first;
  Mutex.unlock mutex;
  check_int "second" 2 (Task.await second);
  check_not_locked "at last" mutex

let cancelled_while_it_holds () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () in
  let never = Muster.Latch.create 1 in
  let holder = waiting_task (fun () -> Mutex.protect mutex (fun () -> Muster.Latch.await never)) in
  let next = waiting_task (fun () -> Mutex.protect mutex (fun () -> 1)) in
  check_cancelled "holder" holder;
  check_int "next" 1 (Task.await next)

let cancelled_may_lock_again () =
  run_on 1 @@ fun () ->
  let mutex = Mutex.create () and cleaned = ref false in
  Mutex.lock mutex;
  let cleans () =
    try Mutex.lock mutex
    with exn ->
      Mutex.protect mutex (fun () -> cleaned := true);
      raise exn
  in
  let task = waiting_task cleans in
  letting_others_run (fun () -> Task.cancel task);
  check_bool "waits" false !cleaned;
  Mutex.unlock mutex;
  check_cancelled "task" task;
  check_bool "cleaned" true !cleaned

let cancelled_at_random () =
  let mutex = Mutex.create () and count = ref 0 and inside = Atomic.make 0 in
  let body _ =
    for _ = 1 to 20 do
      Mutex.protect mutex (fun () ->
          check_int "inside" 0 (Atomic.fetch_and_add inside 1);
          incr count;
          Atomic.decr inside);
      Task.check ()
    done
  in
  for _ = 1 to 10 do
    ignore (random_cancels ~tasks:40 body)
  done;
  check_bool "free" true (Mutex.try_lock mutex);
  Mutex.unlock mutex

(* A lock that nobody else wants takes two records of its state: the caller's number takes none. *)
let takes_few_words () =
  let mutex = Mutex.create () and n = 1_000 in
  let words_of_turn () =
    let before = Gc.minor_words () in
    for _ = 1 to n do
      Mutex.lock mutex;
      Mutex.unlock mutex
    done;
    (Gc.minor_words () -. before) /. float n
  in
  let check where words = if words > 9. then failf "%.1f words %s" words where in
  check "outside" (words_of_turn ());
  check "in a task" (Task.await (Task.async words_of_turn))

let () =
  Alcotest.run "mutex"
    [
      ( "exclusion",
        on_callers "one holder at a time" at_once
        @ on_callers "a lock is held across waits" held_across_waits
        @ [
            case "one holder at a time in short sections" (on_pools short_sections);
            case "the holder goes on in another domain" (on_pools holder_moves);
            case "try_lock takes a free lock only" try_lock;
            case "a free lock takes no words for its holder's number" takes_few_words;
          ] );
      ( "turn",
        [
          case "waiters are served in turn" in_turn;
          case "a waiter is passed over once at most" passed_over_once;
          case "a free lock goes to any comer" free_for_whoever_comes;
        ] );
      ( "errors",
        on_callers "misuse is refused" misuse_by_all
        @ [
            case "misuse after waits is refused" (on_pools misuse_after_waits);
            case "a lock within the same lock is refused" (on_pools locked_within);
            case "an unlock of another task's lock is refused" (on_pools unlock_of_anothers);
            case "an awaited task is not its awaiter" (on_pools awaited_is_another);
            case "an awaited task is not its awaiter, outside a pool" awaited_is_another;
            case "an unlock of a waiting thread's lock is refused" unlock_of_a_threads;
            case "a lock of a thread that has ended stays locked" locked_by_ended_threads;
            case "the function of Pool.run is its caller" run_is_its_caller;
            case "two branches of one task wait for each other's lock" branches_are_no_relock;
          ] );
      ("protect", [ case "protect unlocks, whatever happens"
        protect; case "protect keeps the backtrace" backtrace ]);
      ( "cancellation",
        [
          case "a waiter is cancelled" cancelled_in_lock;
          case "a waiter is cancelled at its second wait" cancelled_at_the_second_wait;
          case "a waiter is cancelled when it was woken" cancelled_on_its_way;
          case "a holder is cancelled" cancelled_while_it_holds;
          case "a cancelled waiter may lock again" cancelled_may_lock_again;
          case "waiters are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
