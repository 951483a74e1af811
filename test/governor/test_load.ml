(* How pools share the CPUs there are, for real: idle pools, neighbours, affinity, heaps. What other
   processes do can fail most of these, so they get several attempts; where the machine has
   too few CPUs, or no /proc, they are skipped. *)

open Harness
open Muster_core.Place
module Slot = Muster_core.Slot
module Load = Muster_core.Load
module Heap = Muster_core.Heap
module Pool = Muster.Pool
module Task = Muster.Task

(* What a pool consists of. *)
let core pool =
  let finds it = match Pool.find it with Some found -> found == pool | None -> false in
  let is_it (p : Muster_core.Place.pool) = finds p.name in
  List.find is_it (Atomic.get Muster_core.Place.open_pools)

let residents pool = Atomic.get (core pool).residents
let allowed pool = Atomic.get (core pool).allowed

let skip_unless condition reason =
  if not condition then begin
    print_endline ("skipped: " ^ reason);
    Alcotest.skip ()
  end

let needs_two_cpus () = skip_unless (Muster.Cpu.available () > 1) "it takes two CPUs"
let needs_proc () = skip_unless (Sys.file_exists "/proc/self/task") "it takes Linux's /proc"

(* The CPU time that other programs have taken, in seconds; that of a test's own children counts as ours, once they
   have ended. *)
let taken_by_others () =
  let per_second = 100. in
  let all =
    match In_channel.with_open_bin "/proc/stat" In_channel.input_line with
    | Some line ->
      Scanf.sscanf line "cpu %f %f %f %_f %_f %f %f %f"
        (fun user nice system irq softirq steal -> user +. nice +. system +. irq +. softirq +. steal)
      /. per_second
    | None | (exception Sys_error _) -> 0.
  in
  let { Unix.tms_utime; tms_stime; tms_cutime; tms_cstime } = Unix.times () in
  all -. tms_utime -. tms_stime -. tms_cutime -. tms_cstime

(* What has to hold in one of three attempts, on a machine that has the CPUs to show it. Other programs that take a
   twentieth of a CPU during an attempt are reason enough to lend one. *)
let rec attempt ?(times = 3) f =
  let began = Unix.gettimeofday () and before = taken_by_others () in
  try f ()
  with Failure reason ->
    let taken = (taken_by_others () -. before) /. (Unix.gettimeofday () -. began) in
    skip_unless (times > 1 || taken < 0.05) ("the machine is busy, so " ^ reason);
    if times = 1 then failwith reason;
    Printf.printf "again, as %s\n%!" reason;
    attempt ~times:(times - 1) f

let check_within seconds what condition =
  if not (within seconds condition) then failf "%s: not within %g s" what seconds

let rec work_until stop =
  check_int "fib 18" 2584 (fib 18);
  if not (stop ()) then work_until stop

let work_for seconds =
  let stop = Unix.gettimeofday () +. seconds in
  work_until (fun () -> Unix.gettimeofday () > stop)

let threads () = Array.length (Sys.readdir "/proc/self/task")
let fixed n f = with_domains n f

(* {1 The budget} *)

(* Residents that each of the pools may have, the first having so many callers, and so on. *)
let shares ~cpus callers =
  let pools = List.length callers and all = List.fold_left ( + ) 0 callers in
  List.mapi (fun rank _ -> Load.share ~cpus ~callers:all ~pools ~rank) callers

let check_shares ~cpus callers expected =
  check_equal (Printf.sprintf "%d CPUs" cpus) expected (shares ~cpus callers)

let shares_of_a_pool () =
  check_shares ~cpus:1 [ 1 ] [ 0 ];
  check_shares ~cpus:2 [ 1 ] [ 1 ];
  check_shares ~cpus:8 [ 1 ] [ 7 ];
  check_shares ~cpus:8 [ 3 ] [ 5 ];
  check_shares ~cpus:2 [ 5 ] [ 0 ]

let shares_of_several () =
  check_shares ~cpus:2 [ 1; 1 ] [ 0; 0 ];
  check_shares ~cpus:3 [ 1; 1 ] [ 1; 0 ];
  check_shares ~cpus:8 [ 1; 1 ] [ 3; 3 ];
  check_shares ~cpus:8 [ 1; 1; 1 ] [ 2; 2; 1 ];
  check_shares ~cpus:8 [ 4; 4 ] [ 0; 0 ]

