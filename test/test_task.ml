(* Fork-join: both, async and await, all, first; their depth, number and nesting. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

exception Boom of int

let domain_counts = [ 1; 2; 3; 8 ]
let on_each_count f () = List.iter (fun domains -> run_on domains f) domain_counts

(* both *)

let both_gives_both () = check_equal "pair" (1, "b") (Muster.both (fun () -> 1) (fun () -> "b"))
let both_at_every_call () = check_int "fib 20" 6765 (fib 20)

(* A task runs once, though several workers would claim it. *)
let each_side_once () =
  let runs = counters 20_000 in
  for i = 0 to 9_999 do
    let once k () = Atomic.incr runs.(k) in
    ignore (Muster.both (once (2 * i)) (once ((2 * i) + 1)))
  done;
  each_once "both" runs

let rec left_deep n =
  if n = 0 then 0 else 1 + fst (Muster.both (fun () -> left_deep (n - 1)) ignore)

let rec right_deep n =
  if n = 0 then 0 else 1 + snd (Muster.both ignore (fun () -> right_deep (n - 1)))

let deep_both () =
  let depth = 1_000_000 in
  let check domains =
    check_int "left" depth (run_on domains (fun () -> left_deep depth));
    check_int "right" depth (run_on domains (fun () -> right_deep depth))
  in
  List.iter check [ 1; 2 ];
  check_int "outside a pool" depth (left_deep depth)

(* async and await *)

let async_await () =
  let tasks = List.init 1000 (fun i -> Task.async (fun () -> i * i)) in
  List.iteri (fun i task -> check_int "in order" (i * i) (Task.await task)) tasks;
  List.iteri (fun i task -> check_int "again" (i * i) (Task.await task)) tasks

let await_in_reverse () =
  let tasks = List.init 1000 (fun i -> Task.async (fun () -> i)) in
  let check k task = check_int "reverse" (999 - k) (Task.await task) in
  List.iteri check (List.rev tasks)

let async_runs_once () =
  let runs = counters 5_000 in
  let tasks = Array.map (fun count -> Task.async (fun () -> Atomic.incr count)) runs in
  Array.iter Task.await tasks;
  each_once "async" runs

let rec async_fib n =
  if n < 2 then n
  else
    let a = Task.async (fun () -> async_fib (n - 1)) in
    let b = Task.async (fun () -> async_fib (n - 2)) in
    Task.await a + Task.await b

let async_at_every_call () = check_int "fib 16" 987 (async_fib 16)

let million_queued () =
  let count = 1_000_000 in
  let sum domains =
    run_on domains @@ fun () ->
    let tasks = List.init count (fun i -> Task.async (fun () -> i)) in
    List.fold_left (fun sum task -> sum + Task.await task) 0 tasks
  in
  let expected = count * (count - 1) / 2 in
  List.iter (fun domains -> check_int "sum" expected (sum domains)) [ 1; 2 ]

let await_chain () =
  let rec chain n = if n = 0 then 0 else 1 + Task.await (Task.async (fun () -> chain (n - 1))) in
  check_int "chain" 10_000 (chain 10_000)

(* Each task awaits the one before it, the last is awaited first. *)
let await_dependencies () =
  let next previous = Task.async (fun () -> Task.await previous + 1) in
  let rec extend n task = if n = 0 then task else extend (n - 1) (next task) in
  check_int "last" 2_000 (Task.await (extend 2_000 (Task.async (fun () -> 0))))

(* Who hands out tasks in a row has always one for those who took its last ones. *)
let rows_starve_no_other_caller () =
  with_domains 2 @@ fun pool ->
  let over = Atomic.make false and handed_out = Atomic.make 0 in
  let hand_out () =
    while not (Atomic.get over) do
      if Atomic.get handed_out < 1000 then begin
        Atomic.incr handed_out;
        ignore
          (Task.async (fun () ->
               if not (Atomic.get over) then burn 1e-4;
               Atomic.decr handed_out))
      end
    done
  in
  let other = Domain.spawn (fun () -> Pool.run pool hand_out) in
  wait_until (fun () -> Atomic.get handed_out > 100);
  let wait_for_one () =
    let begun = Atomic.make false in
    let task = Task.async (fun () -> Atomic.set begun true) in
    while not (Atomic.get begun) do
      Unix.sleepf 0.001;
      Task.check ()
    done;
    Task.await task
  in
  Pool.run pool (fun () ->
      for _ = 1 to 3 do
        wait_for_one ()
      done);
  Atomic.set over true;
  Domain.join other

(* all *)

let all_in_order () =
  let expected = List.init 500 Fun.id in
  let thunks = List.map (fun i () -> i) expected in
  check_equal "order" expected (Task.all thunks);
  check_equal "empty" [] (Task.all []);
  check_equal "one" [ 7 ] (Task.all [ (fun () -> 7) ])

let leftmost raising = List.init 40 (fun i () -> if List.mem i raising then raise (Boom i) else i)

let all_raises_leftmost () =
  for round = 0 to 20 do
    let raising = [ 10 + round; 5 + round; 39 ] in
    check_raises "leftmost" (Boom (5 + round)) (fun () -> ignore (Task.all (leftmost raising)))
  done

let all_ends_before_raising () =
  let started = Atomic.make 0 and ended = Atomic.make 0 in
  let slow () =
    Atomic.incr started;
    Unix.sleepf 0.005;
    Atomic.incr ended
  in
  let fail () = raise (Boom 0) in
  let thunks = fail :: List.init 10 (fun _ -> slow) in
  check_raises "raises" (Boom 0) (fun () -> Task.all thunks);
  let started_then = Atomic.get started in
  check_int "none is running" started_then (Atomic.get ended);
  Unix.sleepf 0.01;
  check_int "none runs afterwards" started_then (Atomic.get started)

(* first *)

let failing i () = raise (Boom i)

let first_success () =
  let third () = 3 in
  check_int "only success" 3 (Task.first [ failing 1; failing 2; third; failing 4 ]);
  check_int "single" 1 (Task.first [ (fun () -> 1) ]);
  let answer = Task.first (List.init 20 (fun i () -> i)) in
  check_bool "one of them" true (answer >= 0 && answer < 20)

let first_all_fail () =
  for _ = 1 to 50 do
    check_raises "leftmost" (Boom 1) (fun () ->
        ignore (Task.first [ failing 1; failing 2; failing 3 ]))
  done

let first_leftmost_though_last () =
  let slow () =
    Unix.sleepf 0.02;
    raise (Boom 1)
  in
  check_raises "leftmost" (Boom 1) (fun () -> ignore (Task.first [ slow; failing 2; failing 3 ]))

let first_of_none () = check_invalid ~mentions:[ "first" ] "empty" (fun () -> Task.first [])

let first_in_time () =
  let slow () =
    Unix.sleepf 0.5;
    "slow"
  in
  with_domains 2 @@ fun pool ->
  let answer = Pool.run pool (fun () -> Task.first [ slow; (fun () -> "fast") ]) in
  check_equal "the fast one" "fast" answer

let first_leaves_none_running () =
  let running = Atomic.make 0 in
  let slow () =
    Atomic.incr running;
    Unix.sleepf 0.02;
    Atomic.decr running;
    0
  in
  ignore (Task.first [ slow; (fun () -> 1); slow; slow ]);
  check_int "running" 0 (Atomic.get running)

(* Nesting *)

let loop_in_both_in_async () =
  let sum_to n =
    let sum = Atomic.make 0 in
    Muster.parallel_for ~start:1 ~finish:n (fun i -> ignore (Atomic.fetch_and_add sum i));
    Atomic.get sum
  in
  let task () = Muster.both (fun () -> sum_to 300) (fun () -> sum_to 200) in
  let tasks = List.init 20 (fun _ -> Task.async task) in
  let check task = check_equal "sums" (45_150, 20_100) (Task.await task) in
  List.iter check tasks

let loops_in_loops () =
  let cells = counters (12 * 12 * 12) in
  let loop body = Muster.parallel_for ~start:0 ~finish:11 body in
  let cell i j k = cells.((((i * 12) + j) * 12) + k) in
  loop (fun i -> loop (fun j -> loop (fun k -> Atomic.incr (cell i j k))));
  each_once "cell" cells

let everything_nested () =
  let leaf i = Task.await (Task.async (fun () -> i)) in
  let reduce () =
    Muster.parallel_reduce ~start:1 ~finish:50 ~combine:( + ) ~init:0 (fun i ->
        fst (Muster.both (fun () -> leaf i) (fun () -> ())))
  in
  let sums = Task.all (List.init 10 (fun _ -> reduce)) in
  check_int "sum" 12_750 (List.fold_left ( + ) 0 sums)

(* Promises and results of any age, and collections at any point of a task that runs in place. *)
let collected_at_any_point () =
  let random = Random.State.make [| 1 |] in
  let maybe_collect n =
    match n * 7919 land 63 with
    | 0 -> Gc.minor ()
    | 1 -> ignore (Gc.major_slice 500)
    | 2 -> if n land 511 = 2 then Gc.full_major ()
    | _ -> ()
  in
  let rec tree depth n =
    maybe_collect n;
    if depth = 0 then [ n ]
    else begin
      let a = Task.async (fun () -> tree (depth - 1) (2 * n)) in
      maybe_collect (n + 11);
      let b = Task.async (fun () -> tree (depth - 1) ((2 * n) + 1)) in
      maybe_collect (n + 22);
      let left = Task.await a in
      maybe_collect (n + 33);
      let again = Task.await a in
      check_bool "the same result" true (left == again);
      let right = Task.await b in
      maybe_collect (n + 44);
      left @ right
    end
  in
  for _ = 1 to 5 do
    let n = 1 + Random.State.int random 1_000 in
    check_equal "leaves" (List.init 256 (fun i -> (256 * n) + i)) (tree 8 n)
  done

let await_within_loop () =
  let five_slowly () =
    Unix.sleepf 0.01;
    5
  in
  let task = Task.async five_slowly in
  let sum = Atomic.make 0 in
  Muster.parallel_for ~grain:1 ~start:1 ~finish:64 (fun _ ->
      ignore (Atomic.fetch_and_add sum (Task.await task)));
  check_int "sum" 320 (Atomic.get sum)

(* On one worker nothing is stolen, and every task lies in the deque until it is awaited. *)
let results_are_let_go () =
  run_on 1 @@ fun () ->
  let live () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let before = live () in
  List.iter
    (fun task -> ignore (Task.await task))
    (List.init 100 (fun _ -> Task.async (fun () -> Bytes.make 1_000_000 'x')));
  for _ = 1 to 2_000 do
    Task.await (Task.async ignore)
  done;
  let words = live () - before in
  if words > 1_000_000 then failf "%d words are left" words

(* {1 Turns}

   On one worker: a task that polls lets others run. *)

let on_one_worker f = with_domains 1 (fun pool -> Pool.run pool f)

(* Four loops that end together, when each has gone round a hundred times. *)
let all_go_round step () =
  on_one_worker @@ fun () ->
  let turns = Array.make 4 0 and limit = Unix.gettimeofday () +. 20. in
  let goes_on () = Array.exists (fun n -> n < 100) turns && Unix.gettimeofday () < limit in
  let go i () =
    while goes_on () do
      step ();
      turns.(i) <- turns.(i) + 1
    done
  in
  ignore (Task.all (List.init 4 go));
  Array.iteri (fun i n -> if n < 100 then failf "loop %d went round %d times" i n) turns

let free_permit () =
  let permits = Muster.Semaphore.make 1 in
  fun () ->
    Muster.Semaphore.acquire permits;
    Muster.Semaphore.release permits

let free_mutex () =
  let mutex = Muster.Mutex.create () in
  fun () -> Muster.Mutex.protect mutex ignore

let message_to_itself () =
  let chan = Muster.Chan.unbounded () in
  fun () ->
    Muster.Chan.send chan ();
    Muster.Chan.recv chan

let flag_of_a_later_task () =
  on_one_worker @@ fun () ->
  let flag = Atomic.make false in
  let poll () =
    while not (Atomic.get flag) do
      Task.check ()
    done
  in
  let tasks = [ Task.async (fun () -> Atomic.set flag true); Task.async poll; Task.async poll ] in
  List.iter Task.await (List.rev tasks)

(* As in a program that has used no deadline yet. *)
let no_deadline_so_far () = Muster_core.Place.(attend stops false)

let waits_in_time =
  let never () = Muster.Latch.await (Muster.Latch.create 1) and nothing = Muster.Chan.bounded 0 in
  [
    (fun () -> Task.sleep 0.01);
    (fun () -> Muster.Chan.(select [ recv_case nothing Fun.id; after 0.01 Fun.id ]));
    (fun () -> try Task.with_deadline 0.01 never with Task.Deadline_exceeded -> ());
  ]

let until flag step =
  while not (Atomic.get flag) do
    step ()
  done

let time_passes_beside step () =
  on_one_worker @@ fun () ->
  let passes wait =
    no_deadline_so_far ();
    let flag = Atomic.make false in
    let set () =
      wait ();
      Atomic.set flag true
    in
    ignore (Task.all [ set; (fun () -> until flag step) ])
  in
  List.iter passes waits_in_time

(* The caller's call has ended; its thread is about to return, and runs the task that polls. *)
let call_ends_beside domains step () =
  with_domains domains @@ fun pool ->
  for _ = 1 to 30 do
    no_deadline_so_far ();
    let flag = Atomic.make false in
    let t = Pool.run pool (fun () -> Task.async (fun () -> until flag step)) in
    Pool.run pool (fun () -> Task.sleep 0.002);
    Pool.run pool (fun () ->
        Task.scope (fun s -> ignore (Task.fork s (fun () -> Task.sleep 0.002))));
    Atomic.set flag true;
    Pool.run pool (fun () -> Task.await t)
  done

(* So it is if the machine stops the thread as it asks for a resident, for longer than that holds. *)
let call_ends_though_stopped () =
  let { Muster_core.Sleep.hire; watch } = !Muster_core.Sleep.help and stops = Atomic.make 2 in
  let hire_late pool =
    if Atomic.fetch_and_add stops (-1) > 0 then Unix.sleepf 0.3;
    hire pool
  in
  Muster_core.Sleep.help := { hire = hire_late; watch };
  Fun.protect
    ~finally:(fun () -> Muster_core.Sleep.help := { hire; watch })
    (fun () ->
      with_domains 1 @@ fun pool ->
      let flag = Atomic.make false in
      let task = Pool.run pool (fun () -> Task.async (fun () -> until flag Task.check)) in
      Atomic.set flag true;
      Task.await task)

(* One that yields comes after all that wait. *)
let yields_in_turn () =
  on_one_worker @@ fun () ->
  let seen = ref [] in
  let task i () =
    for round = 1 to 3 do
      seen := (round, i) :: !seen;
      Task.yield ()
    done
  in
  ignore (Task.all (List.init 3 task));
  let rounds = List.rev_map fst !seen in
  check_equal "rounds" [ 1; 1; 1; 2; 2; 2; 3; 3; 3 ] rounds

(* Every so often a worker looks at its tasks in another order. *)
let yields_to_all () =
  on_one_worker @@ fun () ->
  let waiting = 50 and begun = ref 0 in
  for round = 1 to 100 do
    let tasks = List.init waiting (fun _ -> Task.async (fun () -> incr begun)) in
    Task.yield ();
    check_int "begun" (round * waiting) !begun;
    List.iter Task.await tasks
  done

let yields_anywhere () =
  Task.yield ();
  on_one_worker Task.yield;
  ignore (Muster.both Task.yield Task.yield);
  Muster.Team.broadcast (Pool.default ()) (fun _ -> Task.yield ());
  Muster.Mutex.protect (Muster.Mutex.create ()) Task.yield

let yield_is_a_checkpoint () =
  let cancelled () =
    Task.scope (fun s ->
        Task.cancel_scope s;
        Task.yield ())
  in
  match cancelled () with () -> failf "not cancelled" | exception Task.Cancelled -> ()

(* The caller's thread has taken a task that never ends by itself: its call ends all the same. *)
let calls_end_beside_endless_tasks () =
  with_domains 1 @@ fun pool ->
  let stop = Atomic.make false in
  let endless () =
    while not (Atomic.get stop) do
      Task.check ()
    done
  in
  let task = Pool.run pool (fun () -> Task.async endless) in
  let nap () = Task.blocking (fun () -> Unix.sleepf 0.01) in
  for _ = 1 to 3 do
    Pool.run pool nap
  done;
  Atomic.set stop true;
  Task.await task

let steps =
  [
    ("check", Task.check);
    ("yield", Task.yield);
    ("a free permit", free_permit ());
    ("a free mutex", free_mutex ());
    ("messages", message_to_itself ());
  ]

let forks =
  let both () = ignore (Muster.both ignore ignore) in
  let fork () = Task.scope (fun s -> ignore (Task.fork s ignore)) in
  [ ("both", both); ("tasks", fun () -> Task.await (Task.async ignore)); ("scopes", fork) ]

let beside_each steps name f = List.map (fun (step, go) -> case (name ^ step) (f go)) steps

let turns =
  beside_each steps "times pass beside loops of " time_passes_beside
  @ beside_each steps "calls end beside loops of " (call_ends_beside 1)
  @ beside_each forks "calls end beside loops of forks: " (call_ends_beside 2)
  @ [
      case "loops of check" (all_go_round Task.check);
      case "loops that take a free permit" (fun () -> all_go_round (free_permit ()) ());
      case "loops that take a free mutex" (fun () -> all_go_round (free_mutex ()) ());
      case "loops that send and receive" (fun () -> all_go_round (message_to_itself ()) ());
      case "loops of yield" (all_go_round Task.yield);
      case "a task that polls waits for another" flag_of_a_later_task;
      case "yield lets all others run" yields_in_turn;
      case "yield lets all run that wait, in any round" yields_to_all;
      case "yield anywhere" yields_anywhere;
      case "yield is a checkpoint" yield_is_a_checkpoint;
      case "calls end beside an endless task" calls_end_beside_endless_tasks;
      case ~seconds:20 "a call ends though its thread was stopped" call_ends_though_stopped;
    ]

let () =
  Alcotest.run "task"
    [
      ( "both",
        [
          case "both gives both results" (on_each_count both_gives_both);
          case "both works outside a pool" both_gives_both;
          case "a fork at every call of a recursion" (on_each_count both_at_every_call);
          case "each branch runs once" (on_each_count each_side_once);
          case "a recursion a million deep" deep_both;
        ] );
      ( "async",
        [
          case "tasks are awaited in order" (on_each_count async_await);
          case "tasks are awaited in reverse" (on_each_count await_in_reverse);
          case "both works outside a pool" async_await;
          case "a task runs once" (on_each_count async_runs_once);
          case "a fork at every call of a recursion" (on_each_count async_at_every_call);
          case "the collector runs at any point of a task" (on_each_count collected_at_any_point);
          case "a million tasks are queued" million_queued;
          case "results can be collected" results_are_let_go;
          case "an awaited task awaits another" (on_each_count await_chain);
          case "a chain of tasks, each of which awaits the one before"
            (on_each_count await_dependencies);
          case ~seconds:20 "a caller that starts tasks in a row starves no other caller"
            rows_starve_no_other_caller;
        ] );
      ( "all",
        [
          case "all keeps the order of its results" (on_each_count all_in_order);
          case "all raises the leftmost exception" (on_each_count all_raises_leftmost);
          case "all raises once every task has ended" (on_each_count all_ends_before_raising);
        ] );
      ( "first",
        [
          case "first returns the result of a success" (on_each_count first_success);
          case "first raises the leftmost exception if all fail" (on_each_count first_all_fail);
          case "first raises the leftmost exception, though it was the last"
            (on_each_count first_leftmost_though_last);
          case "first of no functions is refused" first_of_none;
          case "first returns as soon as one succeeds" first_in_time;
          case "first leaves no task running" (on_each_count first_leaves_none_running);
        ] );
      ( "nesting",
        [
          case "a loop in a branch of both in a task" (on_each_count loop_in_both_in_async);
          case "loops in loops" (on_each_count loops_in_loops);
          case "every call within every other" (on_each_count everything_nested);
          case "iterations of a loop await tasks" (on_each_count await_within_loop);
        ] );
      ("turns", turns);
    ]
