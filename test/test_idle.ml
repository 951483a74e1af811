(* Waiting burns no CPU, and a program that ends, ends at once. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

let check_burnt name ~limit ~at_least f =
  let limit = if flipped then 0.1 *. (at_least +. 1.) else limit in
  let ((), burnt), seconds = wall_seconds (fun () -> cpu_seconds f) in
  if burnt > limit then failf "%s: %.0f ms of CPU in %.2f s" name (1e3 *. burnt) seconds;
  if seconds < at_least then failf "%s: was no wait, %.2f s" name seconds

(* A task that sleeps on another domain, begun when this returns. *)
let sleeper seconds =
  let started = Atomic.make false in
  let body () =
    Atomic.set started true;
    Unix.sleepf seconds
  in
  let task = Task.async body in
  wait_until (fun () -> Atomic.get started);
  task

let waits ~limit ~at_least wait () =
  with_domains 2 @@ fun pool ->
  Pool.run pool (fun () -> Muster.parallel_for ~start:1 ~finish:1000 ignore);
  check_burnt "waiting" ~limit ~at_least (fun () -> wait pool)

let main_awaits_default_pool () =
  if Pool.size (Pool.default ()) > 1 then
    check_burnt "waiting" ~limit:0.025 ~at_least:0.4 (fun () -> Task.await (sleeper 0.5))

let main_awaits pool =
  let task = Pool.run pool (fun () -> Task.async (fun () -> Unix.sleepf 0.5)) in
  Task.await task

let run_awaits pool = Pool.run pool (fun () -> Task.await (sleeper 0.5))
let another_domain_awaits pool = in_domain (fun () -> run_awaits pool)
let thread_awaits pool = in_thread (fun () -> run_awaits pool)

let awaits_below_c pool =
  Pool.run pool (fun () ->
      let task = sleeper 0.5 in
      call_through_c (fun () -> Task.await task))

let many_threads_wait () =
  let latch = Muster.Latch.create 1 and waiting = Atomic.make 0 in
  let wait () =
    Atomic.incr waiting;
    Muster.Latch.await latch
  in
  let threads = List.init 500 (fun _ -> Thread.create wait ()) in
  wait_until (fun () -> Atomic.get waiting = 500);
  (* Each looks five times, which took 55 to 133 ms on one machine. *)
  Fun.protect
    (fun () -> check_burnt "waiting" ~limit:0.25 ~at_least:0.4 (fun () -> Unix.sleepf 0.5))
    ~finally:(fun () ->
      Muster.Latch.count_down latch;
      List.iter Thread.join threads)

(* Who waits outside takes what nobody has touched for 200 ms. It wakes for each deadline, too, and many looks
   are no time. *)
let deadlines_in_rows () =
  with_domains 2 @@ fun pool ->
  with_domains 1 @@ fun other ->
  let over = Muster.Latch.create 1 and passed = Atomic.make false in
  let deadline () =
    match Task.with_deadline 0.001 (fun () -> Muster.Latch.await over) with
    | () | (exception Task.Deadline_exceeded) -> ()
  in
  let row () =
    while not (Atomic.get passed) do
      deadline ()
    done
  in
  let waits = List.init 20 (fun _ -> Thread.create Muster.Latch.await over) in
  let deadlines = Domain.spawn (fun () -> Pool.run other row) in
  let opened = Atomic.make None in
  let busy () =
    Task.scope (fun s ->
        Atomic.set opened (Some s);
        burn 0.1)
  in
  let round () =
    Atomic.set opened None;
    Pool.run pool (fun () -> ignore (Task.async busy));
    wait_until (fun () -> Atomic.get opened <> None);
    let sent = Unix.gettimeofday () in
    let begun () = ((Domain.self () :> int), Unix.gettimeofday () -. sent) in
    let task = Task.fork (Option.get (Atomic.get opened)) begun in
    Thread.delay 0.15;
    let domain, seconds = Task.await task in
    if domain = (Domain.self () :> int) && seconds < 0.14 then
      failf "the waiter outside took it after %.0f ms" (seconds *. 1e3)
  in
  for _ = 1 to 5 do
    round ()
  done;
  Atomic.set passed true;
  Domain.join deadlines;
  Muster.Latch.count_down over;
  List.iter Thread.join waits

(* The right side has surely been taken when the left ends. *)
let join_of_both pool =
  let taken = Atomic.make false in
  let right () =
    Atomic.set taken true;
    Unix.sleepf 0.5
  in
  let left () = Unix.sleepf 0.05 in
  Pool.run pool (fun () -> ignore (Muster.both left right));
  check_bool "taken" true (Atomic.get taken)

let join_of_a_loop pool =
  let body i = if i = 1 then Unix.sleepf 0.5 in
  Pool.run pool (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:1 body)

let join_of_a_region pool =
  Muster.Team.broadcast pool (fun worker -> if worker = 1 then Unix.sleepf 0.5)

(* A second caller, whose work the busy pool cannot take yet. *)
let outside_caller_of_a_busy_pool pool =
  let sleep () = Muster.Team.broadcast pool (fun _ -> Unix.sleepf 0.7) in
  let other = Domain.spawn sleep in
  Unix.sleepf 0.05;
  sleep ();
  Domain.join other

let idle _ = Unix.sleepf 0.5

(* A busy machine charges its own work to the running process, or stops it for a while: the best of
   some tries counts. *)
let rec best_of tries check =
  try check () with Failure _ when tries > 1 -> best_of (tries - 1) check

let idle_of_eight () =
  with_domains 8 @@ fun pool ->
  Pool.run pool (fun () -> Muster.parallel_for ~start:1 ~finish:1000 ignore);
  Unix.sleepf 0.1;
  check_burnt "idle" ~limit:0.01 ~at_least:0.4 (fun () -> idle pool)

(* Workers may spin and nap briefly before they park; after that, idling costs nothing. *)
let idle_after_a_while pool =
  Unix.sleepf 0.05;
  check_burnt "idle" ~limit:0.01 ~at_least:0.4 (fun () -> idle pool)

let close_of_an_idle_pool_is_quick () =
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  Unix.sleepf 0.3;
  let (), seconds = wall_seconds (fun () -> Pool.close pool) in
  if seconds > 0.5 then failf "closed after %.1f s" seconds

(* Ends: what a child would wait for takes 30 s. *)

let at_once = 10.

let child ?interrupt name = Child.run ?interrupt ~limit:20. "child/child.exe" [ name ]

let ends_at_once name expected () =
  let child = child name in
  if child.status <> expected then failf "%s: %s%s" name child.output child.errors;
  if child.seconds > at_once then failf "%s: ended after %.1f s" name child.seconds

(* Whatever address space there is, the pool makes do with it. *)
let bounded_address_space () =
  if not Sys.win32 then
    List.iter
      (fun kilobytes ->
        let command =
          Printf.sprintf "ulimit -v %d && exec child/child.exe end-after-work" kilobytes
        in
        check_int command 0 (Sys.command (command ^ " >/dev/null")))
      [ 400_000; 450_000; 600_000; 800_000; 1_500_000 ]

(* A thread's stack is as large as the limit for stacks, and here larger than the address space.
   Where the system has no thread to give, the runtime raises another exception than where it has
   no domain. *)
let no_threads () =
  if not Sys.win32 then begin
    let limits = "ulimit -s 4000000 && ulimit -v 3000000" in
    let file = Filename.temp_file "no_threads" ".out" in
    let command = limits ^ " && exec child/child.exe work-on-one-thread >" ^ Filename.quote file in
    check_int command 0 (Sys.command command);
    let output = In_channel.with_open_bin file In_channel.input_all in
    Sys.remove file;
    Alcotest.(check string) "workers" "1\n" output
  end

let no_descriptors () =
  if not Sys.win32 then
    let command = "ulimit -n 64 && exec child/child.exe read-quota-without-files" in
    check_int command 0 (Sys.command command)

let interrupted_ends name is_expected () =
  let child = child ~interrupt:Sys.sigint name in
  if child.after_signal > at_once then failf "%s: ended %.1f s later" name child.after_signal;
  check_bool "status and output" true (is_expected child)

let killed_by_signal (child : Child.t) = child.status = WSIGNALED Sys.sigint
let caught_break (child : Child.t) = child.status = WEXITED 0 && contains child.output ~sub:"break"

let () =
  Alcotest.run "idle"
    [
      ( "CPU",
        [
          case "the main thread awaits a task of the default pool" main_awaits_default_pool;
          case "the main thread awaits a task" (waits ~limit:0.025 ~at_least:0.4 main_awaits);
          case "the function of Pool.run awaits a task"
            (waits ~limit:0.025 ~at_least:0.4 run_awaits);
          case "another domain awaits a task"
            (waits ~limit:0.025 ~at_least:0.4 another_domain_awaits);
          case "a systhread awaits a task" (waits ~limit:0.025 ~at_least:0.4 thread_awaits);
          case "500 systhreads await tasks" many_threads_wait;
          case "20 systhreads await tasks while deadlines pass" deadlines_in_rows;
          case "a task is awaited below a C callback"
            (waits ~limit:0.025 ~at_least:0.4 awaits_below_c);
          case "both waits for its right branch" (waits ~limit:0.025 ~at_least:0.4 join_of_both);
          case "a loop waits for its last iterations"
            (waits ~limit:0.025 ~at_least:0.4 join_of_a_loop);
          case "a team call waits for its last slice"
            (waits ~limit:0.025 ~at_least:0.4 join_of_a_region);
          case "a thread waits for a busy pool"
            (waits ~limit:0.1 ~at_least:0.6 outside_caller_of_a_busy_pool);
          case "a pool has no work" (waits ~limit:0.01 ~at_least:0.5 idle_after_a_while);
          case "a pool of eight workers has no work" (fun () -> best_of 4 idle_of_eight);
          case "an idle pool is closed at once" (fun () -> best_of 4 close_of_an_idle_pool_is_quick);
        ] );
      ( "ends at once",
        [
          case "the program ends after its work" (ends_at_once "end-after-work" (WEXITED 0));
          case "the program ends though address space is scarce" bounded_address_space;
          case "the program works and ends where no thread can start" no_threads;
          case "the program works and ends without file descriptors" no_descriptors;
          case "the program ends though a task sleeps"
            (ends_at_once "end-beside-sleeper" (WEXITED 0));
          case "the program ends by exit" (ends_at_once "exit-with-3" (WEXITED 3));
          case "the program ends by an exception" (ends_at_once "fail-uncaught" (WEXITED 2));
        ] );
      ( "Ctrl-C while awaiting",
        [
          case "Ctrl-C ends a program that awaits a task"
            (interrupted_ends "await-sleeper" killed_by_signal);
          case "Ctrl-C raises Sys.Break in an await"
            (interrupted_ends "await-sleeper-catching-break" caught_break);
        ] );
    ]
