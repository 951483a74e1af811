(* The lock for readers and writers: writers are alone, readers together, in turn. *)

open Harness
open Sync_support
module Rwlock = Muster.Rwlock
module Latch = Muster.Latch
module Task = Muster.Task

exception Boom

let rounds = 100

(* Two plain cells that only a writer lets differ. *)
let writers_are_alone ~between ~run =
  let lock = Rwlock.create () and a = ref 0 and b = ref 0 in
  run (fun i ->
      for round = 1 to rounds do
        if (i + round) mod 3 = 0 then
          Rwlock.protect_write lock (fun () ->
              let seen = !a in
              a := seen + 1;
              if round mod 10 = 0 then between ();
              b := seen + 1)
        else
          Rwlock.protect_read lock (fun () ->
              let seen = !a in
              if round mod 10 = 0 then between ();
              check_int "the same" seen !b)
      done);
  check_int "none lost" !a !b;
  check_bool "free" true (Rwlock.try_lock_write lock)

let readers_are_together () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () and all = Latch.create 5 in
  in_a_task_each 5 (fun _ ->
      Rwlock.protect_read lock (fun () ->
          Latch.count_down all;
          Latch.await all))

let tries () =
  let lock = Rwlock.create () in
  check_bool "read" true (Rwlock.try_lock_read lock);
  check_bool "read too" true (in_domain (fun () -> Rwlock.try_lock_read lock));
  check_bool "no write" false (Rwlock.try_lock_write lock);
  Rwlock.unlock_read lock;
  Rwlock.unlock_read lock;
  check_bool "write" true (Rwlock.try_lock_write lock);
  check_bool "no read" false (Rwlock.try_lock_read lock);
  check_bool "no second" false (in_domain (fun () -> Rwlock.try_lock_write lock));
  Rwlock.unlock_write lock

(* Tasks that enter in this order on one worker, while [lock] is held; returns the order of entry. *)
let entries lock kinds ~unlock =
  let log = ref [] in
  let enter i =
    let kind, name = List.nth kinds i in
    let protect = if kind = `Read then Rwlock.protect_read else Rwlock.protect_write in
    protect lock (fun () -> log := name :: !log)
  in
  let tasks = List.mapi (fun i _ -> waiting_task (fun () -> enter i)) kinds in
  check_int "all wait" 0 (List.length !log);
  unlock lock;
  List.iter Task.await tasks;
  List.rev !log

let no_writer_starves () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () in
  Rwlock.lock_read lock;
  let order =
    entries lock ~unlock:Rwlock.unlock_read [ (`Write, "w1"); (`Read, "r"); (`Write, "w2") ]
  in
  check_equal "in turn" [ "w1"; "r"; "w2" ] order;
  Rwlock.lock_read lock;
  let writer = waiting_task (fun () -> Rwlock.protect_write lock ignore) in
  check_bool "readers queue up behind it" false (Rwlock.try_lock_read lock);
  Rwlock.unlock_read lock;
  Task.await writer

(* The readers behind a writer go in together, not one by one. *)
let readers_go_in_together () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () and all = Latch.create 3 in
  Rwlock.lock_write lock;
  let read _ =
    Rwlock.protect_read lock (fun () ->
        Latch.count_down all;
        Latch.await all)
  in
  let readers = all_waiting 3 read in
  let writer = waiting_task (fun () -> Rwlock.protect_write lock ignore) in
  Rwlock.unlock_write lock;
  List.iter Task.await readers;
  Task.await writer

(* Readers that are always inside, on one worker: a writer gets in nevertheless. So does a reader among
   writers. *)
let none_is_passed_over_twice () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () in
  let is_served what ~mine ~other =
    let served = ref false and times = ref 0 in
    fst mine lock;
    let task =
      waiting_task (fun () ->
          fst other lock;
          served := true;
          snd other lock)
    in
    while (not !served) && !times < 100 do
      incr times;
      letting_others_run (fun () ->
          snd mine lock;
          fst mine lock)
    done;
    snd mine lock;
    Task.await task;
    check_bool (Printf.sprintf "%s served after %d times" what !times) true (!times <= 2)
  in
  let reading = Rwlock.(lock_read, unlock_read) and writing = Rwlock.(lock_write, unlock_write) in
  is_served "a writer among readers" ~mine:reading ~other:writing;
  is_served "a reader among writers" ~mine:writing ~other:reading;
  is_served "a writer among writers" ~mine:writing ~other:writing

(* There is always a reader inside. *)
let readers_in_relay () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () and written = ref false and relays = ref 0 in
  Rwlock.lock_read lock;
  let writer = waiting_task (fun () -> Rwlock.protect_write lock (fun () -> written := true)) in
  while (not !written) && !relays < 100 do
    incr relays;
    letting_others_run (fun () ->
        let next = Task.async (fun () -> Rwlock.lock_read lock) in
        suspend_in_task ();
        Rwlock.unlock_read lock;
        Task.await next)
  done;
  Rwlock.unlock_read lock;
  Task.await writer;
  check_bool (Printf.sprintf "after %d relays" !relays) true (!relays <= 2)

let free_for_whoever_comes () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () and served = ref 0 in
  Rwlock.lock_write lock;
  let tasks = all_waiting 3 (fun _ -> Rwlock.protect_write lock (fun () -> incr served)) in
  Rwlock.unlock_write lock;
  check_bool "taken again at once" true (Rwlock.try_lock_write lock);
  check_int "others" 0 !served;
  Rwlock.unlock_write lock;
  List.iter Task.await tasks;
  check_int "all" 3 !served