let budget_is_kept =
  let open QCheck in
  let callers = make ~print:Print.(list int) Gen.(list_size (int_range 1 6) (int_range 1 4)) in
  QCheck_alcotest.to_alcotest
    (Test.make ~count:1000 ~name:"pools with callers share all CPUs, and no more"
       (pair (int_range 1 64) callers)
       (fun (cpus, callers) ->
         let all = List.fold_left ( + ) 0 callers in
         let given = shares ~cpus callers in
         List.for_all (fun n -> n >= 0) given && List.fold_left ( + ) 0 given = max 0 (cpus - all)))

(* {1 Decisions} *)

(* Of several domains. *)
let newest_first () =
  let rec is_sorted = function
    | (a : Slot.decision) :: (b :: _ as older) -> a.at >= b.at && is_sorted older
    | _ -> true
  in
  let decide () =
    for i = 1 to 50_000 do
      Load.decide Cpus "nothing" "a test";
      if i land 7 = 0 && not (is_sorted (Atomic.get Load.of_all)) then failf "not in order"
    done
  in
  let other = Domain.spawn decide in
  Fun.protect decide ~finally:(fun () -> Domain.join other)

(* {1 Idle pools} *)

let gives_domains_back () =
  needs_proc ();
  attempt @@ fun () ->
  let before = threads () in
  outside ~name:"idle" ~domains:3 ~oversubscribe:true @@ fun pool ->
  Pool.run pool (fun () -> work_for 0.02);
  check_within 2. "gone" (fun () -> residents pool = 0 && threads () <= before);
  is_usable pool

let broadcast_after_idleness () =
  fixed 3 @@ fun pool ->
  Pool.run pool (fun () -> work_for 0.01);
  check_within 2. "idle" (fun () -> residents pool = 0);
  let domains = Array.make 3 (-1) in
  Muster.Team.broadcast pool (fun worker -> domains.(worker) <- (Domain.self () :> int));
  let distinct = List.sort_uniq compare (Array.to_list domains) in
  check_int "domains" 3 (List.length distinct);
  check_bool "all" false (List.mem (-1) distinct)

(* Nobody works in the pool when its task may go on: a resident has to be hired for it. What the
   task awaits belongs to a pool that is being closed, which it cannot enter to help, and has begun there: else
   it would run in place. *)
let suspended_task_goes_on () =
  fixed 2 @@ fun pool ->
  let other = Pool.create ~domains:2 ~oversubscribe:true () in
  let { closing; _ } : Muster_core.Place.pool = core other in
  let over = Atomic.make false and go = Atomic.make false and begun = Atomic.make false in
  let wait () =
    Atomic.set begun true;
    wait_until (fun () -> Atomic.get go)
  in
  let slow = Pool.run other (fun () -> Task.async wait) in
  let closer = Domain.spawn (fun () -> Pool.close other) in
  Fun.protect ~finally:(fun () ->
      Atomic.set go true;
      Domain.join closer)
  @@ fun () ->
  check_within 5. "begun, and closing" (fun () -> Atomic.get begun && Atomic.get closing);
  Pool.run pool (fun () ->
      ignore
        (Task.async (fun () ->
             Task.await slow;
             Atomic.set over true)));
  let { suspended; _ } : Muster_core.Place.pool = core pool in
  check_within 2. "suspended, and nobody there" (fun () ->
      residents pool = 0 && Atomic.get suspended = 1);
  Atomic.set go true;
  check_within 5. "over" (fun () -> Atomic.get over)

let close_of_an_empty_pool () =
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  Pool.run pool (fun () -> work_for 0.01);
  check_within 2. "idle" (fun () -> residents pool = 0);
  let (), seconds = wall_seconds (fun () -> Pool.close pool) in
  check_bool "at once" true (seconds < 0.5)

(* The end of a domain waits for its threads: one that ended all the same would be there, do nothing, and another
   would start beside it. *)
