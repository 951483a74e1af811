(* What [Pool.stats] and its kin tell, and what MUSTER_STATS=1 has printed. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Chan = Muster.Chan

let none : Pool.stats =
  {
    seconds = 0.;
    size = 2;
    tasks = 0;
    forks = 0;
    steals = 0;
    parks = 0;
    regions = 0;
    workers = 2;
    each_worker = [];
    allowed = 2;
    cpus = 2;
    cpus_yielded = 0;
    minor_heap_words = [];
    domains_started = 0;
    domains_ended = 0;
    waits = 0;
    waited_seconds = 0.;
    task_waits = [];
    minor_collections = 0;
    minor_gc_seconds = 0.;
    decisions = [];
  }

let caller : Pool.worker =
  {
    worker = 0;
    is_caller = true;
    ran = 3;
    stole = 1;
    busy_seconds = 1.5;
    idle_seconds = 0.25;
  }

let resident = { caller with worker = 1; is_caller = false; ran = 4; stole = 0 }
let lock : Pool.wait = { call = "Mutex.lock"; times = 12; total_seconds = 0.5 }
let receive = { lock with call = "Chan.recv"; times = 1 }
let decision = { Pool.seconds_ago = 0.5; what = "2 workers"; why = "2 asked for" }

let some =
  {
    none with
    seconds = 2.;
    tasks = 7;
    forks = 6;
    steals = 1;
    parks = 5;
    regions = 1;
    each_worker = [ caller; resident ];
    domains_started = 1;
    waits = 3;
    waited_seconds = 0.125;
    task_waits = [ lock; receive ];
    minor_collections = 9;
    minor_gc_seconds = 0.0625;
    decisions = [ { decision with seconds_ago = 1.5; what = "minor heaps" }; decision ];
  }

(* {1 The text} *)

let golden =
  [
    "pool         2 workers, 2.000 s";
    "tasks        7 run, 6 offered, 1 stolen; 1 call of Team";
    "worker 0     busy 1.500 s, idle 0.250 s; 3 run, 1 stolen (a caller)";
    "worker 1     busy 1.500 s, idle 0.250 s; 4 run, 0 stolen";
    "waits        Mutex.lock: 12 times, 0.500 s";
    "             Chan.recv: 1 time, 0.500 s";
    "CPUs         2, of which 0 lent; 3 waits for one, 0.125 s";
    "domains      1 started, 0 ended; 5 sleeps";
    "collections  9 minor, 0.062 s of copying";
    "decisions    1.5 s ago: minor heaps: 2 asked for";
    "             0.5 s ago: 2 workers: 2 asked for";
  ]

let text () =
  let printed = String.split_on_char '\n' (Format.asprintf "%a" Pool.pp_stats some) in
  Alcotest.(check (list string)) "lines" golden printed

(* {1 The difference} *)

let difference () =
  let later =
    {
      some with
      seconds = 3.;
      tasks = 10;
      forks = 8;
      steals = 2;
      parks = 6;
      regions = 4;
      workers = 1;
      each_worker =
        [ { caller with ran = 5; busy_seconds = 2. }; resident; { resident with worker = 2 } ];
      domains_started = 4;
      domains_ended = 2;
      waits = 4;
      waited_seconds = 0.25;
      task_waits = [ lock; { receive with times = 3; total_seconds = 0.75 } ];
      minor_collections = 10;
      minor_gc_seconds = 0.125;
    }
  in
  let expected =
    {
      later with
      seconds = 1.;
      tasks = 3;
      forks = 2;
      steals = 1;
      parks = 1;
      regions = 3;
      each_worker =
        [
          { caller with ran = 2; stole = 0; busy_seconds = 0.5; idle_seconds = 0. };
          { resident with ran = 0; busy_seconds = 0.; idle_seconds = 0. };
          { resident with worker = 2 };
        ];
      domains_started = 3;
      domains_ended = 2;
      waits = 1;
      waited_seconds = 0.125;
      task_waits = [ { receive with times = 2; total_seconds = 0.25 } ];
      minor_collections = 1;
      minor_gc_seconds = 0.0625;
      decisions = [ decision ];
    }
  in
  check_bool "each figure" true (Pool.diff ~since:some later = expected)

(* {1 The figures} *)

let times_of (s : Pool.stats) call =
  let of_call (wait : Pool.wait) = if wait.call = call then wait.times else 0 in
  List.fold_left (fun n wait -> n + of_call wait) 0 s.task_waits

(* A worker tells of its counts when it pauses. *)
let counts_sleeps pool =
  let before = Pool.stats pool and n = 50 in
  let now () = Pool.diff ~since:before (Pool.stats pool) in
  Pool.run pool (fun () ->
      for _ = 1 to n do
        Task.sleep 0.0002
      done);
  wait_until (fun () -> times_of (now ()) "Task.sleep" >= n);
  check_int "each once" n (times_of (now ()) "Task.sleep");
  let wait = List.find (fun (w : Pool.wait) -> w.call = "Task.sleep") (now ()).task_waits in
  check_bool "their time" true (wait.total_seconds >= 0.0002 *. float n)

(* One call of each, which waits until it is told to go on. *)
let waits =
  let open Muster in
  let mutex () =
    let m = Mutex.create () in
    Mutex.lock m;
    ((fun () -> Mutex.protect m ignore), fun () -> Mutex.unlock m)
  and condition () =
    let m = Mutex.create () and c = Condition.create () and is_set = ref false in
    let wait () =
      while not !is_set do
        Condition.wait c m
      done
    and set () =
      is_set := true;
      Condition.signal c
    in
    ((fun () -> Mutex.protect m wait), fun () -> Mutex.protect m set)
  and semaphore () =
    let s = Semaphore.make 0 in
    ((fun () -> Semaphore.acquire s), fun () -> Semaphore.release s)
  and barrier () =
    let b = Barrier.create 2 in
    ((fun () -> Barrier.await b), fun () -> Barrier.await b)
  and latch () =
    let l = Latch.create 1 in
    ((fun () -> Latch.await l), fun () -> Latch.count_down l)
  and read () =
    let l = Rwlock.create () in
    Rwlock.lock_write l;
    ((fun () -> Rwlock.protect_read l ignore), fun () -> Rwlock.unlock_write l)
  and write () =
    let l = Rwlock.create () in
    Rwlock.lock_read l;
    ((fun () -> Rwlock.protect_write l ignore), fun () -> Rwlock.unlock_read l)
  and promise () =
    let p, r = Promise.create () in
    ((fun () -> Task.await p), fun () -> Promise.resolve r ())
  and any () =
    let p, r = Promise.create () in
    ((fun () -> Task.any [ p ]), fun () -> Promise.resolve r ())
  and recv () =
    let c = Chan.bounded 0 in
    ((fun () -> Chan.recv c), fun () -> Chan.send c ())
  and send () =
    let c = Chan.bounded 0 in
    ((fun () -> Chan.send c ()), fun () -> Chan.recv c)
  and select () =
    let c = Chan.bounded 0 in
    ((fun () -> Chan.(select [ recv_case c Fun.id ])), fun () -> Chan.send c ())
  in
  [
    ("Mutex.lock", mutex);
    ("Condition.wait", condition);
    ("Semaphore.acquire", semaphore);
    ("Barrier.await", barrier);
    ("Latch.await", latch);
    ("Rwlock.lock_read", read);
    ("Rwlock.lock_write", write);
    ("Task.await", promise);
    ("Task.any", any);
    ("Chan.recv", recv);
    ("Chan.send", send);
    ("Chan.select", select);
  ]

let core pool =
  let is_it (open_pool : Muster_core.Place.pool) = open_pool.name = Pool.name pool in
  List.find is_it (Atomic.get Muster_core.Place.open_pools)

let suspended (pool : Muster_core.Place.pool) = Atomic.get pool.suspended

(* A task that moves to another worker counts as suspended, too, where the numbers flip: it may have found no reason
   to wait, so the call is made again. *)
let names_each_wait pool =
  let rec check (call, make) =
    let before = Pool.stats pool in
    Pool.run pool (fun () ->
        let wait, let_go = make () in
        let task = Task.async wait in
        while suspended (core pool) = 0 do
          Task.yield ()
        done;
        let_go ();
        Task.await task);
    let is_told () = times_of (Pool.diff ~since:before (Pool.stats pool)) call >= 1 in
    if not (within 1. is_told) then
      if flipped then check (call, make) else failf "%s: no wait told" call
  in
  List.iter check waits

(* A worker that has slept, and one that has computed. *)
let times () =
  with_domains 2 @@ fun pool ->
  let before = Pool.stats pool in
  Pool.run pool (fun () ->
      Muster.Team.broadcast pool ignore;
      burn 0.1);
  let s = Pool.diff ~since:before (Pool.stats pool) in
  let worker i = List.find (fun (w : Pool.worker) -> w.worker = i) s.each_worker in
  check_bool "a caller" true (worker 0).is_caller;
  check_bool "a resident" false (worker 1).is_caller;
  let is_about a x = a <= x && x <= Float.max 0.3 (s.seconds +. 0.01) in
  check_bool "busy" true (is_about 0.05 (worker 0).busy_seconds);
  (* Flipped, its domain may have ended meanwhile. *)
  check_bool "idle" true (flipped || is_about 0.02 (worker 1).idle_seconds);
  let no_longer = Pool.stats pool in
  Unix.sleepf 0.05;
  let away = Pool.diff ~since:no_longer (Pool.stats pool) in
  let caller = List.find (fun (w : Pool.worker) -> w.is_caller) away.each_worker in
  check_bool "neither, away" true (caller.busy_seconds +. caller.idle_seconds = 0.)

let keeps_each_kind () =
  with_domains 2 @@ fun pool ->
  let note kind i = Muster_core.Load.decide ~pool:(core pool) kind (string_of_int i) "a test" in
  for i = 1 to 100 do
    note Heaps i
  done;
  let all = (Pool.stats pool).decisions in
  let whats = List.map (fun (d : Pool.decision) -> d.what) all in
  check_bool "of another kind" true (List.mem "2 workers" whats);
  check_bool "the last" true (List.mem "100" whats && List.mem "93" whats);
  check_bool "no more" false (List.mem "92" whats)

(* Many pools push out no decision of this one. *)
let keeps_its_own () =
  with_domains 2 @@ fun pool ->
  for _ = 1 to 40 do
    with_domains 2 ignore
  done;
  let is_it (d : Pool.decision) = d.what = "2 workers" in
  check_int "its own" 1 (List.length (List.filter is_it (Pool.stats pool).decisions))

(* {1 MUSTER_STATS} *)

let child ?(env = [ ("MUSTER_STATS", "1") ]) ?interrupt name =
  Child.run ~env ?interrupt "child/child.exe" [ name ]

let says (child : Child.t) text times =
  check_int text times (count_substring child.errors ~sub:text)

let prints_at_the_end () =
  let child = child "works-twice" in
  Child.check_success child;
  says child "Muster: pool " 2;
  says child "Muster: pool \"default\"" 1;
  says child "\n  tasks " 2;
  says child "(a caller)" 2

let prints_nothing () =
  let check env =
    let child = child ~env "works-twice" in
    Child.check_success child;
    Alcotest.(check string) "nothing" "" child.errors
  in
  List.iter check [ [ ("MUSTER_STATS", "") ]; [ ("MUSTER_STATS", "0") ] ]

let refuses_other_values () =
  let child = child ~env:[ ("MUSTER_STATS", "yes") ] "works-twice" in
  Child.check_success child;
  Alcotest.(check string)
    "one line" "Muster: MUSTER_STATS=\"yes\" is ignored: it is not 1 or 0\n" child.errors

(* The number of the line of hangs.ml that has this remark. *)
let line_of =
  let source = lazy (In_channel.with_open_text "child/hangs.ml" In_channel.input_all) in
  fun remark ->
    let lines = String.split_on_char '\n' (Lazy.force source) in
    let rec find i = function
      | [] -> failf "hangs.ml has no line that says %s" remark
      | line :: rest -> if contains line ~sub:("(* " ^ remark ^ " *)") then i else find (i + 1) rest
    in
    Printf.sprintf "child/hangs.ml:%d" (find 1 lines)

let ends_by_quit (child : Child.t) =
  check_bool "ends as SIGQUIT ends it" true (child.status = WSIGNALED Sys.sigquit);
  check_bool "soon" true (child.after_signal < 10.)

let waits_for child ~started ~what ~at =
  let is_it line =
    contains line ~sub:("started at test/" ^ line_of started)
    && contains line ~sub:("waits for " ^ what)
    && contains line ~sub:("at test/" ^ line_of at)
  in
  let lines = String.split_on_char '\n' child.Child.errors in
  if not (List.exists is_it lines) then
    failf "nothing says that %s waits for %s: %s" started what child.errors

let reports_who_waits () =
  let child = child ~interrupt:Sys.sigquit "hangs" in
  ends_by_quit child;
  waits_for child ~started:"the first of two" ~what:"Mutex.lock" ~at:"waits for a mutex";
  waits_for child ~started:"the second of two" ~what:"Mutex.lock" ~at:"waits for a mutex";
  waits_for child ~started:"an awaiter" ~what:"Task.await" ~at:"awaits";
  waits_for child ~started:"a receiver" ~what:"Chan.recv" ~at:"receives";
  waits_for child ~started:"waits at a latch" ~what:"Latch.await" ~at:"at a latch";
  waits_for child ~started:"opens a scope" ~what:"the end of a scope" ~at:"a scope's end";
  waits_for child ~started:"in a scope" ~what:"Chan.recv" ~at:"receives";
  says child "waits for Mutex.lock, held by a task of pool \"default\" started at test/child" 2;
  let of_the_first = " of the task started at test/" ^ line_of "the first of two" in
  says child ("waits for Task.await" ^ of_the_first) 1;
  says child "in no pool waits for Chan.recv at test/child" 1;
  says child "waits for Mutex.lock, held by thread " 1;
  says child "a task of pool \"default\" waits for Chan.recv" 1;
  says child ",," 0;
  says child "a caller of pool \"default\" waits for Task.await" 1;
  says child "Muster: 12 waits\n" 1;
  says child "Muster: pool \"default\"" 1

let reports_beside_a_stuck_program () =
  let child = child ~interrupt:Sys.sigquit "hangs-in-join" in
  ends_by_quit child;
  says child "a caller of pool \"default\" waits for Chan.recv" 1

let tells_no_place_of_another () =
  let child = child ~interrupt:Sys.sigquit "hangs-in-tail" in
  ends_by_quit child;
  let started = "started at test/" ^ line_of "in tail position" in
  says child (started ^ " waits for Latch.await, for") 1

(* Without MUSTER_STATS, which starts the clocks at once. *)
let counts_from_the_first () = Child.check_success (child ~env:[] "counts-from-the-first")

let leaves_handlers_alone () =
  let child = child ~interrupt:Sys.sigquit "handles-quit" in
  Child.check_success child;
  says child "Muster: 1 wait\n" 0

let without_the_variable () =
  let child = child ~env:[] ~interrupt:Sys.sigquit "hangs" in
  ends_by_quit child;
  Alcotest.(check string) "nothing" "" child.errors

(* The child looks itself. *)
let nothing_grows () = Child.check_success (child "waits-often")

let () =
  Alcotest.run "stats"
    [
      ("text", [ case "each figure" text ]);
      ("difference", [ case "each figure" difference ]);
      ( "figures",
        [
          case "sleeps are counted" (on_each_count counts_sleeps);
          case "each by its name" (on_each_count names_each_wait);
          case "busy and idle" times;
          case "from the first on" counts_from_the_first;
          case "decisions of each kind" keeps_each_kind;
          case "decisions of each pool" keeps_its_own;
        ] );
      ( "MUSTER_STATS",
        [
          case "at the end" prints_at_the_end;
          case "nothing without it" prints_nothing;
          case "other values" refuses_other_values;
          case "SIGQUIT" reports_who_waits;
          case "SIGQUIT, stuck elsewhere" reports_beside_a_stuck_program;
          case "SIGQUIT, a call in tail position" tells_no_place_of_another;
          case "a handler of the program's" leaves_handlers_alone;
          case "SIGQUIT without it" without_the_variable;
          case "nothing grows" nothing_grows;
        ] );
    ]
