(* Code that waits by the stdlib's means keeps its worker; here there is one. *)

open Domainslib
open Harness

let narrow = Sys.getenv_opt "MUSTER_DOMAINS" = Some "1"

(* Muster looks at its environment when a program starts. *)
let start_again () =
  let others = Array.to_list (Unix.environment ()) in
  let is_other it = not (String.starts_with ~prefix:"MUSTER_" it) in
  let environment = Array.of_list ("MUSTER_DOMAINS=1" :: List.filter is_other others) in
  Unix.execve Sys.executable_name Sys.argv environment

let poll what condition =
  let stop = Unix.gettimeofday () +. 5. in
  while not (condition ()) do
    if Unix.gettimeofday () > stop then failf "%s: in vain" what;
    Domain.cpu_relax ()
  done

let with_pool ?(num_domains = 1) f =
  let pool = Task.setup_pool ~num_domains () in
  Fun.protect
    (fun () -> Task.run pool (fun () -> f pool))
    ~finally:(fun () -> Task.teardown_pool pool)

let for_a_task () =
  with_pool @@ fun pool ->
  for _ = 1 to 3 do
    let flag = Atomic.make false in
    let task = Task.async pool (fun () -> Atomic.set flag true) in
    poll "a task" (fun () -> Atomic.get flag);
    Task.await pool task
  done

let for_each_other () =
  with_pool @@ fun pool ->
  let arrived = Atomic.make 0 in
  let meet () =
    Atomic.incr arrived;
    poll "the other" (fun () -> Atomic.get arrived >= 2)
  in
  let tasks = List.init 2 (fun _ -> Task.async pool meet) in
  List.iter (Task.await pool) tasks

let in_a_loop () =
  with_pool @@ fun pool ->
  let arrived = Atomic.make 0 in
  let meet _ =
    Atomic.incr arrived;
    poll "the other" (fun () -> Atomic.get arrived >= 2)
  in
  Task.parallel_for pool ~chunk_size:1 ~start:0 ~finish:1 ~body:meet

(* {2 As many as were asked for}

   Each gives a function that returns once [n] have called it, and waits in its own way. *)

let on_a_condition n =
  let mutex = Mutex.create () and all_here = Condition.create () and here = ref 0 in
  fun () ->
    Mutex.protect mutex (fun () ->
        incr here;
        if !here = n then Condition.broadcast all_here
        else
          while !here < n do
            Condition.wait all_here mutex
          done)

let by_a_flag pause n =
  let here = Atomic.make 0 in
  fun () ->
    Atomic.incr here;
    while Atomic.get here < n do
      pause ()
    done

let last_one here n = Atomic.fetch_and_add here 1 = n - 1

let in_a_pipe n =
  let here = Atomic.make 0 and reader, writer = Unix.pipe () in
  fun () ->
    if last_one here n then ignore (Unix.write writer (Bytes.make n 'x') 0 n);
    ignore (Unix.read reader (Bytes.create 1) 0 1)

let on_a_semaphore n =
  let here = Atomic.make 0 and semaphore = Semaphore.Counting.make 0 in
  fun () ->
    if last_one here n then
      for _ = 1 to n do
        Semaphore.Counting.release semaphore
      done;
    Semaphore.Counting.acquire semaphore

let allocate () = ignore (Sys.opaque_identity (List.init 100 Fun.id))
let num_domains = 4

let tasks_meet meet pool =
  let tasks = List.init num_domains (fun _ -> Task.async pool meet) in
  meet ();
  List.iter (Task.await pool) tasks

let from_the_caller meet pool = Task.run pool (fun () -> tasks_meet meet pool)

let from_a_task meet pool =
  Task.run pool (fun () -> Task.await pool (Task.async pool (fun () -> tasks_meet meet pool)))

let from_another_domain meet pool = Domain.join (Domain.spawn (fun () -> from_the_caller meet pool))

(* Through the inbox. *)
let from_outside meet pool = tasks_meet meet pool

let in_chunks meet pool =
  let body _ = meet () in
  Task.run pool (fun () -> Task.parallel_for pool ~chunk_size:1 ~start:0 ~finish:num_domains ~body)

let in_a_reduction meet pool =
  let body _ =
    meet ();
    1
  in
  let sum () =
    Task.parallel_for_reduce pool ~chunk_size:1 ~start:0 ~finish:num_domains ~body ( + ) 0
  in
  check_int "sum" (num_domains + 1) (Task.run pool sum)

let places =
  [
    ("from the caller", from_the_caller);
    ("from a task", from_a_task);
    ("from another domain", from_another_domain);
    ("from outside", from_outside);
    ("in a loop", in_chunks);
    ("in a reduction", in_a_reduction);
  ]

(* A pool of its own for each, which has nobody yet. *)
let meet_everywhere way () =
  List.iter
    (fun (_, place) ->
      let pool = Task.setup_pool ~num_domains () in
      Fun.protect
        (fun () ->
          for _ = 1 to 3 do
            place (way (num_domains + 1)) pool
          done)
        ~finally:(fun () -> Task.teardown_pool pool))
    places

(* What has waited goes on through the inbox, while the only worker waits for it. *)
let woken_from_outside () =
  with_pool ~num_domains @@ fun pool ->
  let channel = Chan.make_unbounded () and flag = Atomic.make false in
  let receiver =
    Task.async pool (fun () ->
        Chan.recv channel;
        Atomic.set flag true)
  in
  Task.await pool (Task.async pool ignore);
  let send () =
    Unix.sleepf 0.3;
    Chan.send channel ()
  in
  let sender = Thread.create send () in
  poll "the receiver" (fun () ->
      Unix.sleepf 0.001;
      Atomic.get flag);
  Thread.join sender;
  Task.await pool receiver

let fib pool = Fib.by_tasks ~async:(Task.async pool) ~await:(Task.await pool)

(* Two wait, one of them making tasks all the time: what the other waits for is in its own place. *)
let beside_one_who_forks () =
  with_pool ~num_domains:2 @@ fun pool ->
  let begun = Atomic.make false and flag = Atomic.make false in
  let waiter () =
    Atomic.set begun true;
    let task = Task.async pool (fun () -> Atomic.set flag true) in
    poll "the task" (fun () -> Atomic.get flag);
    Task.await pool task
  in
  let waiter = Task.async pool waiter in
  poll "the waiter" (fun () -> Atomic.get begun);
  poll "the flag" (fun () ->
      ignore (fib pool 15);
      Atomic.get flag);
  Task.await pool waiter

(* The domains that come meanwhile draw nothing from the program's generator. *)
let random_numbers_stay () =
  let num_domains = 20 and drawn = ref 0 and sum = ref 0 in
  let draw () =
    sum := ((!sum * 31) + Random.bits ()) land max_int;
    incr drawn
  in
  let there = Atomic.make 0 and over = Atomic.make false in
  let pool = Task.setup_pool ~num_domains () in
  Random.init 42;
  let wait () =
    Atomic.incr there;
    while not (Atomic.get over) do
      Unix.sleepf 0.001
    done
  in
  Task.run pool (fun () ->
      let tasks = List.init num_domains (fun _ -> Task.async pool wait) in
      poll "all" (fun () ->
          for _ = 1 to 1000 do
            draw ()
          done;
          Unix.sleepf 1e-5;
          Atomic.get there = num_domains);
      Atomic.set over true;
      List.iter (Task.await pool) tasks);
  Task.teardown_pool pool;
  let seen = !sum and times = !drawn in
  Random.init 42;
  sum := 0;
  for _ = 1 to times do
    draw ()
  done;
  check_int "the same numbers" !sum seen

(* {2 And no domain where nobody needs one} *)

type tree = Leaf | Node of tree * tree

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), build (depth - 1))
let rec size = function Leaf -> 1 | Node (left, right) -> size left + size right