let stays_for_a_thread () =
  fixed 2 @@ fun pool ->
  let over = Atomic.make false and threads = Atomic.make [] and domains = Atomic.make [] in
  let rec wait () =
    if not (Atomic.get over) then (
      Unix.sleepf 0.01;
      wait ())
  in
  let start worker =
    if worker = 1 then begin
      Atomic.set threads (Thread.create wait () :: Atomic.get threads);
      Atomic.set domains (Domain.self () :: Atomic.get domains)
    end
  in
  Fun.protect
    ~finally:(fun () -> Atomic.set over true)
    (fun () ->
      for _ = 1 to 3 do
        Muster.Team.broadcast pool start;
        Unix.sleepf 0.4
      done);
  List.iter Thread.join (Atomic.get threads);
  check_int "domains" 1 (List.length (List.sort_uniq compare (Atomic.get domains)));
  check_within 2. "gone" (fun () -> residents pool = 0)

(* {1 One budget} *)

let two_pools_at_once () =
  needs_two_cpus ();
  attempt @@ fun () ->
  let available = Muster.Cpu.available () in
  outside @@ fun one ->
  outside @@ fun two ->
  let stop = Atomic.make false in
  let work pool () = Pool.run pool (fun () -> work_until (fun () -> Atomic.get stop)) in
  let callers = List.map (fun pool -> Domain.spawn (work pool)) [ one; two ] in
  let crowded = ref 0 and looks = 100 in
  Fun.protect ~finally:(fun () ->
      Atomic.set stop true;
      List.iter Domain.join callers)
  @@ fun () ->
  Unix.sleepf 0.3;
  for _ = 1 to looks do
    Unix.sleepf 0.003;
    if residents one + residents two + 2 > max 2 available then incr crowded
  done;
  if !crowded > looks / 4 then failf "%d of %d looks found too many workers" !crowded looks

(* {1 Neighbours} *)

let start_child arguments =
  let argv = Array.of_list (Sys.executable_name :: arguments) in
  Unix.create_process Sys.executable_name argv Unix.stdin Unix.stdout Unix.stderr

let beside_a_neighbour f =
  let pid = start_child [ "spin" ] in
  let finally () =
    Unix.kill pid Sys.sigkill;
    ignore (Unix.waitpid [] pid)
  in
  Fun.protect f ~finally

(* Works until the condition holds. Each answer is checked meanwhile. *)
let work_until_within seconds what condition =
  let stop = Unix.gettimeofday () +. seconds in
  work_until (fun () -> condition () || Unix.gettimeofday () > stop);
  if not (condition ()) then failf "%s: not within %g s of work" what seconds

let decided pool what =
  let is_it (d : Pool.decision) = contains d.why ~sub:what in
  List.exists is_it (Pool.stats pool).decisions

let makes_room_for_a_neighbour () =
  needs_two_cpus ();
  skip_unless (Muster_core.Cpu.idle () <> None) "the machine's idle time cannot be seen";
  attempt ~times:5 @@ fun () ->
  Pool.with_ @@ fun pool ->
  let full = Pool.size pool - 1 in
  work_until_within 2. "all at work" (fun () -> allowed pool = full && residents pool = full);
  let ended = (Pool.stats pool).domains_ended in
  beside_a_neighbour (fun () ->
      work_until_within 2. "one leaves" (fun () ->
          allowed pool < full && (Pool.stats pool).domains_ended > ended);
      check_bool "says why" true (decided pool "waited" || decided pool "no CPU");
      work_for 0.2);
  work_until_within 5. "is back" (fun () -> allowed pool = full && residents pool = full)

(* {1 Affinity} *)

let affinity () =
  let is_it line = String.starts_with ~prefix:"Cpus_allowed_list:" line in
  let status = In_channel.with_open_text "/proc/self/status" In_channel.input_all in
  match List.find_opt is_it (String.split_on_char '\n' status) with
  | Some line -> List.nth (String.split_on_char '\t' line) 1
  | None -> ""

let bind cpus =
  Sys.command (Printf.sprintf "taskset -apc %s %d >/dev/null 2>&1" cpus (Unix.getpid ())) = 0

