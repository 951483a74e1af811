(* Task.with_deadline: it passes in time, and loses nothing that had come before. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let deadline_passes () =
  on_all
    (fun () ->
      let since = Unix.gettimeofday () in
      check_raises "endless" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              while true do
                Task.check ()
              done));
      check_bool "not before" true (Unix.gettimeofday () -. since >= 0.02))
    ()

let deadline_of_children () =
  on_all
    (fun () ->
      check_raises "awaits an endless task" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              Task.await
                (Task.async (fun () ->
                     while true do
                       Task.check ()
                     done))));
      check_raises "an endless loop" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () -> parallel_for ~start:0 ~finish:max_int ignore));
      check_raises "forks" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              while true do
                ignore (fib 22)
              done)))
    ()

(* Nobody runs: only a sleeper can notice. *)
let deadline_of_sleepers () =
  in_pool 2 (fun () ->
      let go = Atomic.make false and began = Atomic.make false in
      let blocker =
        Task.async (fun () ->
            Atomic.set began true;
            until go)
      in
      until began;
      check_raises "waits" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () -> Task.await blocker));
      Atomic.set go true;
      Task.await blocker)

(* Begun by a task that waits, and nobody else is in the pool: its domains would end meanwhile. *)
let deadline_of_nobody_here domains () =
  let noticed = Atomic.make false in
  let waits () =
    try Task.with_deadline 0.4 (fun () -> ignore (Chan.recv (Chan.bounded 0)))
    with Task.Deadline_exceeded -> Atomic.set noticed true
  in
  let start pool = Pool.run pool (fun () -> ignore (Task.async waits)) in
  let wait_for_it () =
    let limit = Unix.gettimeofday () +. 10. in
    while not (Atomic.get noticed || Unix.gettimeofday () > limit) do
      Unix.sleepf 0.01
    done
  in
  with_domains domains (fun pool ->
      start pool;
      wait_for_it ());
  check_bool "noticed" true (Atomic.exchange noticed false);
  with_domains domains start;
  check_bool "noticed by close" true (Atomic.get noticed)

let deadline_kept () =
  on_all
    (fun () ->
      check_int "value" 5 (Task.with_deadline 60. (fun () -> 5));
      check_raises "exception" (Failed 5) (fun () ->
          Task.with_deadline 60. (fun () -> raise (Failed 5)));
      check_int "no limit" 6 (Task.with_deadline infinity (fun () -> 6));
      check_raises "none left" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0. (fun () -> 7));
      check_raises "late" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.001 (fun () -> Unix.sleepf 0.01)))
    ()

let deadlines_nest () =
  on_all
    (fun () ->
      let inner = ref 0 in
      check_raises "the outer passes first" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              match
                Task.with_deadline 60. (fun () ->
                    while true do
                      Task.check ()
                    done)
              with
              | () -> ()
              | exception Task.Cancelled ->
                inner := 1;
                raise Task.Cancelled
              | exception Task.Deadline_exceeded -> inner := 2));
      check_int "the inner was cancelled" 1 !inner;
      check_int "the inner passes first" 8
        (Task.with_deadline 60. (fun () ->
             match
               Task.with_deadline 0.01 (fun () ->
                   while true do
                     Task.check ()
                   done)
             with
             | () -> 0
             | exception Task.Deadline_exceeded -> fib 6)))
    ()

let busy_until time =
  while Unix.gettimeofday () < time do
    ()
  done

(* A message that was received in time is there, though time is up when the code returns. (On a busy
   machine it may not be received in time.) *)
let obtains receive () =
  let rec obtain () =
    let received = ref false in
    let c = Chan.unbounded () in
    Chan.send c 42;
    let late = Unix.gettimeofday () +. 0.004 in
    let receive_and_dawdle () =
      let message = receive c in
      received := true;
      busy_until late;
      message
    in
    match Task.with_deadline 0.003 receive_and_dawdle with
    | message -> check_int "message" 42 message
    | exception Task.Deadline_exceeded when not !received -> obtain ()
  in
  obtain ();
  on_all obtain ()