let rec grow pool depth =
  if depth < 12 then size (build depth)
  else
    let left = Task.async pool (fun () -> grow pool (depth - 1)) in
    let right = grow pool (depth - 1) in
    Task.await pool left + right

let domains_started () =
  List.fold_left
    (fun n (pool : Muster_core.Place.pool) -> n + Atomic.get pool.residents + Atomic.get pool.history.ended)
    0
    (Atomic.get Muster_core.Place.open_pools)

(* (A domain more than CPUs makes it take twice to three times as long.) *)
let a_recursion_stays_alone () =
  with_pool ~num_domains @@ fun pool ->
  let stop = Unix.gettimeofday () +. 0.3 in
  while Unix.gettimeofday () < stop do
    check_int "leaves" (1 lsl 16) (grow pool 16)
  done;
  check_int "domains" 0 (domains_started ())

(* They go again. *)
let the_called_leave () =
  let pool = Task.setup_pool ~num_domains () in
  from_the_caller (on_a_condition (num_domains + 1)) pool;
  let residents () =
    List.fold_left
      (fun n (pool : Muster_core.Place.pool) -> n + Atomic.get pool.residents)
      0
      (Atomic.get Muster_core.Place.open_pools)
  in
  poll "all are gone" (fun () ->
      Unix.sleepf 0.01;
      residents () = 0);
  Task.teardown_pool pool

(* The first of all, before the program's first domain has made a pool. The watchdog goes when nothing waits. *)
let in_another_domain () =
  let work () =
    let pool = Task.setup_pool ~num_domains () in
    from_the_caller (on_a_condition (num_domains + 1)) pool;
    from_a_task (in_a_pipe (num_domains + 1)) pool;
    Task.teardown_pool pool
  in
  Domain.join (Domain.spawn work);
  poll "the watchdog has gone" (fun () ->
      Unix.sleepf 0.01;
      not (Atomic.get Muster_core.Place.is_watched))

let () =
  if not narrow then start_again ();
  Alcotest.run "Domainslib on one worker"
    [
      ("pools of another domain", [ case "all workers of another domain's pool meet"
        in_another_domain ]);
      ( "polling",
        [
          case "a task polls for another" for_a_task;
          case "tasks poll for each other" for_each_other;
          case "bodies of a loop poll for each other" in_a_loop;
        ] );
      ( "all that were asked for meet",
        [
          case "they wait on a condition of the stdlib" (meet_everywhere on_a_condition);
          case "they spin on a flag" (meet_everywhere (by_a_flag Domain.cpu_relax));
          case "they look at a flag now and then"
            (meet_everywhere (by_a_flag (fun () -> Unix.sleepf 0.001)));
          case "they read from a pipe" (meet_everywhere in_a_pipe);
          case "they wait on a semaphore of the stdlib" (meet_everywhere on_a_semaphore);
          case "they spin on a flag and allocate" (fun () ->
              with_pool ~num_domains:2 (fun pool ->
                  let meet = by_a_flag allocate 3 in
                  let tasks = List.init 2 (fun _ -> Task.async pool meet) in
                  meet ();
                  List.iter (Task.await pool) tasks));
          case "a thread outside wakes them" woken_from_outside;
          case "they meet beside a worker that forks" beside_one_who_forks;
          case "random numbers stay as they are" random_numbers_stay;
        ] );
      ( "domains",
        [
          case "a recursion starts no domain" a_recursion_stays_alone;
          case "a domain that the watchdog started ends again" the_called_leave;
        ] );
    ]
