(* What goes wrong, or comes from where nobody expects it: the pool stays usable, and says what
   happened. test_exceptions, test_interrupts, test_uncaught, test_await and test_cancel have the
   rest. [--full] runs the long cases in full length. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Latch = Muster.Latch

exception Boom of int

let full = Array.mem "--full" Sys.argv
let scaled short long = if full then long else short

let child ?env ?limit ?interrupt name =
  let limit = Option.value limit ~default:60. in
  Child.run ?env ~limit ?interrupt "../child/child.exe" [ name ]

let says text (child : Child.t) =
  if not (contains child.output ~sub:text) then
    failf "no %S in %S, %S" text child.output child.errors

let ends_with status (child : Child.t) =
  if child.status <> status then failf "ended otherwise: %s%s" child.output child.errors

(* {2 Ctrl-C} *)

(* A shell's way of telling, too: a program that a signal has ended. *)
let killed : Unix.process_status = WSIGNALED Sys.sigint

let promptly (child : Child.t) =
  if child.after_signal > 10. then failf "ended %.1f s after the signal" child.after_signal

let break_beside_8 () =
  for _ = 1 to scaled 3 50 do
    let child = child ~interrupt:Sys.sigint "break-8" in
    Child.check_success child;
    says "break" child;
    promptly child
  done

let close_beside_endless () =
  let child = child ~interrupt:Sys.sigint "close-beside-endless" in
  ends_with killed child;
  promptly child

let close_catching_break () =
  for _ = 1 to scaled 3 50 do
    let child = child ~interrupt:Sys.sigint "close-catching-break" in
    says "was struck" child;
    promptly child
  done

(* {2 Ends} *)

let exits_from where () =
  let exits name =
    let child = child (name ^ where) in
    ends_with (WEXITED 3) child;
    check_int "at_exit" 1 (count_substring child.output ~sub:"at exit");
    if child.seconds > 20. then failf "ended after %.1f s" child.seconds
  in
  exits "exit-in-";
  exits "exit-and-close-in-"

let succeeds ?(says_ = "") name () =
  let child = child name in
  Child.check_success child;
  says says_ child

(* {2 Functions of the user's that raise} *)

let in_a_hook pool =
  let reports = Atomic.make 0 and ran = Atomic.make 0 in
  Task.set_uncaught_handler (fun exn _ -> if exn = Boom 1 then Atomic.incr reports);
  let fail () = raise (Boom 1) and run () = Atomic.incr ran in
  Pool.run pool (fun () ->
      check_raises "scope" Task.Cancelled (fun () ->
          Task.scope (fun s ->
              List.iter Task.on_cancel [ run; fail; run ];
              Task.cancel_scope s;
              Task.check ())));
  check_int "hooks that ran" 2 (Atomic.get ran);
  check_int "reported" 1 (Atomic.get reports);
  is_usable pool

(* Its tasks wait for what never comes: the scope ends only if it cancels them. Their ends take a while,
   which shows whether it waits. The last ones may never begin. *)
let in_the_body_of_a_scope pool =
  let begun = Atomic.make 0 and ended = Atomic.make 0 in
  let all_begun = Latch.create 5 and never = Latch.create 1 in
  let work note () =
    Atomic.incr begun;
    note ();
    Fun.protect
      (fun () -> Latch.await never)
      ~finally:(fun () ->
        burn 0.01;
        Atomic.incr ended)
  in
  let body s =
    let fork note = ignore (Task.fork s (work note)) in
    for _ = 1 to 5 do
      fork (fun () -> Latch.count_down all_begun)
    done;
    Latch.await all_begun;
    for _ = 1 to 5 do
      fork ignore
    done;
    raise (Boom 2)
  in
  Pool.run pool (fun () ->
      check_raises "scope" (Boom 2) (fun () -> Task.scope body);
      let ended = Atomic.get ended in
      check_int "ended, of those that began" (Atomic.get begun) ended;
      if ended < 5 then failf "only %d began" ended);
  is_usable pool

(* Every call of the function that combines may be the one that raises. *)
let in_combine pool =
  for k = 1 to 40 do
    let calls = Atomic.make 0 in
    let combine a b = if Atomic.fetch_and_add calls 1 = k then raise (Boom k) else a + b in
    let reduce () = Muster.parallel_reduce ~grain:2 ~start:1 ~finish:100 ~combine ~init:0 Fun.id in
    check_raises "reduce" (Boom k) (fun () -> Pool.run pool reduce);
    Atomic.set calls 0;
    check_raises "scan" (Boom k) (fun () ->
        Pool.run pool (fun () -> Muster.parallel_scan combine (Array.make 3000 1)))
  done;
  is_usable pool

let in_the_handler pool =
  let calls = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ ->
      Atomic.incr calls;
      raise (Boom 3));
  (* The last of the calls is when their pool is closed. *)
  with_domains (Pool.size pool) (fun pool ->
      Pool.run pool (fun () ->
          for i = 1 to 10 do
            ignore (Task.async (fun () -> raise (Boom i)))
          done);
      Gc.full_major ();
      is_usable pool);
  check_int "calls" 10 (Atomic.get calls);
  is_usable pool

(* {2 Stack and memory} *)

let out_of_memory pool =
  let fail () = ignore (Sys.opaque_identity (Bytes.create Sys.max_string_length)) in
  let raises name f = check_raises name Out_of_memory (fun () -> Pool.run pool f) in
  let add a b =
    if a + b > 100 then fail ();
    a + b
  in
  let fail_late i = if i > 50 then fail () in
  raises "reduce" (fun () ->
      ignore (Muster.parallel_reduce ~grain:2 ~start:1 ~finish:99 ~combine:add ~init:0 Fun.id));
  raises "scan" (fun () -> ignore (Muster.parallel_scan add (Array.make 3000 1)));
  raises "find" (fun () ->
      ignore
        (Muster.parallel_find ~grain:2 ~start:1 ~finish:99 (fun i ->
             fail_late i;
             None)));
  raises "scope" (fun () ->
      Task.scope (fun s ->
          ignore (Task.fork s ignore);
          fail ()));
  raises "all" (fun () -> ignore (Task.all [ ignore; fail; ignore ]));
  raises "first" (fun () -> Task.first [ fail; fail ]);
  let computed = Muster.Lazy.from_fun fail and calls = Atomic.make 0 in
  for _ = 1 to 2 do
    raises "lazy" (fun () -> Muster.Lazy.force computed)
  done;
  (* No sign that there is no thread for the call. *)
  raises "blocking" (fun () ->
      Task.blocking (fun () ->
          Atomic.incr calls;
          fail ()));
  check_int "blocking calls" 1 (Atomic.get calls);
  is_usable pool

let with_stacks words f =
  let old = Gc.get () in
  Gc.set { old with stack_limit = words };
  (* Each task that an exception goes through has a copy of its backtrace. *)
  let recording = Printexc.backtrace_status () in
  Printexc.record_backtrace false;
  Fun.protect f ~finally:(fun () ->
      Gc.set old;
      Printexc.record_backtrace recording)

let rec eat n = if n = 0 then 0 else 1 + eat (n - 1)
let depth = 1_000_000

let rec deep_left n =
  if n = 0 then 0
  else
    let a, b = Muster.both (fun () -> deep_left (n - 1)) (fun () -> 1) in
    a + b

let rec deep_right n =
  if n = 0 then 0
  else
    let a, b = Muster.both (fun () -> 1) (fun () -> deep_right (n - 1)) in
    a + b

let recursion pool =
  let check name f = check_int name depth (f ()) in
  let both_ways name run =
    check (name ^ ", left") (fun () -> run (fun () -> deep_left depth));
    check (name ^ ", right") (fun () -> run (fun () -> deep_right depth))
  in
  both_ways "run" (Pool.run pool);
  both_ways "async" (fun f -> Pool.run pool (fun () -> Task.await (Task.async f)));
  both_ways "domain" (fun f -> in_domain (fun () -> Pool.run pool f));
  both_ways "scope" (fun f ->
      Pool.run pool (fun () -> Task.scope (fun s -> Task.await (Task.fork s f))));
  is_usable pool

let rec endless n =
  let a, b = Muster.both (fun () -> endless (n + 1)) (fun () -> n) in
  a + b

(* Where it overflows between the two calls it leaves a task behind, which runs in its turn. *)
let rec endless_await ~over n =
  if Atomic.get over then n else 1 + Task.await (Task.async (fun () -> endless_await ~over (n + 1)))

(* Two steps in each step: a thief may begin something at each level, and each of its stacks has to
   overflow before the fork ends that it was taken from. *)
let rec endless_both n =
  let a, b = Muster.both (fun () -> endless_both (n + 1)) (fun () -> endless_both (n + 1)) in
  a + b

let rec endless_loop i = Muster.parallel_for ~grain:1 ~start:i ~finish:(i + 1) endless_loop

let rec endless_reduce i =
  Muster.parallel_reduce ~grain:1 ~start:i ~finish:(i + 1) ~combine:( + ) ~init:0 endless_reduce

let rec endless_list i =
  List.fold_left ( + ) 0 (Muster.Parallel.List.map endless_list [ i; i + 1 ])

let overflow_at_depth pool =
  let overflows name f =
    check_raises name Stack_overflow (fun () -> Pool.run pool f);
    check_raises (name ^ ", in a task") Stack_overflow (fun () ->
        Pool.run pool (fun () -> Task.await (Task.async f)))
  in
  with_stacks (scaled 200_000 600_000) @@ fun () ->
  overflows "both" (fun () -> endless 0);
  let over = Atomic.make false in
  Fun.protect
    (fun () -> overflows "await" (fun () -> endless_await ~over 0))
    ~finally:(fun () -> Atomic.set over true);
  overflows "both, twice" (fun () -> endless_both 0);
  overflows "for" (fun () ->
      endless_loop 0;
      0);
  overflows "reduce" (fun () -> endless_reduce 0);
  overflows "list" (fun () -> endless_list 0);
  is_usable pool

(* The last frames before the limit, one after the other: wherever in the library the stack ends,
   no task is left behind and nothing hangs. *)
let overflow_everywhere pool =
  let started = Atomic.make 0 and ended = Atomic.make 0 in
  (* It calls nothing, so it has no stack to overflow itself. *)
  let g () =
    Atomic.incr started;
    for _ = 1 to 200 do
      Sys.opaque_identity ()
    done;
    Atomic.incr ended;
    1
  in
  let calls =
    [
      (fun () -> fst (Muster.both (fun () -> eat 8) g));
      (fun () -> snd (Muster.both g (fun () -> eat 8)));
      (fun () -> Task.await (Task.async g));
      (fun () -> Task.scope (fun s -> Task.await (Task.fork s g)));
      (fun () -> List.length (Task.all [ g; g ]));
      (fun () ->
        Muster.parallel_for ~grain:1 ~start:0 ~finish:3 (fun _ -> ignore (g ()));
        0);
    ]
  in
  let check k call =
    Pool.run pool (fun () ->
        let overflowed = Depth.overflows k call in
        let before = Atomic.get started in
        check_int "all that began have ended" before (Atomic.get ended);
        if overflowed then begin
          ignore (Task.await (Task.async (fun () -> fib 5)));
          check_int "none begins later" before (Atomic.get started)
        end)
  in
  with_stacks 4_000 @@ fun () ->
  let limit = Depth.limit pool in
  List.iter
    (fun call ->
      for k = limit - 150 to limit do
        check k call
      done)
    calls;
  is_usable pool

(* Words on the heap for each of [n] tasks that [queue] starts and nobody has begun. *)
let words_per_task n queue =
  let live () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let before = live () in
  queue n;
  float (live () - before) /. float n

let many = scaled 1_000_000 10_000_000
let most = 20.

let check_words name words =
  Printf.printf "%s: %.1f words a task\n%!" name words;
  if words > most then failf "%s: %.1f words a task" name words

(* Every count of tasks up to the next power of 2 has room in a ring that long: the worst is
   one above. *)
let counts () = if full then [ many ] else [ many; (1 lsl 19) + 1 ]

(* On a fresh pool each, or the second would find the first one's ring. *)
let queued_inside () =
  let ran = Atomic.make 0 in
  let task () = Atomic.incr ran in
  let check name start n =
    Atomic.set ran 0;
    with_domains 1 (fun pool ->
        Pool.run pool (fun () ->
            Task.scope (fun s ->
                let queue n =
                  for _ = 1 to n do
                    start s
                  done
                in
                check_words name (words_per_task n queue))));
    check_int "ran" n (Atomic.get ran)
  in
  let async _ = ignore (Task.async task) and fork s = ignore (Task.fork s task) in
  List.iter
    (fun n ->
      check "async" async n;
      check "fork" fork n)
    (counts ())

(* The only resident is held up. *)
let queue_outside pool n =
  let go = Atomic.make false and held = Atomic.make false and ran = Atomic.make 0 in
  let task () = Atomic.incr ran in
  Pool.run pool (fun () ->
      Task.scope (fun s ->
          ignore
            (Task.fork s (fun () ->
                 Atomic.set held true;
                 wait_until (fun () -> Atomic.get go)));
          wait_until (fun () -> Atomic.get held);
          let queue n =
            for _ = 1 to n do
              ignore (Task.fork s task)
            done
          in
          let words = in_domain (fun () -> words_per_task n queue) in
          Atomic.set go true;
          check_words "from outside" words));
  check_int "ran" n (Atomic.get ran)

let queued_outside () = with_domains 2 @@ fun pool -> List.iter (queue_outside pool) (counts ())

(* {2 A long sequence} *)

(* The heap as it is, garbage included: what grows with the sequence would show. *)
let long_pipeline pool =
  let n = scaled 300_000 10_000_000 and most = ref 0 in
  let heap () = (Gc.quick_stat ()).heap_words in
  let look i = if i land 0xFFFF = 0 then most := max !most (heap ()) in
  let take sum i =
    look i;
    sum + i
  in
  Gc.compact ();
  let before = heap () and elements = Seq.init n Fun.id in
  Pool.run pool (fun () ->
      let sum = Task.with_map ~window:64 succ elements (Seq.fold_left take 0) in
      check_int "with_map" (n * (n + 1) / 2) sum;
      let sum = Atomic.make 0 in
      Task.iter_seq ~max:8 (fun i -> ignore (Atomic.fetch_and_add sum i)) elements;
      check_int "iter_seq" (n * (n - 1) / 2) (Atomic.get sum));
  let grown = max !most (heap ()) - before in
  Printf.printf "%d words more\n%!" grown;
  if grown > 2_000_000 then failf "%d words more" grown

(* Those who send must not keep those who take from ever succeeding. *)
let drained_while_filled () =
  with_domains 3 @@ fun pool ->
  let n = scaled 400_000 4_000_000 in
  let go = Atomic.make false and ran = Atomic.make 0 and ran_by_then = ref 0 in
  let task () = Atomic.incr ran in
  Pool.run pool (fun () ->
      Task.scope (fun s ->
          let hold () = wait_until (fun () -> Atomic.get go) in
          for _ = 1 to 2 do
            ignore (Task.fork s hold)
          done;
          in_domain (fun () ->
              for _ = 1 to n do
                ignore (Task.fork s task)
              done;
              Atomic.set go true;
              let sent = ref 0 in
              while Atomic.get ran < n / 2 do
                incr sent;
                ignore (Task.fork s task)
              done;
              ran_by_then := !sent)));
  check_int "ran" (n + !ran_by_then) (Atomic.get ran)

(* {2 Pools by the thousand} *)

let use i =
  let pool = Pool.create ~domains:(1 + (i mod 4)) ~oversubscribe:true () in
  check_int "fib" 55 (Pool.run pool (fun () -> fib 10));
  Muster.Team.broadcast pool ignore;
  Pool.run pool (fun () -> ignore (Task.async (fun () -> fib 5)));
  Pool.close pool

type footprint = { threads : int; files : int; heap : int; resident_kb : int }

let footprint () =
  Gc.compact ();
  {
    threads = process_status "Threads";
    files = descriptors ();
    heap = (Gc.stat ()).live_words;
    resident_kb = process_status "VmRSS";
  }

let pools_in_a_row () =
  if Sys.file_exists "/proc/self/fd" then begin
    let n = scaled 300 10_000 in
    for i = 1 to n / 5 do
      use i
    done;
    let before = footprint () in
    for i = 1 to n do
      use i
    done;
    (* The runtime's threads end a moment after their domains. *)
    wait_until (fun () -> process_status "Threads" <= before.threads);
    let after = footprint () in
    check_int "files" before.files after.files;
    if after.heap > before.heap + 5_000 then failf "%d live words, before %d" after.heap before.heap;
    if after.resident_kb > before.resident_kb + 20_000 then
      failf "%d kB resident, before %d" after.resident_kb before.resident_kb
  end

(* OCaml 5.4 loses the stacks of fibers that a domain keeps when it ends: here of 300 tasks, 4 KB
   each. In one case two of three domains end with their pool, in the other a caller's domain does. *)
let use_stacks domains =
  let rec below n f = if n = 0 then f () else 1 + below (n - 1) f in
  with_domains domains @@ fun pool ->
  Pool.run pool @@ fun () ->
  let gate = Muster.Latch.create 1 in
  let wait () =
    below 100 (fun () ->
        Muster.Latch.await gate;
        0)
  in
  (* An owner begins with its newest. *)
  let last =
    Task.async (fun () ->
        burn 0.01;
        Muster.Latch.count_down gate)
  in
  let tasks = List.init 300 (fun _ -> Task.async wait) in
  (* This one waits on the caller's stack, where others begin meanwhile. *)
  List.iter (fun task -> ignore (Task.await task)) tasks;
  Task.await last

let stacks_are_freed use ~times () =
  if Sys.file_exists "/proc/self/status" then begin
    for _ = 1 to 20 do
      use ()
    done;
    let before = (footprint ()).resident_kb in
    for _ = 1 to times do
      use ()
    done;
    let grown = (footprint ()).resident_kb - before in
    if grown > 25_000 then failf "%d kB more" grown
  end

let in_a_pool () = use_stacks 3
let in_a_callers_domain () = Domain.join (Domain.spawn (fun () -> use_stacks 1))

let () =
  let each name f = case ~seconds:(scaled 120 600) name (on_pools [ 1; 2; 3 ] f) in
  let once name f = case ~seconds:(scaled 120 600) name f in
  let argv = Array.of_list (List.filter (( <> ) "--full") (Array.to_list Sys.argv)) in
  Alcotest.run ~argv "faults"
    [
      ( "Ctrl-C",
        [
          once "Ctrl-C while 8 workers are busy" break_beside_8;
          once "Ctrl-C while close waits for an endless task ends the program" close_beside_endless;
          once "Ctrl-C while close waits is caught" close_catching_break;
        ] );
      ( "the program ends",
        [
          once "exit in a task" (exits_from "task");
          once "exit in a pool's domain" (exits_from "resident");
          once "exit in a loop" (exits_from "loop");
          once "exit in a team" (exits_from "team");
          once "exit in a scope" (exits_from "scope");
          once "exit in a blocking call" (exits_from "blocking");
          once "exit in the function of Pool.run" (exits_from "run");
          once "the main function returns beside endless tasks"
            (succeeds ~says_:"returns" "main-returns");
          once "exit in a pool beside endless tasks" (succeeds ~says_:"returns" "main-exits");
          once "functions of at_exit use pools" (succeeds ~says_:"all work" "at-exit-uses-pools");
        ] );
      ( "fork",
        [
          once "fork after a pool of one works"
            (succeeds ~says_:"the child works" "fork-after-one-worker");
          once "fork after other pools is refused by the runtime"
            (succeeds ~says_:"Unix.fork may not be called" "fork-after-close");
          once "create_process after a pool works" (succeeds ~says_:"spawns" "spawn-after-close");
        ] );
      ( "domains",
        [
          once "a pool works where all domains are taken"
            (succeeds ~says_:"127 taken, 1 workers" "all-taken");
        ] );
      ( "raises",
        [
          each "a hook of on_cancel raises" in_a_hook;
          each "the code of a scope raises" in_the_body_of_a_scope;
          each "the function combine of a reduction raises" in_combine;
          each "the handler of set_uncaught_handler raises" in_the_handler;
          each "memory runs out" out_of_memory;
        ] );
      ( "stack",
        [
          each "forks 10^6 deep" recursion;
          each "the stack overflows at each depth" overflow_at_depth;
          each "the stack overflows in every call" overflow_everywhere;
        ] );
      ( "queues",
        [
          once "a task queues many tasks" queued_inside;
          once "a thread queues many tasks" queued_outside;
          once "a long pipeline" (fun () -> with_domains 2 long_pipeline);
          once "a queue is drained while it fills" drained_while_filled;
        ] );
      ( "pools",
        [
          once "many pools in a row" pools_in_a_row;
          once "stacks are freed" (stacks_are_freed in_a_pool ~times:60);
          once "stacks of a caller's domain are freed"
            (stacks_are_freed in_a_callers_domain ~times:160);
        ] );
    ]