let errors () =
  let lock = Rwlock.create () in
  let check fn mentions f = check_invalid fn ~mentions:(("Muster.Rwlock." ^ fn) :: mentions) f in
  let check_free () =
    check "unlock_read" [ "not locked for reading" ] (fun () -> Rwlock.unlock_read lock);
    check "unlock_write" [ "not locked for writing" ] (fun () -> Rwlock.unlock_write lock)
  in
  check_free ();
  Rwlock.lock_write lock;
  check "unlock_read" [ "not locked for reading" ] (fun () -> Rwlock.unlock_read lock);
  check "lock_write" [ "already locked" ] (fun () -> Rwlock.lock_write lock);
  check "lock_read" [ "already locked" ] (fun () -> Rwlock.lock_read lock);
  in_domain (fun () ->
      check "unlock_write" [ "by another task" ] (fun () -> Rwlock.unlock_write lock));
  Rwlock.unlock_write lock;
  Rwlock.lock_read lock;
  check "unlock_write" [ "not locked for writing" ] (fun () -> Rwlock.unlock_write lock);
  Rwlock.unlock_read lock;
  check_free ()

let protect () =
  let lock = Rwlock.create () in
  check_int "read" 1 (Rwlock.protect_read lock (fun () -> 1));
  check_int "write" 2 (Rwlock.protect_write lock (fun () -> 2));
  check_raises "read" Boom (fun () -> Rwlock.protect_read lock (fun () -> raise Boom));
  check_raises "write" Boom (fun () -> Rwlock.protect_write lock (fun () -> raise Boom));
  check_bool "free" true (Rwlock.try_lock_write lock)

(* The writer that waits is cancelled: the readers behind it need not wait for those inside. *)
let cancelled_writer () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () in
  Rwlock.lock_read lock;
  let writer = waiting_task (fun () -> Rwlock.lock_write lock) in
  let reader = waiting_task (fun () -> Rwlock.protect_read lock (fun () -> 1)) in
  check_cancelled "writer" writer;
  check_int "reader" 1 (Task.await reader);
  Rwlock.unlock_read lock;
  check_bool "free" true (Rwlock.try_lock_write lock)

(* Its fiber has not run yet: nobody is overtaken. *)
let tries_after_a_cancelled_writer () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () in
  Rwlock.lock_read lock;
  let writer = waiting_task (fun () -> Rwlock.lock_write lock) in
  check_bool "behind a writer" false (Rwlock.try_lock_read lock);
  Task.cancel writer;
  check_bool "behind nobody" true (Rwlock.try_lock_read lock);
  check_cancelled "writer" writer;
  Rwlock.unlock_read lock;
  check_bool "one still reads" false (Rwlock.try_lock_write lock);
  Rwlock.unlock_read lock;
  check_bool "free" true (Rwlock.try_lock_write lock)

let cancelled_reader () =
  run_on 1 @@ fun () ->
  let lock = Rwlock.create () in
  Rwlock.lock_write lock;
  let first = waiting_task (fun () -> Rwlock.lock_read lock) in
  let second = waiting_task (fun () -> Rwlock.protect_read lock (fun () -> 2)) in
  let third = waiting_task (fun () -> Rwlock.protect_write lock (fun () -> 3)) in
  check_cancelled "first" first;
  Rwlock.unlock_write lock;
  check_int "second" 2 (Task.await second);
  check_int "third" 3 (Task.await third);
  check_bool "free" true (Rwlock.try_lock_write lock)

let cancelled_at_random () =
  let lock = Rwlock.create () and a = ref 0 and b = ref 0 in
  let body i =
    for round = 1 to 10 do
      if (i + round) mod 3 = 0 then
        Rwlock.protect_write lock (fun () ->
            let seen = !a in
            a := seen + 1;
            b := seen + 1)
      else Rwlock.protect_read lock (fun () -> check_int "the same" !a !b);
      Task.check ()
    done
  in
  for _ = 1 to 10 do
    ignore (random_cancels ~tasks:40 body)
  done;
  check_bool "free" true (Rwlock.try_lock_write lock);
  Rwlock.unlock_write lock

let () =
  Alcotest.run "rwlock"
    [
      ( "inside",
        on_callers "writers are alone inside" (writers_are_alone ~between:ignore)
        @ on_callers "writers are alone inside, across waits" (writers_are_alone ~between:suspend)
        @ [
            case "readers are inside together" readers_are_together;
            case "try_lock_read and try_lock_write" tries;
          ] );
      ( "turn",
        [
          case "no writer starves" no_writer_starves;
          case "readers go in together" readers_go_in_together;
          case "a free lock goes to any comer" free_for_whoever_comes;
          case "a waiter is passed over once at most" none_is_passed_over_twice;
          case "readers in a relay do not starve a writer" readers_in_relay;
        ] );
      ( "errors",
        [
          case "misuse is refused" errors;
          case "protect_read and protect_write unlock, whatever happens" protect;
        ] );
      ( "cancellation",
        [
          case "a waiting writer is cancelled" cancelled_writer;
          case "tries succeed after a waiting writer is cancelled" tries_after_a_cancelled_writer;
          case "a waiting reader is cancelled" cancelled_reader;
          case "waiters are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