(* What need not be waited for was obtained in time, though time is up. *)
let keeps_what_it_has_locked () =
  let keeps name lock is_free =
    let lock_late () =
      busy_until (Unix.gettimeofday () +. 0.004);
      lock ()
    in
    check_bool name true
      (match Task.with_deadline 0.003 lock_late with
      | () -> not (is_free ())
      | exception Task.Deadline_exceeded -> false)
  in
  on_all
    (fun () ->
      let s = Semaphore.make 1 and m = Mutex.create () in
      let reading = Rwlock.create () and writing = Rwlock.create () in
      keeps "permit" (fun () -> Semaphore.acquire s) (fun () -> Semaphore.get_value s = 1);
      keeps "mutex"
        (fun () -> Mutex.lock m)
        (fun () -> match Mutex.unlock m with () -> false | exception Invalid_argument _ -> true);
      keeps "reader" (fun () -> Rwlock.lock_read reading) (fun () -> Rwlock.try_lock_write reading);
      keeps "writer" (fun () -> Rwlock.lock_write writing) (fun () -> Rwlock.try_lock_read writing))
    ()

let ways_to_obtain =
  let other = lazy (Pool.create ~domains:2 ~oversubscribe:true ()) in
  [
    ("recv", Chan.recv);
    ("select", fun c -> Chan.(select [ recv_case c Fun.id ]));
    ("a branch", fun c -> snd (Muster.both ignore (fun () -> Chan.recv c)));
    ("a task", fun c -> Task.await (Task.async (fun () -> Chan.recv c)));
    ("a scope", fun c -> Task.scope (fun _ -> Chan.recv c));
    ("a deadline within", fun c -> Task.with_deadline 60. (fun () -> Chan.recv c));
    ("another pool", fun c -> Pool.run (Stdlib.Lazy.force other) (fun () -> Chan.recv c));
    ( "a loop",
      fun c ->
        let got = Atomic.make 0 in
        Muster.parallel_for ~start:0 ~finish:3 (fun i -> if i = 3 then Atomic.set got (Chan.recv c));
        Atomic.get got );
  ]

(* Messages come at times around the deadline. *)
let loses_no_message domains () =
  in_pool domains (fun () ->
      let n = 400 in
      let c = Chan.unbounded () in
      let sender =
        Task.async (fun () ->
            for i = 1 to n do
              Task.blocking (fun () -> Unix.sleepf (Random.float 0.001));
              Chan.send c i
            done;
            Chan.close c)
      in
      let rec receive got =
        match Task.with_deadline 0.0005 (fun () -> Chan.recv c) with
        | i -> receive (i :: got)
        | exception Task.Deadline_exceeded -> receive got
        | exception Chan.Closed -> List.rev got
      in
      let got = receive [] in
      Task.await sender;
      check_bool "all" true (got = List.init n succ))

let swallowed () =
  on_all
    (fun () ->
      let cut = ref false in
      check_raises "told, and went on" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.002 (fun () ->
              try endless (Atomic.make false) Task.check () with Task.Cancelled -> cut := true));
      check_bool "told" true !cut)
    ()

let bad_deadline () =
  check_invalid ~mentions:[ "Muster.Task.with_deadline"; "nan" ] "nan" (fun () ->
      Task.with_deadline nan ignore)

(* 20 us, in which nothing is allocated. *)
let spin () =
  let until = Unix.gettimeofday () +. 2e-5 in
  while Unix.gettimeofday () < until do
    ()
  done

let rec tree depth leaf =
  if depth = 0 then leaf ()
  else ignore (Muster.both (fun () -> tree (depth - 1) leaf) (fun () -> tree (depth - 1) leaf))

(* Nobody sleeps, checks or collects garbage: the clock is looked at all the same. Of 0.6 s of work
   hardly more is done than the 10 ms allow. *)
let deadline_of_the_busy work pool =
  let steps = Atomic.make 0 in
  let step () =
    Atomic.incr steps;
    spin ()
  in
  Pool.run pool (fun () ->
      check_raises "late" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.01 (fun () -> work step)));
  if Atomic.get steps > 15_000 then failf "%d of some 30,000 steps were made" (Atomic.get steps)