(* [step] of a pool that has one worker left: it finds out that there are more CPUs again. *)
let follows_affinity step () =
  needs_proc ();
  needs_two_cpus ();
  let all = affinity () in
  let first = List.hd (String.split_on_char ',' (List.hd (String.split_on_char '-' all))) in
  skip_unless (Sys.getenv_opt "MUSTER_DOMAINS" = None) "MUSTER_DOMAINS is set";
  skip_unless (bind all) "there is no taskset";
  outside @@ fun pool ->
  let full = Pool.size pool in
  Fun.protect
    ~finally:(fun () -> ignore (bind all))
    (fun () ->
      check_bool "bound" true (bind first);
      Pool.run pool (fun () -> work_until_within 3. "one CPU" (fun () -> Pool.size pool = 1)));
  let until = Unix.gettimeofday () +. 3. in
  while Pool.size pool < full && Unix.gettimeofday () < until do
    step pool
  done;
  check_int "all CPUs" full (Pool.size pool)

let forks pool = Pool.run pool (fun () -> work_for 0.01)
let regions pool = Muster.Team.for_slices pool 1_000 (fun ~worker:_ ~start:_ ~count:_ -> ())

(* {1 Minor heaps, in children: they belong to the process} *)

type tree = Leaf | Node of tree * tree

let rec tree depth = if depth = 0 then Leaf else Node (tree (depth - 1), tree (depth - 1))
let rec leaves = function Leaf -> 1 | Node (l, r) -> leaves l + leaves r

(* Work for about a second, in steps. A tree of 48 k words lives through some collections. *)
let build_tree () = ignore (Sys.opaque_identity (leaves (tree 14)))

let make_garbage () =
  for i = 1 to 50_000 do
    ignore (Sys.opaque_identity (ref i))
  done

