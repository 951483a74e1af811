(* One pool used by many callers at once, and many pools by one program. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

let sum_by_loop n =
  let sum = Atomic.make 0 in
  Muster.parallel_for ~start:1 ~finish:n (fun i -> ignore (Atomic.fetch_and_add sum i));
  Atomic.get sum

let sum_by_tasks n =
  let tasks = List.init n (fun i -> Task.async (fun () -> i + 1)) in
  List.fold_left (fun sum task -> sum + Task.await task) 0 tasks

let sum_by_reduce n = Muster.parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 Fun.id

let sum_by_team pool n =
  let sum = Atomic.make 0 in
  let add ~worker:_ i = ignore (Atomic.fetch_and_add sum (i + 1)) in
  Muster.Team.for_n_dynamic pool n add;
  Atomic.get sum

(* One of everything; each has the answer it has alone. *)
let use_everything pool round =
  let n = 20 + (round mod 30) in
  let expected = n * (n + 1) / 2 in
  match round mod 5 with
  | 0 -> check_int "fib" 144 (fib 12)
  | 1 -> check_int "loop" expected (sum_by_loop n)
  | 2 -> check_int "tasks" expected (sum_by_tasks n)
  | 3 -> check_int "reduce" expected (sum_by_reduce n)
  | _ -> check_int "team" expected (sum_by_team pool n)

let rounds pool count caller =
  for round = 0 to count - 1 do
    Pool.run pool (fun () -> use_everything pool (round + caller))
  done

let several_domains () =
  let check size =
    with_domains size @@ fun pool ->
    let caller i = Domain.spawn (fun () -> rounds pool 30 i) in
    List.iter Domain.join (List.init 3 caller)
  in
  List.iter check [ 1; 2; 3 ]

let several_threads () =
  let check size = with_domains size (fun pool -> ignore (in_threads 6 (rounds pool 20))) in
  List.iter check [ 1; 2; 3 ]

let domain_of_threads count use i =
  Domain.spawn (fun () -> ignore (in_threads count (fun j -> use (i + j))))

let domains_and_threads () =
  with_domains 3 @@ fun pool ->
  let domains = List.init 2 (domain_of_threads 3 (rounds pool 10)) in
  rounds pool 20 0;
  List.iter Domain.join domains

(* A task that a resident has begun, and leaves behind when it goes, is awaited by a thread that
   shares its domain: that one blocks, so somebody else has to come for it. Residents go all the
   time where the governor flips (tools/test). *)
let threads_are_left_nothing () =
  let calls pool _ =
    for _ = 1 to 50 do
      check_int "fib" 55 (Pool.run pool (fun () -> fib 10))
    done
  in
  let caller pool () = ignore (in_threads 4 (calls pool)) in
  for _ = 1 to 5 do
    with_domains 3 (fun pool ->
        let domains = List.init 4 (fun _ -> Domain.spawn (caller pool)) in
        caller pool ();
        List.iter Domain.join domains)
  done

let default_pool_from_everywhere () =
  let use i =
    for round = 0 to 19 do
      use_everything (Pool.default ()) (round + i)
    done
  in
  let domains = List.init 2 (domain_of_threads 2 use) in
  use 0;
  List.iter Domain.join domains

(* Threads of a worker's domain share its domain-local state but do not own its deque. *)
let threads_within_tasks () =
  let check size =
    with_domains size @@ fun pool ->
    let in_task () = ignore (in_threads 3 (fun i -> use_everything pool i)) in
    Pool.run pool (fun () -> ignore (Task.all (List.init 6 (fun _ -> in_task))))
  in
  List.iter check [ 1; 2; 3 ]

(* The thread forks while the worker that its domain also runs forks too. *)
let thread_beside_its_worker () =
  let check size =
    run_on size @@ fun () ->
    let stop = Atomic.make false in
    let rec use () =
      check_int "in the thread" 144 (fib 12);
      check_int "in the thread" 210 (sum_by_tasks 20);
      if not (Atomic.get stop) then use ()
    in
    let result = ref (Error Not_found) in
    let thread = Thread.create (fun () -> result := outcome use) () in
    for _ = 1 to 100 do
      check_int "in the task" 610 (fib 15);
      check_int "in the task" 210 (sum_by_tasks 20);
      Thread.yield ()
    done;
    Atomic.set stop true;
    Thread.join thread;
    match !result with Ok () -> () | Error e -> raise e
  in
  List.iter check [ 1; 2; 3 ]

let task_awaited_by_a_thread_it_made () =
  run_on 2 @@ fun () ->
  for i = 1 to 20 do
    let inner () = Task.await (Task.async (fun () -> i)) in
    let task = Task.async (fun () -> in_thread inner) in
    check_int "value" i (in_thread (fun () -> Task.await task))
  done

(* Several pools *)

let pool_within_a_task_of_another () =
  with_domains 2 @@ fun outer ->
  with_domains 3 @@ fun inner ->
  let use i () =
    use_everything inner i;
    fib 10
  in
  let task i () = Pool.run inner (use i) in
  let answers = Pool.run outer (fun () -> Task.all (List.init 20 task)) in
  check_equal "answers" (List.init 20 (fun _ -> 55)) answers

let rec alternate a b depth =
  if depth = 0 then fib 8 else Pool.run a (fun () -> alternate b a (depth - 1))

let pools_in_each_other () =
  let check size =
    with_domains size @@ fun a ->
    with_domains size @@ fun b -> check_int "depth 20" 21 (alternate a b 20)
  in
  List.iter check [ 1; 2 ]

(* A task of a runs b while a task of b runs a: neither may hold what the other needs. *)
let pools_in_each_other_both_ways () =
  let check size =
    with_domains size @@ fun a ->
    with_domains size @@ fun b ->
    let use first second =
      for _ = 1 to 25 do
        check_int "answer" 21 (alternate first second 3)
      done
    in
    let other = Domain.spawn (fun () -> use b a) in
    use a b;
    Domain.join other
  in
  List.iter check [ 1; 2 ]

let run_within_run () =
  let check size =
    with_domains size @@ fun pool ->
    let rec nest n = if n = 0 then fib 8 else Pool.run pool (fun () -> nest (n - 1)) in
    check_int "same pool" 21 (nest 50)
  in
  List.iter check [ 1; 2; 3 ]

let task_of_another_pool () =
  with_domains 2 @@ fun a ->
  with_domains 2 @@ fun b ->
  for i = 1 to 50 do
    let task = Pool.run a (fun () -> Task.async (fun () -> fib 8 + i)) in
    check_int "awaited" (21 + i) (Pool.run b (fun () -> Task.await task))
  done

(* Its worker takes none of the other pool's tasks meanwhile. *)
let own_tasks_go_on () =
  with_domains 1 @@ fun a ->
  with_domains 2 @@ fun b ->
  let own = Atomic.make false and began = Atomic.make 0 and here = Domain.self () in
  let are_here = Atomic.make 0 in
  let busy () =
    if Domain.self () = here && not (Atomic.get own) then Atomic.incr are_here;
    Atomic.incr began;
    while not (Atomic.get own) do
      Domain.cpu_relax ()
    done
  in
  Pool.run a (fun () ->
      let tasks = Pool.run b (fun () -> List.init 3 (fun _ -> Task.async busy)) in
      while Atomic.get began = 0 do
        Domain.cpu_relax ()
      done;
      let mine = Task.async (fun () -> Atomic.set own true) in
      List.iter Task.await tasks;
      Task.await mine);
  check_int "here" 0 (Atomic.get are_here)

let pools_opened_within_tasks () =
  run_on 2 @@ fun () ->
  let own _ () = run_on 2 (fun () -> fib 10) in
  check_equal "answers" [ 55; 55; 55; 55 ] (Task.all (List.init 4 own))

(* The only resident waits, in a way that the pool does not see, for what was sent from outside; the
   caller has nothing to do meanwhile. *)
let resident_waits_for_an_outside_task () =
  with_domains 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  Task.scope @@ fun s ->
  let holds = Atomic.make false and sent = Atomic.make false in
  let hold () =
    Atomic.set holds true;
    wait_until (fun () -> Atomic.get sent)
  in
  let held = Task.fork s hold in
  wait_until (fun () -> Atomic.get holds);
  let send () =
    Unix.sleepf 0.05;
    ignore (Task.fork s (fun () -> Atomic.set sent true))
  in
  let domain = Domain.spawn send in
  Task.await held;
  Domain.join domain

(* What storage shows to a systhread may be the place of another thread, in a pool that closes. *)
let thread_beside_pools_that_close () =
  let stop = Atomic.make false in
  let use () =
    while not (Atomic.get stop) do
      check_int "async" 2 (Task.await (Task.async (fun () -> 2)));
      check_int "scope" 3 (Task.scope (fun s -> Task.await (Task.fork s (fun () -> 3))));
      check_equal "all" [ 1; 2 ]
        (Task.all [ (fun () -> 1); (fun () -> Task.await (Task.async (fun () -> 2))) ]);
      check_int "both" 5 (fib 5)
    done
  in
  in_domain @@ fun () ->
  let result = ref (Ok ()) in
  let thread = Thread.create (fun () -> result := outcome use) () in
  for _ = 1 to 60 do
    with_domains 2 (fun pool -> Pool.run pool (fun () -> Thread.delay 1e-4))
  done;
  Atomic.set stop true;
  Thread.join thread;
  match !result with Ok () -> () | Error exn -> failf "beside them: %s" (Printexc.to_string exn)

(* A systhread that is in a pool while storage shows another thread's place there. *)
let beside_another_thread f =
  with_domains 2 @@ fun pool ->
  let ended = Atomic.make false and result = ref (Ok ()) in
  let beside () =
    result := outcome (fun () -> Pool.run pool f);
    Atomic.set ended true
  in
  Pool.run pool (fun () ->
      ignore (Thread.create beside ());
      while not (Atomic.get ended) do
        Thread.delay 1e-3
      done);
  match !result with Ok () -> () | Error exn -> raise exn

let loops_beside_another_thread () =
  let stopped name loop =
    let stop = Unix.gettimeofday () +. 10. in
    let loops () =
      while Unix.gettimeofday () < stop do
        loop ()
      done
    in
    let check () =
      check_raises name Task.Deadline_exceeded (fun () -> Task.with_deadline 0.02 loops)
    in
    beside_another_thread check;
    check_bool (name ^ ": in time") true (Unix.gettimeofday () < stop)
  in
  stopped "for" (fun () -> Muster.parallel_for ~start:1 ~finish:1000 ignore);
  stopped "reduce" (fun () -> ignore (sum_by_reduce 1000))

(* The resident never looks for tasks, and wakes the caller, who waits for it, at each fork. *)
let served_beside_forks step () =
  with_domains 2 @@ fun pool ->
  let begun = Atomic.make false and stop = Atomic.make false in
  let fork_on () =
    Atomic.set begun true;
    while not (Atomic.get stop) do
      step ()
    done
  in
  Pool.run pool @@ fun () ->
  Task.scope @@ fun s ->
  let task = Task.fork s fork_on in
  wait_until (fun () -> Atomic.get begun);
  in_domain (fun () -> ignore (Task.fork s (fun () -> Atomic.set stop true)));
  Task.await task

(* While it waits, the caller takes on what nobody has begun. *)
let share_that_waits () =
  (* It takes three workers who stay. *)
  if not flipped then (
    with_domains 3 @@ fun pool ->
    Pool.run pool @@ fun () ->
    let domain () = (Domain.self () :> int) in
    let places = Array.make 3 0 in
    Muster.Team.broadcast pool (fun worker -> places.(worker) <- domain ());
    (* Both residents get a task that lasts; the one of place 1 is released. *)
    let stop = counters 3 and here = counters 3 in
    let busy () =
      let place = if domain () = places.(1) then 1 else 2 in
      Atomic.incr here.(place);
      wait_until (fun () -> Atomic.get stop.(place) > 0)
    in
    let tasks = List.init 2 (fun _ -> Task.async busy) in
    wait_until (fun () -> Atomic.get here.(1) = 1 && Atomic.get here.(2) = 1);
    Atomic.set stop.(1) 1;
    Unix.sleepf 0.02;
    let latch = Muster.Latch.create 1 and begun = Atomic.make false in
    Muster.Team.for_slices pool 3 (fun ~worker ~start:_ ~count:_ ->
        match worker with
        | 0 -> wait_until (fun () -> Atomic.get begun)
        | 1 ->
          Atomic.set begun true;
          Unix.sleepf 0.02;
          Muster.Latch.await latch
        | _ -> Muster.Latch.count_down latch);
    Atomic.set stop.(2) 1;
    List.iter Task.await tasks)

(* What its callers did elsewhere comes through the inbox. *)
let woken_from_outside_by_all () =
  if not flipped then (
    with_domains 4 @@ fun pool ->
    let seen = Atomic.make [] and left = Muster.Latch.create 60 in
    let rec note domain =
      let before = Atomic.get seen in
      if not (List.mem domain before || Atomic.compare_and_set seen before (domain :: before)) then
        note domain
    in
    let call () =
      Task.blocking (fun () -> Unix.sleepf 0.4);
      Unix.sleepf 0.02;
      note (Domain.self () :> int);
      Muster.Latch.count_down left
    in
    Pool.run pool (fun () ->
        for _ = 1 to 60 do
          ignore (Task.async call)
        done);
    Muster.Latch.await left;
    if List.length (Atomic.get seen) < 2 then failf "one resident has done it all")

let () =
  Alcotest.run "shared pools"
    [
      ( "one pool",
        [
          case "several domains share a pool" several_domains;
          case "several systhreads share a pool" several_threads;
          case "domains with several systhreads each share a pool" domains_and_threads;
          case ~seconds:120 "systhreads that end leave nothing in the pool"
            threads_are_left_nothing;
          case "domains and systhreads use the default pool" default_pool_from_everywhere;
          case "systhreads that tasks start use the pool" threads_within_tasks;
          case "a systhread calls the pool whose worker runs beside it" thread_beside_its_worker;
          case "a systhread awaits the task that started it" task_awaited_by_a_thread_it_made;
          case "Pool.run within Pool.run" run_within_run;
          case "a worker awaits a task from outside" resident_waits_for_an_outside_task;
          case "a systhread runs loops beside another" loops_beside_another_thread;
          case "a task from outside is run beside endless forks"
            (served_beside_forks (fun () -> ignore (Muster.both ignore ignore)));
          case "a task from outside is run beside endless loops"
            (served_beside_forks (fun () -> Muster.parallel_for ~start:1 ~finish:50 ignore));
          case "a caller takes on tasks while a worker's slice waits" share_that_waits;
          case "tasks woken by all workers from outside go on" woken_from_outside_by_all;
        ] );
      ( "several pools",
        [
          case "a task runs a function in another pool" pool_within_a_task_of_another;
          case "two pools run functions in each other" pools_in_each_other;
          case "two pools run functions in each other at the same time"
            pools_in_each_other_both_ways;
          case "a task awaits a task of another pool" task_of_another_pool;
          case "an await of another pool's task leaves its worker to its own" own_tasks_go_on;
          case "tasks open pools and close them" pools_opened_within_tasks;
          case "pools close beside a systhread that uses them" thread_beside_pools_that_close;
        ] );
    ]
