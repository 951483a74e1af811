(* The rules on figures made for them, the sums of made events, and the command as a user meets it. *)

open Muster_cli

let case name run = Alcotest.test_case name `Quick run

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let says text part = if not (contains text part) then Alcotest.failf "no %S in:\n%s" part text

(* {2 Rules} *)

let healthy : Measures.t =
  {
    wall = 1.; workers = 2; working = 1.9; minor = 0.; major = 0.; stop = 0.; held = 0.; looking = 0.; parked = 0.05;
    outside = 0.02; unknown = 0.;
    missing = [ ("parallelism", 0.05); ("a share", 0.); ("a worker", 0.); ("a lock", 0.); ("a channel", 0.) ];
    straggling = 0.; straggler = None; tasks = 100; forks = 100; steals = 10; shares = 0;
    sampled = false; work = 1.9; span = 0.1; chain = [ (" at a.ml:1", 0.1) ];
    waits = []; wait_places = []; minors = 1; late = []; promoted = 0; allocated = 0; forced = []; queue = 0.; spun = 0.;
    blocked = 0.; blocked_in = []; asleep_in = []; beside = 0.; quiet = 0.;
  }
[@@ocamlformat "disable"]

let run : Rules.run =
  {
    m = healthy;
    cpu = 1.9;
    kernel = 0.02;
    cpus = 2.;
    affinity = 2.;
    throttled = 0.;
    lost = false;
    alone = Some 1.9;
    pace = 1.;
    task_cost = 1e-7;
    task_bytes = 200.;
  }

let causes run = List.map (fun (it : Rules.finding) -> it.cause) (Rules.findings run)

let names cause run () =
  match causes run with
  | first :: _ -> says first cause
  | [] -> Alcotest.failf "nothing found: %s" (String.concat "\n" (Verdict.lines run))

let with_ m = { run with Rules.m }
let missing what seconds = (what, seconds) :: List.remove_assoc what healthy.missing

let rules =
  let h = healthy in
  let waits call = [ (call, 500, 40.) ] in
  [
    ("too little parallelism", with_ { h with working = 1.; missing = missing "parallelism" 1. });
    ( "imbalance",
      with_
        { h with working = 1.2; missing = missing "parallelism" 0.8; straggling = 0.8 }
    );
    ("collections", with_ { h with working = 1.; minor = 0.6; stop = 0.3 });
    ("more workers", with_ { h with workers = 8; working = 4.; stop = 3.; queue = 5. });
    ("no CPU", { (with_ { h with working = 0.9; queue = 1. }) with cpu = 0.9 });
    ("no CPU", { (with_ { h with working = 0.9; queue = 0.4; held = 0.4 }) with cpu = 1. });
    ("no CPU", { (with_ { h with workers = 8; working = 0.9; queue = 7. }) with cpu = 0.9 });
    ("no CPU", { (with_ { h with missing = missing "a CPU" 1. }) with cpu = 1. });
    ("fewer workers", with_ { h with missing = missing "a worker" 1. });
    ("imbalance", with_ { h with working = 1.; missing = missing "a share" 0.9 });
    ("a CPU quota", { run with throttled = 1.; cpu = 1. });
    ( "a lock",
      with_ { h with working = 1.; missing = missing "a lock" 0.9; waits = waits "Mutex.lock" } );
    ( "a channel",
      with_ { h with working = 1.; missing = missing "a channel" 0.9; waits = waits "Chan.recv" } );
    ("a channel", with_ { h with waits = [ ("Chan.send", 3_000_000, 5.) ] });
    ("another task", with_ { h with missing = missing "another task" 0.9; waits = waits "Latch.await" });
    ("blocking calls", with_ { h with missing = missing "blocking calls" 0.9 });
    ("the kernel", { run with kernel = 1. });
    ("a wait outside", with_ { h with missing = missing "the end of a call" 1. });
    ("a blocking call", with_ { h with blocked = 1.5; blocked_in = [ ("read", 1.5) ] });
    ("a lock", with_ { h with spun = 0.6 });
    ("a lock", with_ { h with blocked = 1.5; blocked_in = [ ("futex_do_wait", 1.5) ] });
    ("a lock", with_ { h with blocked = 1.5; blocked_in = [ ("", 1.); ("futex_do_wait", 0.5) ] });
    ("tasks too small", with_ { h with forks = 8_000_000 });
    ("memory", { run with alone = Some 1. });
    ("memory", { run with alone = Some 1.; pace = 0.7 });
    ("memory", { run with alone = Some 0.9; pace = 1.3 });
    ("slower CPUs", { run with alone = Some 1.5; pace = 1.3 });
    ("slower CPUs", { run with alone = Some 1.; pace = 1.9 });
  ]
  |> List.map (fun (cause, run) -> case cause (names cause run))

(* A loop that computes was as slow, or the second run may have had the quicker CPU. *)
let not_memory () =
  let none it = if List.exists (String.starts_with ~prefix:"memory") (causes it) then Alcotest.fail "memory" in
  none { run with alone = Some 1.4; pace = 1.4 };
  none { run with alone = Some 1.; pace = 1.7 };
  Alcotest.(check (list string)) "as quick as alone" [] (causes { run with pace = 1.5 })
[@@ocamlformat "disable"]

(* The CPUs that there are, each in turn: a look is a fraction of a millisecond. *)
let gauge () =
  let { Procfs.allowed; _ } = Procfs.room (Unix.getpid ()) and gauge = Gauge.make () in
  Alcotest.(check bool) "nothing yet" true (Gauge.mean gauge = None);
  List.iter (fun _ -> Gauge.look ~cpus:allowed gauge) (List.init 20 Fun.id);
  match Gauge.mean gauge with
  | Some mean when mean > 1e-6 && mean < 0.1 -> ()
  | None when allowed = [] -> ()
  | mean -> Alcotest.failf "%f s" (Option.value mean ~default:0.)

let gauge_of_none () =
  let gauge = Gauge.make () in
  Gauge.look ~cpus:[] gauge;
  Gauge.look ~cpus:[ 1_000_000 ] gauge;
  Alcotest.(check bool) "no CPU" true (Gauge.mean gauge = None)

let advises part run () =
  match Rules.findings run with
  | it :: _ -> says (it.number ^ ". " ^ it.advice) part
  | [] -> Alcotest.failf "nothing found: %s" part

let advice =
  let h = { healthy with working = 1. } in
  let collects = { h with major = 0.9; minors = 700 } in
  let waits ?(seconds = 40.) call n = [ (call, n, seconds) ] in
  let channel seconds =
    with_ { h with missing = missing "a channel" 0.9; waits = waits "Chan.send" 500_000 ~seconds }
  in
  let shares ns = with_ { h with missing = missing "a share" 0.9; shares = int_of_float (1. /. ns) } in
  [
    (* Each is three cycles, with a minor collection each. *)
    ("no Gc.full_major", with_ { collects with forced = [ ("Gc.full_major", 90) ] });
    ("allocate less", with_ { collects with forced = [ ("Gc.full_major", 1) ] });
    ("bigarrays", with_ { collects with forced = [ ("memory outside the heap", 300) ] });
    ("at a.ml:7 that did not stop", with_ { h with stop = 0.9; minor = 0.1; late = [ (" at a.ml:7", 0.5) ] });
    ("shorter calls of C", with_ { h with stop = 0.9; minor = 0.1; late = [ (" at a.ml:7", 0.5) ] });
    ("allocate less", with_ { h with stop = 0.6; minor = 0.4; late = [ (" at a.ml:7", 0.01) ] });
    ("Task.blocking around a join", with_ { h with blocked = 1.5; blocked_in = [ ("futex_do_wait", 1.5) ]; spun = 0.001 });
    ("several tasks for the slowest stage", channel 400.);
    ("larger messages", channel 25.);
    ("one call of Team", shares 4e-6);
    ("for_n_dynamic", shares 4e-3);
    ("~workers", with_ { h with missing = missing "a worker of Workers" 0.9; waits = waits "Workers.post" 500 });
    ("start the awaited work", with_ { h with missing = missing "another task" 0.9; waits = waits "Table.find_or_add" 49 });
    ("larger loops", with_ { h with missing = missing "parallelism" 0.9; sampled = true });
  ]
  |> List.map (fun (part, run) -> case ("advice: " ^ part) (advises part run))
[@@ocamlformat "disable"]

let large_values () =
  let forced = [ ("allocation in the major heap", 900) ] in
  let it = with_ { healthy with working = 1.; major = 0.9; minors = 1000; forced } in
  says (String.concat "\n" (Verdict.lines it)) "fewer large values"

let no_cause () =
  Alcotest.(check (list string)) "none" [] (causes run);
  says (String.concat "\n" (Verdict.lines run)) "It scales fine";
  let crowd = with_ { healthy with workers = 8; queue = 6. } in
  says (String.concat "\n" (Verdict.lines crowd)) "8 workers on 2 CPUs cost nothing"

let ranges () =
  let m = { healthy with working = 1.; minor = 0.6; unknown = 0.3 } in
  let text = String.concat "\n" (Verdict.lines { (with_ m) with lost = true }) in
  says text "to";
  says text "ranges";
  says text "at least 2 workers";
  says text "figures are not known";
  if contains text "ms each" then Alcotest.failf "figures that lost events make wrong:\n%s" text;
  if contains text "without it" then Alcotest.failf "a predicted time with lost events:\n%s" text;
  let unsure = { (with_ { healthy with working = 0.5; unknown = 0.8 }) with lost = true } in
  says (String.concat "\n" (Verdict.lines unsure)) "No cause is certain"

(* {2 Sums} *)

let ms = 1_000_000

let sums ?(cpus = 2.) events ~until =
  let account = Account.make ~cpus ~main:0 ~attached:false ~since:0 in
  Account.name account ~id:1 "Mutex.lock";
  Account.name account ~id:2 " at a.ml:1";
  let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
  List.iter tell events;
  Account.close account ~at:(until * ms);
  Account.measures account

let m event = Recording.Muster event
let busy ring worker at = (ring, at, m (Busy { pool = 1; worker; thread = 100 + ring }))
let near what expected x = Alcotest.(check (float 1e-6)) what expected x

(* Worker 0 forks task 2 at 2, which worker 1 runs from 3 to 8; the parent waits from 4 to 8. *)
let fork_and_wait () =
  let events =
    [
      busy 0 0 0;
      (0, 0, m (Fork { task = 1; parent = 0; site = 2 }));
      (0, 0, m (Begin { task = 1 }));
      (0, 2, m (Fork { task = 2; parent = 1; site = 2 }));
      busy 1 1 3;
      (1, 3, m (Begin { task = 2 }));
      (0, 4, m (Wait { task = 1; reason = 1; name = 0 }));
      (0, 4, m Idle);
      (1, 5, Gc Minor);
      (1, 6, Gc_end Minor);
      (1, 8, m (End { task = 2; back = 0 }));
      (1, 8, m Idle);
      busy 0 0 8;
      (0, 8, m (Resume { task = 1; reason = 1; ns = 4 * ms }));
      (0, 10, m (End { task = 1; back = 0 }));
    ]
  in
  let it = sums events ~until:10 in
  near "working" 0.010 it.working;
  near "minor" 0.001 it.minor;
  near "work" 0.010 it.work;
  near "span: to the fork, the child, the rest" 0.008 it.span;
  near "a CPU was free for want of the lock" 0.004 (List.assoc "a lock" it.missing);
  Alcotest.(check int) "workers: a second one for a tenth of the time" 1 it.workers;
  Alcotest.(check (list (triple string int (float 1e-6)))) "waits" [ ("Mutex.lock", 1, 0.004) ] it.waits

let alone () =
  let fork task = (0, 0, m (Fork { task; parent = 0; site = 2 })) in
  let short task at = [ (1, at, m (Begin { task })); (1, at + 1, m (End { task; back = 0 })) ] in
  let events =
    [ busy 0 0 0; fork 1; fork 2; fork 3; fork 4; fork 5; (0, 0, m (Begin { task = 1 })); busy 1 1 0 ]
    @ List.concat_map (fun task -> short task (task - 2)) [ 2; 3; 4; 5 ]
    @ [ (1, 4, m Park); (0, 20, m (End { task = 1; back = 0 })) ]
  in
  near "worked alone" 0.016 (sums events ~until:20).straggling

(* Code after a join is no straggler's, though others have ended beside the code before it. *)
let tail () =
  let events =
    [
      busy 0 0 0; (0, 0, m (Fork { task = 1; parent = 0; site = 2 })); busy 1 1 0; (1, 0, m (Begin { task = 1 }));
      (1, 4, m (End { task = 1; back = 0 })); (1, 4, m Park); (0, 6, m (Resume { task = 0; reason = 1; ns = 0 }));
      (0, 20, m Leave);
    ]
  in
  near "until the join" 0.002 (sums events ~until:20).straggling
[@@ocamlformat "disable"]

(* Worker 0 forks task 1, works on for 4 and waits for it, which worker 1 has until 20: the branch
   that ends first is beside it, task or not. *)
let branch () =
  let events =
    [
      busy 0 0 0; (0, 0, m (Fork { task = 1; parent = 0; site = 2 })); busy 1 1 0; (1, 0, m (Begin { task = 1 }));
      (0, 4, m (Wait { task = 0; reason = 3; name = 0 })); (0, 4, m Idle); (1, 20, m (End { task = 1; back = 0 }));
    ]
  in
  near "the longer branch" 0.016 (sums events ~until:20).straggling
[@@ocamlformat "disable"]

(* A loop's first iteration takes 10 of the 12 that it was alone. *)
let first_iteration () =
  let told ns = [ (0, 12, m (Alone { ns; site = 2 })); (0, 12, m (Fork { task = 1; parent = 0; site = 2 })) ] in
  let straggling more = (sums ((busy 0 0 0 :: busy 1 1 0 :: (1, 0, m Park) :: more) @ [ busy 1 1 12 ]) ~until:20).straggling in
  near "at the start" 0.010 (straggling (told (10 * ms)));
  near "outside the pool" 0.010 (sums ((0, 12, m (Alone { ns = 10 * ms; site = 2 })) :: [ busy 0 0 12; busy 1 1 12 ]) ~until:20).straggling;
  near "a prologue" 0. (straggling [ (0, 12, m (Fork { task = 1; parent = 0; site = 2 })) ])
[@@ocamlformat "disable"]

(* Both wait in a collection for 10 of 20; one of them had no CPU for 8 of these. *)
let no_cpu () =
  let account = Account.make ~cpus:2. ~main:100 ~attached:false ~since:0 in
  let thread thread queue : Account.thread = { thread; cpu = 0; queue = queue * ms; sleeps = None } in
  let sample at threads = Account.sample account ~at:(at * ms) ~until:(at * ms) threads in
  let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
  List.iter tell [ busy 0 0 0; busy 1 1 0 ];
  sample 0 [ thread 100 0; thread 101 0 ];
  List.iter tell [ (0, 10, Gc Stop); (1, 10, Gc Stop) ];
  sample 20 [ thread 100 0; thread 101 8 ];
  Account.close account ~at:(20 * ms);
  let it = Account.measures account in
  near "no CPU" 0.008 it.queue;
  near "and the other, that waits for it" 0.008 it.held;
  near "the rest of the wait" 0.008 it.stop;
  near "work: half of the time with a CPU" 0.016 it.working
[@@ocamlformat "disable"]

(* The time between an event that was lost and the next that tells the state is anybody's, but for
   phases of the collector. *)
let lost () =
  let events =
    [ busy 0 0 0; (0, 2, Recording.Lost 10); (0, 3, Gc Stop); (0, 4, Gc_end Stop); busy 0 0 5 ]
  in
  let it = sums events ~until:6 in
  near "working" 0.003 it.working;
  near "a phase that is seen" 0.001 it.stop;
  near "unknown: the worker for 2, the other CPU for 4" 0.006 it.unknown;
  near "a CPU was free, for sure, before that" 0.002 (List.assoc "parallelism" it.missing)

(* Two jobs wait from the start, for a runner that has one at a time. *)
let jobs () =
  let job at = [ (0, at, m (Job { task = 0; queued = at * ms })); (0, at, m (Begin { task = 0 })) ] in
  let it = sums ((busy 0 0 0 :: busy 1 1 0 :: (1, 0, m Park) :: job 4) @ job 8) ~until:12 in
  near "a CPU was free for want of a turn" 0.008 (List.assoc "a worker of Workers" it.missing);
  near "and then of jobs" 0.004 (List.assoc "parallelism" it.missing)

(* Worker 1 waits for worker 0 to stop, which had no CPU for a part of that. *)
let late ~queued () =
  let account = Account.make ~cpus:2. ~main:0 ~attached:false ~since:0 in
  let thread queue : Account.thread = { thread = 100; cpu = 0; queue = queue * ms; sleeps = None } in
  let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
  Account.name account ~id:2 " at a.ml:1";
  tell (busy 0 0 0);
  tell (busy 1 1 0);
  tell (0, 0, m (Fork { task = 1; parent = 0; site = 2 }));
  tell (0, 0, m (Begin { task = 1 }));
  Account.sample account ~at:0 ~until:0 [ thread 0 ];
  List.iter tell [ (1, 2, Gc Stop); (0, 12, Gc Stop); (0, 12, Gc_end Stop); (1, 12, Gc_end Stop) ];
  Account.sample account ~at:(20 * ms) ~until:(20 * ms) [ thread queued ];
  Account.close account ~at:(20 * ms);
  match (Account.measures account).late with
  | [ (" at a.ml:1", seconds) ] -> near "late" (0.001 *. float (Int.max 0 (10 - queued))) seconds
  | _ -> Alcotest.fail "not late"

(* What was read of a thread while its ring told something may be of the moment after. *)
let asleep () =
  let seen_at events =
    let account = Account.make ~cpus:2. ~main:0 ~attached:false ~since:0 in
    let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
    let thread : Account.thread = { thread = 100; cpu = 0; queue = 0; sleeps = Some "read" } in
    tell (busy 0 0 0);
    Account.sample account ~at:(20 * ms) ~until:(22 * ms) [ thread ];
    List.iter tell events;
    Account.close account ~at:(40 * ms);
    (Account.measures account).blocked
  in
  near "in the midst of a task" 0.020 (seen_at [ (0, 30, Gc Minor) ]);
  near "in a collection, perhaps" 0. (seen_at [ (0, 21, Gc Minor) ])

(* Worker 0 has its share until 8, worker 1 until 3. *)
let region () =
  let events =
    [
      busy 0 0 0; (0, 0, m (Region { workers = 2 })); busy 1 1 0; (1, 3, m Park);
      (0, 8, m Region_end); (0, 9, m Leave);
    ]
  in
  let it = sums events ~until:10 in
  near "a CPU was free for want of a share" 0.005 (List.assoc "a share" it.missing);
  near "and then of parallelism" 0.002 (List.assoc "parallelism" it.missing)
[@@ocamlformat "disable"]

(* Before the program's first event one CPU was at work; then one was lent, and one had no worker. *)
let budget () =
  let events =
    [ busy 0 0 10; (0, 10, m (Budget { size = 2; lent = 1 })); (0, 20, m (Budget { size = 2; lent = 0 })) ]
  in
  let it = sums events ~until:50 and wider = sums ~cpus:3. events ~until:50 in
  near "nothing to share" 0.040 (List.assoc "parallelism" it.missing);
  near "lent" 0.010 (List.assoc "a CPU" it.missing);
  near "no worker" 0.040 (List.assoc "a worker" wider.missing)

(* What came before a worker of a running program told something is not known. *)
let attached () =
  let account = Account.make ~cpus:2. ~main:100 ~attached:true ~since:0 in
  let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
  List.iter tell [ (0, 10, Gc Minor); (0, 30, Gc_end Minor); busy 0 0 50; busy 1 1 50 ];
  Account.close account ~at:(60 * ms);
  let it = Account.measures account in
  near "time" 0.010 it.wall;
  near "collections" 0. it.minor;
  near "outside" 0. it.outside;
  near "work" 0. it.work;
  near "working" 0.020 it.working

(* The pool is at work until 20; then the first thread sleeps, and from 40 a domain is on a CPU that is
   in no pool. *)
let outside () =
  let account = Account.make ~cpus:2. ~main:100 ~attached:false ~since:0 in
  let thread thread cpu : Account.thread = { thread; cpu = cpu * ms; queue = 0; sleeps = Some "read" } in
  let sample at threads = Account.sample account ~at:(at * ms) ~until:(at * ms) threads in
  let tell (ring, at, event) = Account.event account ~ring ~at:(at * ms) event in
  List.iter tell [ busy 0 0 0; busy 1 1 0; (0, 20, m Leave); (1, 20, m Park) ];
  sample 20 [ thread 101 20 ];
  sample 40 [ thread 100 20; thread 101 20 ];
  sample 60 [ thread 100 20; thread 101 20; thread 102 20 ];
  Account.close account ~at:(60 * ms);
  let it = Account.measures account in
  near "both CPUs lacked the end of a call, one of them then was used" 0.060 (List.assoc "the end of a call" it.missing);
  near "no lack of parallelism" 0. (List.assoc "parallelism" it.missing);
  near "used in no pool" 0.020 it.beside;
  near "nobody at work" 0.040 it.quiet;
  Alcotest.(check (list (pair string (float 1e-6)))) "where" [ ("read", 0.040) ] it.asleep_in
[@@ocamlformat "disable"]

(* A task that goes on alone, but hands out others meanwhile, lets others help. *)
let spine () =
  let child at =
    [ (0, at, m (Fork { task = at; parent = 1; site = 2 })); busy 1 1 at; (1, at, m (Begin { task = at }));
      (1, at, m (End { task = at; back = 0 })); (1, at, m Park) ]
  in
  let events =
    [ busy 0 0 0; (0, 0, m (Fork { task = 1; parent = 0; site = 2 })); (0, 0, m (Begin { task = 1 })); busy 1 1 0;
      (1, 0, m Park) ]
    @ List.concat_map child (List.init 18 (fun i -> i + 2))
    @ [ (0, 20, m (End { task = 1; back = 0 })) ]
  in
  near "what follows the last fork" 0.001 (sums events ~until:20).straggling
[@@ocamlformat "disable"]

let throttled () =
  let file = Filename.temp_file "cpu" ".stat" in
  let told text =
    Out_channel.with_open_bin file (fun oc -> output_string oc text);
    Procfs.throttled { allowed = [ 0; 1 ]; affinity = 2; cpus = 1.; stats = [ "/nowhere/cpu.stat"; file ] }
  in
  let check what expected text = Alcotest.(check (option int)) what expected (told text) in
  check "v2" (Some 5_000) "usage_usec 12\nnr_throttled 2\nthrottled_usec 5\n";
  check "v1" (Some 5) "nr_periods 9\nnr_throttled 2\nthrottled_time 5\n";
  check "none" None "usage_usec 12\n";
  Sys.remove file

(* {2 The command} *)

let muster = Filename.concat ".." (Filename.concat ".." (Filename.concat "cli" "main.exe"))
let planted = Filename.concat Filename.current_dir_name "planted.exe"

let why ?(options = []) ?(environment = "") ?(input = "</dev/null") program =
  let log = Filename.temp_file "muster_why" ".log" in
  let command = Filename.quote_command muster (("why" :: options) @ ("--" :: program)) in
  let code =
    Sys.command (Printf.sprintf "{ %s %s >/dev/null 2>%s; } %s" environment command (Filename.quote log) input)
  in
  let printed = In_channel.with_open_bin log In_channel.input_all in
  Sys.remove log;
  (code, printed)
[@@ocamlformat "disable"]

(* Where other programs take the CPUs, that may be all there is to see: of a planted program then the best of some
   tries counts. *)
let rec expect ?options ?environment ?(code = 0) ?(tries = 1) program parts () =
  let got, printed = why ?options ?environment program in
  Alcotest.(check int) ("exit status with\n" ^ printed) code got;
  if tries > 1 && contains printed "no CPU" && not (List.for_all (contains printed) parts) then
    expect ?options ?environment ~code ~tries:(tries - 1) program parts ()
  else List.iter (says printed) parts

let alone_in_pool = "MUSTER_GOVERNOR=off"
let finds cause name = expect ~tries:5 ~environment:alone_in_pool [ planted; name; "0.2" ] [ cause; "Lost events" ]

(* A second run that has nothing to read takes less time, which is not memory's. It begins where the
   first did: here after a line. *)
let input_twice () =
  let file = Filename.temp_file "muster_why" ".txt" in
  Out_channel.with_open_bin file (fun oc -> for _ = 0 to 100 do output_string oc "line\n" done);
  let run ?input environment =
    let code, printed = why ~options:[ "--span" ] ~environment ?input [ planted; "reads"; "0.1" ] in
    Alcotest.(check int) printed 0 code;
    printed
  in
  let of_file = run "read skipped;" ~input:("<" ^ file) and of_pipe = run (Printf.sprintf "tail -n +2 %s |" file) in
  Sys.remove file;
  if contains of_file "no verdict on memory" then Alcotest.failf "no second run:\n%s" of_file;
  says of_pipe "cannot read a pipe again";
  let _, of_none = why ~options:[ "--span" ] ~input:"sleep 4 |" [ planted; "healthy"; "0.02" ] in
  if contains of_none "no verdict on memory" then Alcotest.failf "no second run:\n%s" of_none
[@@ocamlformat "disable"]

let rec becomes what holds ~tries =
  if not (holds ()) then
    if tries = 0 then Alcotest.fail what
    else begin
      Unix.sleepf 0.01;
      becomes what holds ~tries:(tries - 1)
    end

let catches_interrupts pid =
  let caught line = Scanf.sscanf_opt line "SigCgt: %x" (fun signals -> signals land 2 <> 0) in
  match In_channel.with_open_bin (Printf.sprintf "/proc/%d/status" pid) In_channel.input_all with
  | status -> List.exists (fun line -> caught line = Some true) (String.split_on_char '\n' status)
  | exception Sys_error _ -> true

(* The command alone is interrupted, as by a supervisor. A shell's background job would ignore that. *)
let interrupted () =
  let log = Filename.temp_file "muster_why" ".log" in
  let file = Unix.openfile log [ O_WRONLY ] 0 and null = Unix.openfile "/dev/null" [ O_RDWR ] 0 in
  let arguments = [| muster; "why"; "--"; planted; "healthy"; "20" |] in
  let before = Sys.signal Sys.sigint Signal_default in
  let pid = Unix.create_process muster arguments null null file in
  Sys.set_signal Sys.sigint before;
  becomes "it heeds Ctrl-C" (fun () -> catches_interrupts pid) ~tries:6_000;
  (* The program has begun, too. *)
  Unix.sleepf 1.;
  Unix.kill pid Sys.sigint;
  let _, status = Unix.waitpid [] pid in
  List.iter Unix.close [ file; null ];
  let printed = In_channel.with_open_bin log In_channel.input_all in
  Sys.remove log;
  let code = match status with WEXITED n -> n | WSIGNALED _ | WSTOPPED _ -> -1 in
  says printed "interrupted";
  Alcotest.(check bool) (Printf.sprintf "status %d after\n%s" code printed) true (code = 130 || code = 2)

let remove dir =
  Array.iter (fun file -> Sys.remove (Filename.concat dir file)) (Sys.readdir dir);
  Sys.rmdir dir

(* A program that begins untraced, in a folder of its own. *)
let beside arguments f =
  let dir = Filename.temp_dir "muster_why" "" in
  let before = Sys.getcwd () and program = Filename.concat (Sys.getcwd ()) "planted.exe" in
  Sys.chdir dir;
  let pid = Unix.(create_process program (Array.of_list (program :: arguments)) stdin stdout stderr) in
  Sys.chdir before;
  let stop () =
    Unix.kill pid Sys.sigkill;
    ignore (Unix.waitpid [] pid);
    remove dir
  in
  Fun.protect ~finally:stop (fun () -> f dir pid)
[@@ocamlformat "disable"]

(* It leaves no file behind. *)
let attaches () =
  beside [ "lock"; "20" ] @@ fun dir pid ->
  let session = Session.attach ~pid (Some 3.) in
  let left = Sys.file_exists (Filename.concat dir (Printf.sprintf "%d.muster" pid)) in
  Alcotest.(check bool) "the request is gone" false left;
  match session with
  | Ok { seen; outcome; measures; recording; _ } ->
    Alcotest.(check bool) "told, and still there" true (seen = Muster && outcome = Still_running);
    let { Recording.duration; _ } = Lazy.force recording in
    Alcotest.(check (float 0.02)) "from when it told" measures.wall (1e-9 *. float duration)
  | Error { why; _ } -> Alcotest.fail why

(* Its parent asks for it only later. *)
let attached_until_the_end () =
  beside [ "healthy"; "2" ] @@ fun _ pid ->
  Unix.kill pid Sys.sigstop;
  becomes "stopped" (fun () -> Procfs.is_stopped pid) ~tries:1_000;
  Unix.kill pid Sys.sigcont;
  match Session.attach ~pid (Some 60.) with
  | Ok { outcome; _ } -> Alcotest.(check bool) "ended" true (outcome = Ended)
  | Error { why; _ } -> Alcotest.fail why

let rec json ?(tries = 5) () =
  let file = Filename.temp_file "muster_why" ".json" in
  expect ~options:[ "--json"; file ] ~environment:alone_in_pool [ planted; "lock"; "0.1" ] [] ();
  let it = In_channel.with_open_bin file Recording.of_channel in
  Sys.remove file;
  let is_told cause = List.mem_assoc cause it.causes in
  if tries > 1 && is_told "no CPU" && not (is_told "waiting for a lock") then json ~tries:(tries - 1) ()
  else begin
    Alcotest.(check bool) "timelines" true (it.timelines <> []);
    Alcotest.(check bool) "causes" true (is_told "waiting for a lock");
    Alcotest.(check bool) "verdict" true (it.verdict <> [])
  end

(* The report is written all the same, where nobody reads what is said. *)
let mute errors () =
  let file = Filename.temp_file "muster_why" ".json" in
  let command = Filename.quote_command muster [ "why"; "--json"; file; "--"; planted; "fails"; "0.02" ] in
  let code = Sys.command (Printf.sprintf "{ %s; exit $?; } %s" command errors) in
  let it = In_channel.with_open_bin file Recording.of_channel in
  Sys.remove file;
  Alcotest.(check int) "status" 3 code;
  Alcotest.(check bool) "verdict" true (it.verdict <> [])
[@@ocamlformat "disable"]

let bad_use =
  [
    case "no such program" (expect ~code:127 [ "./absent" ] [ "cannot start ./absent" ]);
    case "no program of OCaml's" (expect ~code:3 [ "sh"; "-c"; "exit 3" ] [ "no program of OCaml 5"; "status 3" ]);
    case "no Muster in it" (expect [ muster; "--version" ] [ "no worker of Muster's" ]);
    case "a program that fails" (expect ~code:3 [ planted; "fails"; "0.02" ] [ "status 3" ]);
    case "a program that is killed" (expect ~code:137 [ planted; "crashes"; "0.02" ] [ "signal 9:"; "until then" ]);
    case "a program that prints much" (expect [ planted; "talks" ] [ "no worker of Muster's" ]);
    case "no place for the trace"
      (expect ~code:1 ~environment:"TMPDIR=/nowhere" [ planted; "lock"; "0.1" ] [ "TMPDIR" ]);
    case "no place for the recording" (fun () ->
        let code, printed = why ~options:[ "--json"; "/nowhere/it.json" ] [ planted; "lock"; "0.02" ] in
        says printed "cannot write /nowhere/it.json";
        Alcotest.(check bool) printed true (code = 1 && not (contains printed "used.")));
    case "a shell that is killed by a signal" (expect ~code:135 [ "sh"; "-c"; "kill -BUS $$" ] [ "signal 7:" ]);
    case "a program that a shell starts" (expect ~code:5 ~environment:alone_in_pool
        [ "sh"; "-c"; planted ^ " blocking 0.2; exit 5" ] [ "a blocking call"; "status 5" ]);
    case "no second run of a process" (fun () ->
        let arguments = [ "why"; "--span"; "--pid"; "1" ] in
        let command = Filename.quote_command muster arguments ~stderr:Filename.null in
        Alcotest.(check int) "status" 124 (Sys.command command));
    case "no process" (fun () ->
        match Session.attach ~pid:99_999_999 None with
        | Error { status = 1; _ } -> ()
        | _ -> Alcotest.fail "attached");
    case "the rings that it advises" (fun () ->
        let rings = List.hd (List.rev (String.split_on_char ' ' Verdict.larger_rings)) in
        expect ~environment:rings [ planted; "lock"; "0.1" ] [ "Lost events: 0" ] ());
    case "a child of OCaml's" (expect [ planted; "forks"; "0.05" ] [ "used." ]);
    case "a program that replaces itself" (expect [ planted; "replaced"; "0.05" ] [ "used." ]);
    case "a full disk" (expect ~code:1 ~options:[ "--json"; "/dev/full" ] [ planted; "healthy"; "0.02" ] [ "cannot write" ]);
    case "a full disk for what it says" (mute ">/dev/null 2>/dev/full");
    case "a reader that has gone" (mute "2>&1 | { exec <&-; sleep 2; exit 3; }");
    case "Ctrl-C" interrupted;
    case "input for two runs" input_twice;
  ]
[@@ocamlformat "disable"]

let () =
  Alcotest.run "why"
    [
      ("rules", rules @ advice @ [ case "none" no_cause; case "not memory" not_memory; case "gauge" gauge;
          case "gauge of none" gauge_of_none; case "large values" large_values; case "lost events" ranges ]);
      ("sums", [ case "fork and wait" fork_and_wait; case "alone" alone; case "a tail" tail; case "a branch" branch; case "a first iteration" first_iteration; case "no CPU" no_cpu; case "lost" lost; case "asleep" asleep;
          case "jobs" jobs; case "late" (late ~queued:0); case "late for want of a CPU" (late ~queued:12);
          case "a call of Team" region; case "a quota" throttled;
          case "a budget" budget; case "outside" outside; case "attached" attached; case "a spine" spine ]);
      ("planted",
        [ case "lock" (finds "waiting for a lock" "lock");
          case "a sequential prologue" (finds "too little parallelism" "prologue");
          case "one worker" (finds "waiting for a worker of Workers" "one-worker");
          case "blocking" (finds "a blocking call" "blocking"); case "--json" (fun () -> json ());
          case "--pid" attaches; case "--pid, until the end" attached_until_the_end ]);
      ("bad use", bad_use);
    ]
[@@ocamlformat "disable"]