(* The most words that the main domain's heap had, which must work in the pool for that. *)
let work_in_pool ?minor_heap_words step =
  let pool = Muster_core.Pool.create ~domains:2 ?minor_heap_words () in
  let most = Atomic.make 0 in
  Muster_core.Pool.run pool (fun () ->
      Muster.parallel_for ~start:1 ~finish:5_000 (fun _ ->
          step ();
          if Domain.is_main_domain () then
            Atomic.set most (max (Heap.words ()) (Atomic.get most))));
  Atomic.get most

let report words = Printf.printf "words %d" words
let report_words ?minor_heap_words step = report (work_in_pool ?minor_heap_words step)

(* Once it has left the pool. That the heap is as it was tells something only where it had grown. *)
let report_words_afterwards ?minor_heap_words () =
  let most = work_in_pool ?minor_heap_words build_tree in
  let words = Heap.words () in
  report (if minor_heap_words = None && most <= words then -1 else words)

let children =
  [
    ("afterwards", fun () -> report_words_afterwards ());
    ("given, afterwards", fun () -> report_words_afterwards ~minor_heap_words:65_536 ());
    ("trees", fun () -> report_words build_tree);
    ("garbage", fun () -> report_words make_garbage);
    ("given-to-the-pool", fun () -> report_words ~minor_heap_words:65_536 build_tree);
    ( "set",
      fun () ->
        Gc.set { (Gc.get ()) with minor_heap_size = 131_072 };
        report_words build_tree );
  ]

let check_words ?(runtime = "") what name expected =
  let child = Child.run ~env:[ ("OCAMLRUNPARAM", runtime) ] ~limit:60. "test_load.exe" [ name ] in
  Child.check_success child;
  let at = String.rindex child.output ' ' + 1 in
  let words = String.sub child.output at (String.length child.output - at) in
  check_int what expected (int_of_string words)

let heap_is_larger () =
  needs_two_cpus ();
  attempt (fun () -> check_words "words" "trees" 524_288);
  check_words "the most" "garbage" 524_288

let heap_is_given_back () =
  needs_two_cpus ();
  attempt (fun () -> check_words "afterwards" "afterwards" 262_144);
  check_words "given to the pool" "given, afterwards" 65_536

let heap_is_the_user's () =
  check_words "OCAMLRUNPARAM" ~runtime:"b,s=32k" "trees" 32_768;
  check_words "Gc.set" "set" 131_072;
  check_words "?minor_heap_words" "given-to-the-pool" 65_536

(* {1 A CPU that is free again} *)

(* Some 100 us in which nothing is allocated: no collection tells anybody to look. *)
let work () =
  let x = ref 1 in
  for _ = 1 to 50_000 do
    x := !x * 17 land 0xffff
  done;
  ignore (Sys.opaque_identity !x)

(* What a program can spend its time with. It is all that goes on, so nobody else finds out. *)
let steps : (string * (Pool.t -> unit)) list =
  [
    ("both", fun _ -> ignore (Muster.both work work));
    ( "async and await",
      fun _ ->
        let task = Task.async work in
        work ();
        Task.await task );
    ("many tasks awaited", fun _ -> List.iter Task.await (List.init 50 (fun _ -> Task.async work)));
    ("Task.all", fun _ -> ignore (Task.all (List.init 50 (fun _ -> work))));
    ( "a scope's tasks awaited",
      fun _ -> Task.scope (fun s -> List.iter Task.await (List.init 50 (fun _ -> Task.fork s work)))
    );
    ("parallel_for", fun _ -> Muster.parallel_for ~start:1 ~finish:50 (fun _ -> work ()));
    ( "for_slices",
      fun pool -> Muster.Team.for_slices pool 2 (fun ~worker:_ ~start:_ ~count:_ -> work ()) );
    ("for_n", fun pool -> Muster.Team.for_n pool 2 (fun ~worker:_ _ -> work ()));
    ("for_n_dynamic", fun pool -> Muster.Team.for_n_dynamic pool 20 (fun ~worker:_ _ -> work ()));
  ]

let is_taken_back step () =
  needs_two_cpus ();
  skip_unless (Muster_core.Cpu.idle () <> None) "it takes Linux's /proc";
  attempt @@ fun () ->
  Pool.with_ ~domains:2 @@ fun pool ->
  Atomic.set Load.governor { Muster_core.Governor.start with lent = Muster_core.Cpu.available () - 1 };
  Load.share_out ();
  check_int "allowed" 0 (allowed pool);
  let stop = Unix.gettimeofday () +. 1. in
  let lends () = (Atomic.get Load.governor).lent > 0 in
  while lends () && Unix.gettimeofday () < stop do
    step pool
  done;
  if lends () then failf "not within a second"

(* A caller whose function has gone on on a resident, because it waited: he sleeps, and the resident is one more
   caller in another pool, not a second one. *)
let resident_calls_another_pool () =
  needs_two_cpus ();
  attempt @@ fun () ->
  outside ~domains:2 @@ fun outer ->
  outside ~domains:2 @@ fun inner ->
  Pool.run outer @@ fun () ->
  let wait_for_another () =
    let latch = Muster.Latch.create 1 in
    let task =
      Task.async (fun () ->
          burn 0.001;
          Muster.Latch.count_down latch)
    in
    Muster.Latch.await latch;
    Task.await task
  in
  let stop = Unix.gettimeofday () +. 5. in
  while Domain.is_main_domain () && Unix.gettimeofday () < stop do
    wait_for_another ()
  done;
  if Domain.is_main_domain () then failf "the function has stayed with its caller";
  let work_for seconds ~unless =
    let stop = Unix.gettimeofday () +. seconds in
    while not (unless () || Unix.gettimeofday () > stop) do
      Muster.parallel_for ~start:1 ~finish:50 (fun _ -> work ())
    done
  in
  Pool.run inner (fun () ->
      (* What a pool begins with is nobody's decision yet. *)
      work_for 0.2 ~unless:(fun () -> false);
      work_for 1. ~unless:(fun () -> allowed inner > 0);
      check_int "residents allowed in the inner pool" 1 (allowed inner))

(* Two callers on two CPUs have no resident; one has. *)
let other_caller_leaves step () =
  needs_two_cpus ();
  attempt @@ fun () ->
  outside ~domains:2 @@ fun pool ->
  let go = Atomic.make false in
  let work_on until =
    while not (until ()) do
      step pool
    done
  in
  let other () = Pool.run pool (fun () -> work_on (fun () -> Atomic.get go)) in
  let other = Domain.spawn other in
  Fun.protect ~finally:(fun () ->
      Atomic.set go true;
      Domain.join other)
  @@ fun () ->
  Pool.run pool @@ fun () ->
  let work_until what condition =
    let stop = Unix.gettimeofday () +. 1. in
    work_on (fun () -> condition () || Unix.gettimeofday () > stop);
    if not (condition ()) then failf "%s: not within a second" what
  in
  work_until "none" (fun () -> Muster.Cpu.available () > 2 || allowed pool = 0);
  Atomic.set go true;
  work_until "one" (fun () -> allowed pool = 1)

(* A thread in two pools is one caller, of the inner one. *)
let nested_pools () =
  let callers pool = Load.callers (core pool) in
  fixed 2 @@ fun outer ->
  Pool.run outer @@ fun () ->
  check_int "outer alone" 1 (callers outer);
  fixed 2 @@ fun inner ->
  Pool.run inner (fun () ->
      check_int "outer" 0 (callers outer);
      check_int "inner" 1 (callers inner));
  check_int "outer again" 1 (callers outer)

(* A worker that does not pause adds what it counted all the same, also in a pool that insists. *)
let counts_of_the_busy () =
  fixed 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  let there = Muster.Chan.bounded 1 and back = Muster.Chan.bounded 1 in
  let over = Atomic.make false in
  let talk () =
    while not (Atomic.get over) do
      Muster.Chan.send there ();
      Muster.Chan.recv back
    done;
    Muster.Chan.close there
  in
  let answer () = Muster.Chan.iter (Muster.Chan.send back) there in
  let tasks = List.map Task.async [ talk; answer ] in
  let counted () = (Pool.stats pool).tasks > 100 in
  Fun.protect
    (fun () -> check_within 2. "tasks" counted)
    ~finally:(fun () ->
      Atomic.set over true;
      List.iter Task.await tasks)

(* {1 The watchdog} *)

(* Code that waits by a flag for its own task, when no resident may work any more. *)
let watchdog_runs_what_is_waited_for () =
  fixed 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  Task.await (Task.async ignore);
  for _ = 1 to 20 do
    check_within 1. "somebody is there" (fun () ->
        ignore (Task.async ignore);
        residents pool = 1);
    let flag = Atomic.make false in
    Load.set_allowed (core pool) 0;
    ignore (Task.async (fun () -> Atomic.set flag true));
    check_within 2. "the task has run" (fun () -> Atomic.get flag);
    Load.set_allowed (core pool) 1
  done

(* The caller waits by a flag for many tasks, or for two that talk to each other: not each step waits for the
   watchdog's watch. *)
let watchdog_goes_on () =
  fixed 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  Load.set_allowed (core pool) 0;
  let steps = 200 in
  let left = Atomic.make steps in
  let tasks = List.init steps (fun _ -> Task.async (fun () -> Atomic.decr left)) in
  check_within 2. "many" (fun () -> Atomic.get left = 0);
  let channel = Muster.Chan.bounded 0 and over = Atomic.make false in
  let send () =
    for i = 1 to steps do
      Muster.Chan.send channel i
    done;
    Muster.Chan.close channel
  in
  let receive () =
    Muster.Chan.iter ignore channel;
    Atomic.set over true
  in
  let talk = List.map Task.async [ send; receive ] in
  check_within 2. "messages" (fun () -> Atomic.get over);
  List.iter Task.await (tasks @ talk)

(* The caller waits by a flag for much work, and does nothing meanwhile: the watchdog sleeps a few times, and not
   before each task. *)
let watchdog_goes_on_for_longer () =
  fixed 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  Load.set_allowed (core pool) 0;
  let tasks = 60 in
  let left = Atomic.make tasks in
  let work () =
    let stop = Unix.gettimeofday () +. 5e-3 in
    work_until (fun () -> Unix.gettimeofday () > stop);
    Atomic.decr left
  in
  let tasks = List.init tasks (fun _ -> Task.async work) in
  check_within 10. "all" (fun () -> Atomic.get left = 0);
  let { Muster_core.Counts.parks; _ } = (Muster_core.Place.workers (core pool)).(1).own.counts in
  if parks > 40 then failf "the watchdog slept %d times" parks;
  List.iter Task.await tasks

(* Each time that the watchdog looks, the first caller has handed out another task, which it does itself. *)
let watchdog_looks_at_every_caller () =
  fixed 2 @@ fun pool ->
  let over = Atomic.make false and begun = Atomic.make false in
  let work () =
    Pool.run pool (fun () ->
        while not (Atomic.get over) do
          Task.await (Task.async (fun () -> burn 1e-3));
          Atomic.set begun true
        done)
  in
  let other = Domain.spawn work in
  check_within 2. "the other one works" (fun () -> Atomic.get begun);
  Load.set_allowed (core pool) 0;
  (* It has looked at each place many times. *)
  Unix.sleepf 0.5;
  Pool.run pool (fun () ->
      let done_ = Atomic.make false in
      let task = Task.async (fun () -> Atomic.set done_ true) in
      Fun.protect
        (fun () -> check_within 3. "the second caller's" (fun () -> Atomic.get done_))
        ~finally:(fun () ->
          Atomic.set over true;
          Task.await task));
  Domain.join other

let allow pool n =
  Load.set_allowed (core pool) n;
  Load.note_shortage ()

let passing_checks flag () =
  Task.check ();
  Atomic.get flag

(* One resident is busy with a task that does not end, another task waits, and when there may be more residents again
   nobody publishes anything: code that passes a checkpoint, [within], hires. *)
let look_hires_for_what_waits pool ~start ~within =
  let blocked = Atomic.make false and go = Atomic.make false and begun = Atomic.make false in
  let block () =
    Atomic.set blocked true;
    wait_until (fun () -> Atomic.get go)
  in
  let blocker = start block in
  check_within 2. "one is busy" (fun () -> Atomic.get blocked);
  let task = start (fun () -> Atomic.set begun true) in
  allow pool 2;
  Fun.protect
    (fun () -> within (fun () -> check_within 2. "begun" (passing_checks begun)))
    ~finally:(fun () ->
      Atomic.set go true;
      Task.await blocker;
      Task.await task)

let caller_hires_for_what_waits () =
  fixed 4 @@ fun pool ->
  Pool.run pool @@ fun () ->
  allow pool 0;
  check_within 2. "gone" (fun () -> residents pool = 0);
  look_hires_for_what_waits pool ~start:Task.async ~within:(fun f -> f ())

(* A look goes over all pools: loops that took one at each chunk were several times as slow beside 100 idle
   pools. (A collection calls for one, or the machine takes 2 ms between the two.) *)
let looks_are_seldom pool =
  Pool.run pool @@ fun () ->
  let w = current () in
  check_within 2. "a look is due" (fun () -> Load.is_due w);
  check_within 2. "no other is, after it" (fun () ->
      Load.look w;
      not (Load.is_due w))

let looks_of_all_are_seldom () =
  fixed 2 looks_are_seldom;
  Pool.with_ ~domains:2 looks_are_seldom

(* Another pool's worker hires, in a look, for what waits in a pool that is closed at that moment. *)
let nobody_comes_after_close () =
  let over = Atomic.make false in
  let rec look_on pool =
    Load.look (current ());
    if not (Atomic.get over) then look_on pool
  in
  let close_one i =
    let pool = Pool.create ~domains:3 ~oversubscribe:true () in
    let core = core pool in
    Pool.run pool (fun () ->
        Load.set_allowed core 0;
        ignore (within 0.02 (fun () -> Atomic.get core.residents = 0));
        Load.set_allowed core 2;
        let spin () =
          for _ = 1 to i mod 50 * 200 do
            Domain.cpu_relax ()
          done
        in
        ignore (Muster.both spin ignore));
    Pool.close pool;
    let { Pool.domains_started; domains_ended; _ } = Pool.stats pool in
    Unix.sleepf 1e-3;
    check_int "started" domains_started (Pool.stats pool).domains_started;
    check_int "ended" domains_started domains_ended
  in
  fixed 1 @@ fun pool ->
  let looker = Domain.spawn (fun () -> Pool.run pool (fun () -> look_on pool)) in
  Fun.protect
    (fun () ->
      for i = 1 to 60 do
        close_one i
      done)
    ~finally:(fun () ->
      Atomic.set over true;
      Domain.join looker)

(* What is published without a word waits as it would if the runtime had refused a domain for it. *)
let look_hires_by_the_watchdog () =
  fixed 2 @@ fun pool ->
  Pool.run pool @@ fun () ->
  Task.await (Task.async ignore);
  check_within 2. "gone" (fun () -> residents pool = 0);
  allow pool 0;
  let begun = Atomic.make false in
  let task = Muster_core.Promise.make (core pool).home (fun () -> Atomic.set begun true) in
  Muster_core.Publish.offer (Muster_core.Place.current ()) ~wake:false
    (Muster_core.Promise.any task);
  check_within 2. "begun" (passing_checks begun)

(* A task from outside calls a resident, which hands out one more task and has to leave before it begins. The only
   caller waits for that one by a flag. *)
let watchdog_sees_what_a_resident_leaves () =
  fixed 1 @@ fun pool ->
  Pool.run pool @@ fun () ->
  let begun = Atomic.make false in
  let hand_out () =
    ignore (Task.async (fun () -> Atomic.set begun true));
    Unix.sleepf 0.5
  in
  let task = Muster_core.Promise.make (core pool).home hand_out in
  Muster_core.Publish.send (core pool) (Muster_core.Promise.any task);
  check_within 10. "begun" (fun () -> Atomic.get begun)

let run_tests () =
  Alcotest.run "load"
    [
      ( "numbers",
        [
          case "workers that one pool may have" shares_of_a_pool;
          case "workers that several pools may have" shares_of_several;
          budget_is_kept;
          case "a caller in nested pools counts once" nested_pools;
        ] );
      ("decisions", [ case "decisions are in the order of their times" newest_first ]);
      ( "idle",
        [
          case "an idle pool ends its domains" gives_domains_back;
          case "a domain in which a task started a thread stays" stays_for_a_thread;
          case "a broadcast after idleness starts the domains again" broadcast_after_idleness;
          case "a suspended task goes on in a pool without domains" suspended_task_goes_on;
          case "a pool without domains is closed" close_of_an_empty_pool;
        ] );
      ( "shared machine",
        [
          case "two busy pools share the CPUs" two_pools_at_once;
          case "a pool makes room for a busy process" makes_room_for_a_neighbour;
          case "a pool follows the process's affinity" (follows_affinity forks);
          case "a pool of team calls follows the process's affinity" (follows_affinity regions);
        ] );
      ("a CPU is free again", List.map (fun (name, step) -> case name (is_taken_back step)) steps);
      ( "a caller sleeps",
        [
          case "a caller that moved to a pool's domain is one caller of another pool"
            resident_calls_another_pool;
        ] );
      ("a caller leaves", List.map (fun (name, step) -> case name (other_caller_leaves step)) steps);
      ( "heaps",
        [
          case "heaps of a pool of several workers have 512 k words" heap_is_larger;
          case "a caller's heap is given back" heap_is_given_back;
          case "a heap that the user chose stays" heap_is_the_user's;
        ] );
      ("counts", [ case "busy workers publish their counts" counts_of_the_busy ]);
      ( "watchdog",
        [
          case "the watchdog has a task run that others wait for" watchdog_runs_what_is_waited_for;
          case "many short tasks go on, not each after a look of the watchdog" watchdog_goes_on;
          case "many long tasks go on, not each after a look of the watchdog"
            watchdog_goes_on_for_longer;
          case "the watchdog looks at every caller's tasks" watchdog_looks_at_every_caller;
          case "a task that a resident leaves behind begins" watchdog_sees_what_a_resident_leaves;
          case "a caller's look starts a domain for a task that waits"
            caller_hires_for_what_waits;
          case "a look starts a domain for a task that was published without a wake"
            look_hires_by_the_watchdog;
        ] );
      ( "looks",
        [
          case "workers look at the load seldom" looks_of_all_are_seldom;
          case "no look starts a domain for a closed pool" nobody_comes_after_close;
        ] );
    ]

let () =
  match Sys.argv with
  | [| _; "spin" |] -> burn 20.
  | [| _; name |] when List.mem_assoc name children -> (List.assoc name children) ()
  | _ -> run_tests ()
