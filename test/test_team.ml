(* Team: every worker, every index, every slice exactly once, for any caller. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

exception Boom of int

let on_pools counts f () = List.iter (fun domains -> with_domains domains f) counts
let on_each_count = on_pools [ 1; 2; 3; 8 ]

(* A worker's index is within the pool, and no two domains have it at once, so that a body
   may keep state per worker without a lock. *)

let exclusively held worker f =
  if Atomic.exchange held.(worker) true then failf "worker %d twice at once" worker;
  Fun.protect ~finally:(fun () -> Atomic.set held.(worker) false) f

let checking_workers pool f =
  let held = Array.init (Pool.size pool) (fun _ -> Atomic.make false) in
  f (fun worker body ->
      if worker < 0 || worker >= Pool.size pool then failf "worker %d" worker;
      exclusively held worker body)

let broadcast_reaches_each pool =
  let reached = counters (Pool.size pool) in
  let reach use worker = use worker (fun () -> Atomic.incr reached.(worker)) in
  checking_workers pool (fun use -> Team.broadcast pool (reach use));
  each_once "broadcast" reached

let indices_once name team pool n =
  let runs = counters n in
  checking_workers pool (fun use ->
      team pool n (fun ~worker i -> use worker (fun () -> Atomic.incr runs.(i))));
  each_once (Printf.sprintf "%s, %d" name n) runs

let slices_once pool n =
  let runs = counters n in
  let slice use ~worker ~start ~count =
    if count < 1 then failf "for_slices, %d: a slice of %d" n count;
    use worker (fun () ->
        for i = start to start + count - 1 do
          Atomic.incr runs.(i)
        done)
  in
  checking_workers pool (fun use -> Team.for_slices pool n (slice use));
  each_once (Printf.sprintf "for_slices, %d" n) runs

let covers pool n =
  indices_once "for_n" Team.for_n pool n;
  indices_once "for_n_dynamic" Team.for_n_dynamic pool n;
  slices_once pool n

let use_all pool =
  broadcast_reaches_each pool;
  List.iter (covers pool) [ 0; 1; 2; 3; 7; 128; 1000 ]

let small_sizes pool =
  for n = 0 to 3 * Pool.size pool do
    covers pool n
  done

let slices_are_even pool =
  let n = 1000 in
  let sizes = Array.make n 0 in
  Team.for_slices pool n (fun ~worker:_ ~start ~count -> sizes.(start) <- count);
  let sizes = List.filter (fun size -> size > 0) (Array.to_list sizes) in
  let largest = List.fold_left max 0 sizes and smallest = List.fold_left min n sizes in
  check_bool "at most one per worker" true (List.length sizes <= Pool.size pool);
  check_bool "even" true (largest - smallest <= 1)

(* The workers of a broadcast are different domains, all at once. *)
let broadcast_is_simultaneous pool =
  let arrived = Atomic.make 0 in
  let domains = Array.make (Pool.size pool) (Domain.self ()) in
  Team.broadcast pool (fun worker ->
      domains.(worker) <- Domain.self ();
      Atomic.incr arrived;
      wait_until (fun () -> Atomic.get arrived = Pool.size pool));
  let distinct = List.sort_uniq compare (Array.to_list domains) in
  check_int "domains" (Pool.size pool) (List.length distinct)

let many_in_a_row pool =
  let sum = Array.make (8 * Pool.size pool) 0 in
  for _ = 1 to 2_000 do
    Team.broadcast pool (fun worker -> sum.(8 * worker) <- sum.(8 * worker) + 1)
  done;
  for worker = 0 to Pool.size pool - 1 do
    check_int "rounds" 2_000 sum.(8 * worker)
  done

(* What a region did is seen after it, and what went before is seen in it. *)
let regions_order_plain_writes pool =
  let cells = Array.make 64 0 in
  for round = 1 to 500 do
    Team.for_n pool 64 (fun ~worker:_ i -> cells.(i) <- cells.(i) + 1);
    let is_seen = Array.for_all (( = ) round) cells in
    if not is_seen then failf "round %d: a write was not seen" round
  done

let unequal_work pool =
  let runs = counters 200 in
  Team.for_n_dynamic pool 200 (fun ~worker:_ i ->
      if i mod 67 = 0 then Unix.sleepf 0.002;
      Atomic.incr runs.(i));
  each_once "for_n_dynamic" runs

(* Loops known to be short stay with the caller, until they turn out not to be. *)

let workers_of pool n body =
  let ran_by = Array.make n (-1) in
  Team.for_n_dynamic pool n (fun ~worker i ->
      ran_by.(i) <- worker;
      body i);
  List.sort_uniq compare (Array.to_list ran_by)

let often_alone pool =
  let calls = 1_000 in
  let shared = ref 0 in
  for _ = 1 to calls do
    if List.length (workers_of pool 16 ignore) > 1 then incr shared
  done;
  (* The machine may be busy, and a body that was interrupted looks dear. *)
  check_bool "by the caller" true (!shared < calls / 2)

(* A region that finds nobody, as the first one and those after a pause do, is shared with who comes. (Where the numbers
   of workers flip, that may be nobody.) *)
let shared_with_who_comes () =
  let check what region =
    with_domains 2 @@ fun pool ->
    let here = Array.init 2 (fun _ -> Atomic.make (-1)) in
    let meet i =
      let me = (Domain.self () :> int) in
      Atomic.set here.(i) me;
      let is_shared () =
        let other = Atomic.get here.(1 - i) in
        other <> -1 && other <> me
      in
      let give_up = Unix.gettimeofday () +. 5. in
      while not (is_shared () || Unix.gettimeofday () > give_up) do
        Domain.cpu_relax ()
      done;
      if not (is_shared ()) then failf "%s: nobody has come" what;
      (* Two who meet at once would be remembered as short, and a loop of these is its caller's. *)
      burn 0.001
    in
    let region () =
      Array.iter (fun it -> Atomic.set it (-1)) here;
      region pool meet
    in
    region ();
    region ();
    (* Residents leave after 150 ms. *)
    Unix.sleepf 0.3;
    region ();
    use_all pool
  in
  check "for_slices" (fun pool f ->
      Team.for_slices pool 2 (fun ~worker:_ ~start ~count:_ -> f start));
  check "for_n" (fun pool f -> Team.for_n pool 2 (fun ~worker:_ i -> f i));
  check "for_n_dynamic" (fun pool f -> Team.for_n_dynamic pool 2 (fun ~worker:_ i -> f i))

(* One body, so that what is remembered of it is wrong when it changes. *)
let change_after_cheap_calls pool ~n change =
  let body = ref ignore in
  let run () = workers_of pool n (fun i -> !body i) in
  for _ = 1 to 500 do
    ignore (run ())
  done;
  (* On a busy machine that took so long that the others have left; a region that has begun calls nobody. *)
  Team.broadcast pool ignore;
  body := change;
  run

(* By all workers, if they may all work: not where their number flips. *)
let check_shared pool workers =
  if Option.is_none (Sys.getenv_opt "MUSTER_GOVERNOR") then
    check_equal "shared" (List.init (Pool.size pool) Fun.id) workers

let turns_dear pool =
  let runs = counters 100 in
  let sleep i =
    Atomic.incr runs.(i);
    Unix.sleepf 0.001
  in
  let run = change_after_cheap_calls pool ~n:100 sleep in
  check_shared pool (run ());
  each_once "for_n_dynamic" runs

let turns_dear_midway pool =
  let sleep_late i = if i >= 30 then Unix.sleepf 0.001 in
  let run = change_after_cheap_calls pool ~n:200 sleep_late in
  check_shared pool (run ())

let turns_bad pool =
  let fail i =
    if i mod 20 = 19 then raise (Boom i);
    if i > 5 then Unix.sleepf 0.0005
  in
  let run = change_after_cheap_calls pool ~n:100 fail in
  check_raises "leftmost" (Boom 19) run;
  use_all pool

(* Now nothing, now long enough to share: as likely as not to contradict what is remembered. *)
let random_costs =
  let open QCheck in
  let cost = weighted Gen.[ (20, return 0.); (2, return 1e-6); (1, return 5e-5) ] in
  make ~print:Print.(array float) Gen.(array_size (int_range 1 200) cost)

let any_costs_once pool costs =
  let runs = counters (Array.length costs) in
  checking_workers pool (fun use ->
      Team.for_n_dynamic pool (Array.length costs) (fun ~worker i ->
          use worker (fun () ->
              Atomic.incr runs.(i);
              if costs.(i) > 0. then burn costs.(i))));
  Array.for_all (fun count -> Atomic.get count = 1) runs

let costs_at_random =
  let on domains = property ~domains "random costs" random_costs any_costs_once in
  List.map on [ 1; 2; 3; 8 ]

(* Bad sizes *)

let negative_sizes pool =
  let check n =
    let mentions name = [ name; string_of_int n ] in
    let index ~worker:_ _ = failwith "called" in
    let refuses name f = check_invalid ~mentions:(mentions name) name f in
    refuses "for_n" (fun () -> Team.for_n pool n index);
    refuses "for_n_dynamic" (fun () -> Team.for_n_dynamic pool n index);
    refuses "for_slices" (fun () ->
        Team.for_slices pool n (fun ~worker:_ ~start:_ ~count:_ -> failwith "called"))
  in
  List.iter check [ -1; -100; min_int ];
  use_all pool

let huge_sizes pool =
  let fail ~worker:_ i = raise (Boom i) in
  let raises name f = check_raises name (Boom 0) f in
  let check n =
    raises "for_n" (fun () -> Team.for_n pool n fail);
    raises "for_n_dynamic" (fun () -> Team.for_n_dynamic pool n fail);
    let total = Atomic.make 0 in
    let add ~worker:_ ~start:_ ~count = ignore (Atomic.fetch_and_add total count) in
    Team.for_slices pool n add;
    check_int "for_slices" n (Atomic.get total)
  in
  List.iter check [ max_int; max_int - 1; 1 lsl 40 ]

(* Callers *)

let from_a_task pool = Pool.run pool (fun () -> use_all pool)

let from_many_tasks pool =
  let task () =
    covers pool 20;
    broadcast_reaches_each pool
  in
  Pool.run pool (fun () -> ignore (Task.all (List.init 10 (fun _ -> task))))

(* The functions of a broadcast may wait for each other, also where worker 0 is missing. *)
let meet_without_a_caller pool =
  let meeting = Muster.Barrier.create (Pool.size pool) in
  let call () = Team.broadcast pool (fun _ -> Muster.Barrier.await meeting) in
  let task = Pool.run pool (fun () -> Task.async call) in
  wait_until (fun () -> Task.is_done task);
  Task.await task

let nested pool =
  let inner () =
    broadcast_reaches_each pool;
    covers pool 10
  in
  Team.broadcast pool (fun _ -> inner ());
  Team.for_n pool 6 (fun ~worker:_ _ -> inner ());
  Team.for_n_dynamic pool 6 (fun ~worker:_ _ -> inner ());
  Team.for_slices pool 6 (fun ~worker:_ ~start:_ ~count:_ -> inner ())

let nested_thrice pool =
  let count = Atomic.make 0 in
  let team f = Team.for_n pool 3 (fun ~worker:_ _ -> f ()) in
  team (fun () -> team (fun () -> team (fun () -> Atomic.incr count)));
  check_int "innermost" 27 (Atomic.get count)

let sum_to n =
  let sum = Atomic.make 0 in
  Muster.parallel_for ~start:1 ~finish:n (fun i -> ignore (Atomic.fetch_and_add sum i));
  Atomic.get sum

let tasks_within_regions pool =
  Team.broadcast pool (fun _ -> check_int "both" 55 (fib 10));
  Team.for_n_dynamic pool 20 (fun ~worker:_ i ->
      check_int "await" i (Task.await (Task.async (fun () -> i))));
  Team.for_n pool 5 (fun ~worker:_ _ -> check_int "loop" 5050 (sum_to 100))

let two_pools () =
  with_domains 2 @@ fun a ->
  with_domains 3 @@ fun b ->
  use_all a;
  use_all b;
  Team.broadcast a (fun _ -> use_all b);
  Pool.run a (fun () -> use_all b)

let use_often pool times () =
  for _ = 1 to times do
    use_all pool
  done

let from_several_domains pool =
  let domains = List.init 2 (fun _ -> Domain.spawn (use_often pool 20)) in
  use_often pool 20 ();
  List.iter Domain.join domains

let from_several_threads pool = ignore (in_threads 4 (fun _ -> use_often pool 5 ()))

let while_the_pool_is_busy pool =
  let stop = Atomic.make false in
  let some_tasks () = List.init 20 (fun _ -> Task.async (fun () -> burn 0.0002)) in
  let keep_busy () =
    while not (Atomic.get stop) do
      List.iter Task.await (some_tasks ())
    done
  in
  let busy = Domain.spawn (fun () -> outcome (fun () -> Pool.run pool keep_busy)) in
  Fun.protect ~finally:(fun () -> Atomic.set stop true) (use_often pool 10);
  check_equal "tasks" (Ok ()) (Domain.join busy)

(* Exceptions *)

let smallest_worker_wins pool =
  let size = Pool.size pool in
  for smallest = 0 to size - 1 do
    let body worker = if worker >= smallest then raise (Boom worker) in
    check_raises "broadcast" (Boom smallest) (fun () -> Team.broadcast pool body)
  done;
  use_all pool

let broadcast_reaches_all_despite_exceptions pool =
  let reached = counters (Pool.size pool) in
  let body worker =
    Atomic.incr reached.(worker);
    Unix.sleepf 0.001;
    raise (Boom worker)
  in
  check_raises "broadcast" (Boom 0) (fun () -> Team.broadcast pool body);
  check_bool "at most once" true (Array.for_all (fun n -> Atomic.get n <= 1) reached);
  check_int "the first" 1 (Atomic.get reached.(0))

(* The other workers look up from their slices: else each would do all of its own. *)
let right_of_it_is_skipped pool =
  let n = 1000 * Pool.size pool and began = Atomic.make 0 in
  let body ~worker:_ i =
    Atomic.incr began;
    if i = 0 then raise (Boom 0);
    Unix.sleepf 0.001
  in
  let check name team =
    Atomic.set began 0;
    check_raises name (Boom 0) (fun () -> team pool n body);
    check_bool (name ^ ": most are skipped") true (Atomic.get began < 900)
  in
  check "for_n" Team.for_n;
  check "for_n_dynamic" Team.for_n_dynamic;
  (* With the others awake. *)
  Team.broadcast pool ignore;
  let fail ~worker:_ i = if i = 10 then raise (Boom i) in
  check_raises "no end" (Boom 10) (fun () -> Team.for_n_dynamic pool max_int fail)

let slices_are_cancelled pool =
  let turn ~worker:_ _ = () in
  let check name team =
    check_raises name Task.Deadline_exceeded (fun () ->
        Pool.run pool (fun () -> Task.with_deadline 0.02 (fun () -> team pool max_int turn)));
    use_all pool
  in
  check "for_n" Team.for_n;
  check "for_n_dynamic" Team.for_n_dynamic

(* A body that fails, and whose task is cancelled at the same time: other workers are told of that. *)
let failure_beside_a_cancellation pool =
  let fails loop =
    Harness.failure_beside_a_cancellation ~run:(Pool.run pool) (fun body ->
        loop pool 2000 (fun ~worker:_ i -> body i))
  in
  if Pool.size pool > 1 then List.iter fails [ Team.for_n; Team.for_n_dynamic ]

let indices_raise = QCheck.(pair (int_range 0 200) (int_range 1 50))

let smallest_index_wins team pool (n, step) =
  let body ~worker:_ i = if i mod step = step - 1 then raise (Boom i) in
  let expected = if n >= step then Error (Boom (step - 1)) else Ok () in
  outcome (fun () -> team pool n body) = expected

let random_sizes =
  let on domains =
    let property name team = property ~domains name indices_raise (smallest_index_wins team) in
    [ property "for_n" Team.for_n; property "for_n_dynamic" Team.for_n_dynamic ]
  in
  List.concat_map on [ 1; 2; 3; 8 ]

(* Soon after a call, the pool keeps nothing of its body. *)
let keeps_no_body pool =
  let await_collection call =
    let collected = Atomic.make false in
    let call () =
      let big = Bytes.create 100 in
      Gc.finalise (fun _ -> Atomic.set collected true) big;
      call (fun worker -> ignore (Sys.opaque_identity (Bytes.get big worker)))
    in
    (Sys.opaque_identity call) ();
    wait_until (fun () ->
        Gc.full_major ();
        Atomic.get collected)
  in
  await_collection (Team.broadcast pool);
  await_collection (fun f -> Team.for_n pool (Pool.size pool) (fun ~worker _ -> f worker));
  await_collection (fun f -> Pool.run pool (fun () -> Team.broadcast pool f))

let () =
  Alcotest.run "team"
    [
      ( "exactly once",
        [
          case "every call runs each index once, for many sizes" (on_each_count use_all);
          case "sizes near the number of workers" (on_each_count small_sizes);
          case "slices differ by at most one index" (on_each_count slices_are_even);
          case "a broadcast runs on all workers at once" (on_each_count broadcast_is_simultaneous);
          case "many calls in a row" (on_pools [ 1; 2; 3 ] many_in_a_row);
          case "plain writes of one call are seen in the next"
            (on_pools [ 1; 2; 3 ] regions_order_plain_writes);
          case "indices of unequal cost" (on_each_count unequal_work);
          case "the pool keeps no function of a call" (on_each_count keeps_no_body);
          case ~seconds:30 "a loop is shared with a worker that comes later" (fun () ->
              if not flipped then shared_with_who_comes ());
        ] );
      ( "short loops",
        [
          case "short loops stay with the caller" (on_pools [ 2; 3 ] often_alone);
          case "a short loop that becomes dear is shared" (on_pools [ 2; 3 ] turns_dear);
          case "a loop that becomes dear midway is shared" (on_pools [ 2; 3 ] turns_dear_midway);
          case "a short loop raises midway" (on_each_count turns_bad);
        ]
        @ costs_at_random );
      ( "sizes",
        [
          case "negative sizes are refused" (on_pools [ 1; 2 ] negative_sizes);
          case "loops over huge ranges" (on_pools [ 1; 2; 3 ] huge_sizes);
        ] );
      ( "callers",
        [
          case "a task calls" (on_each_count from_a_task);
          case "many tasks call at once" (on_each_count from_many_tasks);
          case "a broadcast meets, and no caller is there" (on_each_count meet_without_a_caller);
          case "a call within a call" (on_pools [ 1; 2; 3 ] nested);
          case "a call within a call within a call" (on_each_count nested_thrice);
          case "slices start tasks" (on_each_count tasks_within_regions);
          case "slices call another pool's team" two_pools;
          case "several domains call at once" (on_pools [ 1; 2; 3 ] from_several_domains);
          case "several systhreads call at once" (on_pools [ 1; 2; 3 ] from_several_threads);
          case "a call comes while the pool is busy" (on_pools [ 1; 2; 3 ] while_the_pool_is_busy);
        ] );
      ( "exceptions",
        [
          case "the exception of the smallest worker is raised"
            (on_each_count smallest_worker_wins);
          case "a broadcast reaches all workers though all raise"
            (on_each_count broadcast_reaches_all_despite_exceptions);
          case "indices right of an exception are skipped"
            (on_pools [ 1; 2; 3 ] right_of_it_is_skipped);
          case "slices are cancelled at a deadline" (on_pools [ 1; 2; 3 ] slices_are_cancelled);
          case "a failure is raised beside a cancellation"
            (on_pools [ 2; 3; 8 ] failure_beside_a_cancellation);
        ]
        @ random_sizes );
    ]