let busy_ways =
  [
    ( "awaits",
      fun step ->
        for _ = 1 to 30_000 do
          Task.await (Task.async step)
        done );
    ("Task.all", fun step -> ignore (Task.all (List.init 30_000 (fun _ -> step))));
    ( "short loops",
      fun step ->
        for _ = 1 to 15_000 do
          Muster.parallel_for ~start:1 ~finish:2 (fun _ -> step ())
        done );
    ("both", tree 15);
    ( "a sort",
      fun step ->
        let compare a b =
          step ();
          Int.compare a b
        in
        Muster.Parallel.Array.sort compare (Array.init 3_000 (fun i -> i * 7919 mod 3001)) );
  ]

let deadlines_of_the_busy =
  let on domains (name, work) =
    let name = Printf.sprintf "passes among the busy, %s, %d domains" name domains in
    case name (fun () -> with_domains domains (deadline_of_the_busy work))
  in
  List.map (on 1) busy_ways @ List.map (on 2) busy_ways

(* The code around a run of another pool is told with it, and its cleaning up may wait. *)
let told_once_across_pools () =
  with_domains 1 @@ fun other ->
  let cleaned = ref false in
  let clean () =
    Task.check ();
    Task.await (Task.async ignore);
    cleaned := true
  in
  let endless () =
    while true do
      Task.check ()
    done
  in
  check_raises "deadline" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.02 (fun () ->
          Fun.protect ~finally:clean (fun () -> Pool.run other endless)));
  check_bool "cleaned" true !cleaned

(* So it is where the thread comes back to a pool that it is in already, and awaits a task there. *)
let told_once_back_in_a_pool () =
  with_domains 2 @@ fun pool ->
  with_domains 1 @@ fun other ->
  let told_once where f =
    let cleaned = ref false in
    let clean () =
      Task.check ();
      Task.await (Task.async ignore);
      cleaned := true
    in
    check_raises where Task.Cancelled (fun () ->
        Task.scope (fun scope -> Fun.protect ~finally:clean (fun () -> f scope)));
    check_bool where true !cleaned
  in
  Pool.run pool @@ fun () ->
  let never = Muster.Latch.create 1 in
  let task = Task.async (fun () -> Muster.Latch.await never) in
  Fun.protect ~finally:(fun () -> Muster.Latch.count_down never) @@ fun () ->
  Pool.run other @@ fun () ->
  told_once "await" (fun scope ->
      ignore (Thread.create Task.cancel_scope scope);
      Task.await task);
  told_once "run" (fun scope ->
      Pool.run pool (fun () ->
          Task.cancel_scope scope;
          Task.check ()))

let () =
  Alcotest.run "deadline"
    [
      ( "deadline",
        [
          case "a deadline passes" deadline_passes;
          case "a deadline passes for the tasks within" deadline_of_children;
          case "a deadline passes while all workers sleep" deadline_of_sleepers;
          case "a deadline passes in a pool without callers, 1 domain" (deadline_of_nobody_here 1);
          case "a deadline passes in a pool without callers, 2 domains" (deadline_of_nobody_here 2);
          case "a value in time is kept" deadline_kept;
          case "of nested deadlines the first one counts" deadlines_nest;
          case "a deadline that is no number is refused" bad_deadline;
          case "Deadline_exceeded is raised once, across pools" told_once_across_pools;
          case "Deadline_exceeded is raised though Cancelled was caught" swallowed;
          case "no message is lost at a deadline, 1 domain" (loses_no_message 1);
          case "no message is lost at a deadline, 2 domains" (loses_no_message 2);
          case "Deadline_exceeded is raised once, back in a pool" told_once_back_in_a_pool;
          case "a lock that was taken at the last moment is kept" keeps_what_it_has_locked;
        ]
        @ deadlines_of_the_busy
        @ List.map
            (fun (name, receive) -> case ("a message at the last moment is kept: " ^ name) (obtains receive))
            ways_to_obtain );
    ]
