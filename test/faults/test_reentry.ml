(* Code that runs in the midst of the library's: signal handlers, finalisers, other systhreads of
   the same domain, at any allocation. It may call the library. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

let full = Array.mem "--full" Sys.argv
let seconds = if full then 20. else 0.7

(* Calls [f] at about one in [n] of the words that the calling domain allocates: within pushes,
   claims and wake-ups too. Not within itself. In OCaml 5.4 domains that start meanwhile crash in
   caml_memprof_sample_young; so this is for a process that can have one domain only. *)
let at_allocations n f work =
  let call _ =
    f ();
    None
  in
  let tracker = { Gc.Memprof.null_tracker with alloc_minor = call; alloc_major = call } in
  match Gc.Memprof.start ~sampling_rate:(1. /. float n) ~callstack_size:0 tracker with
  | profile ->
    Fun.protect work ~finally:(fun () ->
        Gc.Memprof.stop ();
        Gc.Memprof.discard profile)
  | exception Failure _ -> work () (* OCaml 5.2 has none *)

(* The calls that interrupting code makes. *)
let calls = Atomic.make 0
let busy = Atomic.make false

let use_library () =
  (* One at a time: what interrupts the interruption would never end. *)
  if not (Atomic.exchange busy true) then (
    Fun.protect ~finally:(fun () -> Atomic.set busy false) @@ fun () ->
    Atomic.incr calls;
    check_int "both" 5 (fib 5);
    check_int "async" 3 (Task.await (Task.async (fun () -> 3)));
    ignore (Task.async (fun () -> Atomic.incr calls));
    Muster.parallel_for ~grain:1 ~start:0 ~finish:3 ignore;
    check_int "scope" 8 (Task.scope (fun s -> Task.await (Task.fork s (fun () -> fib 6)))))

let ran = Atomic.make 0

(* Every way of handing out work, with its result checked. *)
let work pool =
  let task () = Atomic.incr ran in
  let stop = Unix.gettimeofday () +. (seconds /. 2.) in
  let sent = ref 0 in
  while Unix.gettimeofday () < stop do
    let before = Atomic.get ran in
    Pool.run pool (fun () ->
        check_int "fib" 610 (fib 15);
        let tasks = List.init 50 (fun _ -> Task.async task) in
        List.iter Task.await (List.rev tasks);
        Task.scope (fun s ->
            for _ = 1 to 50 do
              ignore (Task.fork s task)
            done);
        sent := !sent + 100);
    check_int "ran once each" (before + 100) (Atomic.get ran);
    let sum = Muster.parallel_reduce ~start:1 ~finish:1000 ~combine:( + ) ~init:0 Fun.id in
    check_int "sum" 500_500 sum;
    let hit = counters 40 in
    Muster.Team.for_n_dynamic pool 40 (fun ~worker:_ i -> Atomic.incr hit.(i));
    each_once "team" hit
  done

let called name = check_bool (name ^ " was called") true (Atomic.exchange calls 0 > 0)

let at_any_allocation pool =
  at_allocations 200 use_library (fun () -> work pool);
  called "the library";
  is_usable pool

(* {2 Signals} *)

let with_timer handler f =
  let before = Sys.signal Sys.sigalrm (Signal_handle (fun _ -> handler ())) in
  let every it_interval = { Unix.it_interval; it_value = it_interval } in
  ignore (Unix.setitimer ITIMER_REAL (every 0.002));
  Fun.protect f ~finally:(fun () ->
      ignore (Unix.setitimer ITIMER_REAL (every 0.));
      Sys.set_signal Sys.sigalrm before)

let in_a_signal_handler pool =
  with_timer use_library (fun () -> work pool);
  called "the handler";
  is_usable pool

(* The caller sleeps when the signal comes, and the handler needs the pool. *)
let in_a_handler_while_waiting pool =
  with_timer use_library (fun () ->
      Pool.run pool (fun () ->
          let burn () = burn (seconds /. 4.) in
          ignore (Muster.both burn burn);
          Task.await (Task.async burn)));
  called "the handler";
  is_usable pool

(* {2 In what is cancelled} *)

let raises exn f = match f () with () -> false | exception e -> e = exn

(* Code in a handler or a finaliser belongs to the task that it interrupts. *)
let told_in ~interrupt pool =
  let limit = Unix.gettimeofday () +. 20. in
  let until_told s =
    Task.cancel_scope s;
    while Unix.gettimeofday () < limit do
      interrupt ();
      ignore (Sys.opaque_identity (List.init 100 ref))
    done
  in
  Pool.run pool (fun () ->
      check_bool "told" true (raises Task.Cancelled (fun () -> Task.scope until_told)));
  is_usable pool

let handler_when_cancelled pool =
  let before = Sys.signal Sys.sigusr1 (Signal_handle (fun _ -> Task.check ())) in
  Fun.protect
    (fun () -> told_in pool ~interrupt:(fun () -> Unix.kill (Unix.getpid ()) Sys.sigusr1))
    ~finally:(fun () -> Sys.set_signal Sys.sigusr1 before)

let finaliser_when_cancelled pool =
  told_in pool ~interrupt:(fun () ->
      Gc.finalise (fun _ -> Task.check ()) (ref (Atomic.get ran));
      Gc.full_major ())

(* A thread that was started in a handler has inherited what that blocks, and is none. *)
let thread_of_a_handler pool =
  let thread = Atomic.make None and through = ref false in
  let look () =
    let stop s =
      call_through_c (fun () ->
          Task.cancel_scope s;
          Task.check ();
          through := true)
    in
    check_bool "told" true
      (raises Task.Cancelled (fun () -> Pool.run pool (fun () -> Task.scope stop)))
  in
  let start _ = Atomic.set thread (Some (Thread.create look ())) in
  let before = Sys.signal Sys.sigusr1 (Signal_handle start) in
  Unix.kill (Unix.getpid ()) Sys.sigusr1;
  wait_until (fun () -> Atomic.get thread <> None);
  Thread.join (Option.get (Atomic.get thread));
  Sys.set_signal Sys.sigusr1 before;
  check_bool "told below C" false !through;
  is_usable pool

(* What is not a handler's, though it runs on top of one that waits. In a pool of one: a resident could
   run the handler on top of what that waits for. *)
let on_top_of_a_handler pool =
  let open Muster in
  let never = Latch.create 1 and over = Latch.create 1 and through = ref false in
  let wait_below_c () = call_through_c (fun () -> Latch.await never) in
  Pool.run pool (fun () ->
      let task =
        Task.async (fun () -> Fun.protect wait_below_c ~finally:(fun () -> Latch.count_down over))
      in
      (* The signal is for the caller. *)
      let cancel () =
        Unix.sleepf 0.05;
        Task.cancel task
      in
      ignore (Thread.sigmask SIG_BLOCK [ Sys.sigusr1 ]);
      let thread = Thread.create cancel () in
      ignore (Thread.sigmask SIG_UNBLOCK [ Sys.sigusr1 ]);
      let handle _ =
        Latch.await over;
        through := true
      in
      let before = Sys.signal Sys.sigusr1 (Signal_handle handle) in
      Unix.kill (Unix.getpid ()) Sys.sigusr1;
      wait_until (fun () -> !through);
      Sys.set_signal Sys.sigusr1 before;
      Thread.join thread;
      check_bool "told" true (raises Task.Cancelled (fun () -> Task.await task)));
  is_usable pool

(* {2 Collections} *)

let in_finalisers pool =
  let finalised = Atomic.make 0 in
  let drop () =
    Gc.finalise
      (fun _ ->
        Atomic.incr finalised;
        use_library ())
      (ref (Atomic.get ran));
    Gc.finalise_last use_library (ref (Atomic.get ran))
  in
  let stop = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < stop do
    Pool.run pool (fun () ->
        let tasks = List.init 20 (fun _ -> Task.async drop) in
        List.iter Task.await tasks;
        check_int "fib" 55 (fib 10));
    Gc.full_major ()
  done;
  check_bool "finalised" true (Atomic.get finalised > 0);
  called "the finaliser";
  is_usable pool

(* Finalisers of a domain that has ended pass to one that begins, and may be called before it has any
   domain-local storage. *)
let in_domains_that_begin pool =
  let finalised = Atomic.make 0 and key = Domain.DLS.new_key (fun () -> 7) in
  let finalise _ =
    check_int "storage" 7 (Domain.DLS.get key);
    if Atomic.fetch_and_add finalised 1 land 7 = 0 then use_library ()
  in
  let leave () =
    for i = 1 to 20 do
      Gc.finalise finalise (ref (i + Atomic.get ran))
    done
  in
  let stop = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < stop do
    Domain.join (Domain.spawn leave);
    for _ = 1 to 10 do
      (* Something to collect, so that each of them takes a slice. *)
      ignore (Sys.opaque_identity (Array.make 50_000 0));
      List.iter Domain.join (List.init 3 (fun _ -> Domain.spawn ignore))
    done
  done;
  check_bool "finalised" true (Atomic.get finalised > 0);
  called "the finaliser";
  is_usable pool

let collected how pool =
  let stop = Unix.gettimeofday () +. seconds in
  let rec tree n =
    if n = 0 then []
    else
      let l, r = Muster.both (fun () -> tree (n - 1)) (fun () -> tree (n - 1)) in
      n :: (l @ r)
  in
  let size = List.length (tree 8) in
  while Unix.gettimeofday () < stop do
    Pool.run pool (fun () ->
        let trees = List.init 4 (fun _ -> Task.async (fun () -> tree 8)) in
        let task = Task.async how in
        List.iter (fun t -> check_int "tree" size (List.length (Task.await t))) trees;
        Task.await task);
    how ()
  done;
  is_usable pool

(* {2 Threads of one domain} *)

(* The tick's yield, at any allocation rather than every 50 ms: all but one of the threads find a
   worker that is not theirs. *)
let yielding pool =
  let switches = Atomic.make 0 in
  let yield () =
    Atomic.incr switches;
    Thread.yield ()
  in
  at_allocations 500 yield (fun () ->
      ignore
        (in_threads 4 (fun i ->
             let stop = Unix.gettimeofday () +. seconds and sum = ref 0 and n = ref 0 in
             while Unix.gettimeofday () < stop do
               Pool.run pool (fun () ->
                   let tasks = List.init 20 (fun k -> Task.async (fun () -> k + i)) in
                   sum := List.fold_left (fun sum t -> sum + Task.await t) !sum tasks;
                   check_int "fib" 55 (fib 10));
               incr n
             done;
             check_int "sum" (!n * (190 + (20 * i))) !sum)));
  check_bool "switched" true (Atomic.get switches > 0);
  is_usable pool

(* The real tick: threads that only compute, beside one that pushes. *)
let ticking pool =
  let stop = Unix.gettimeofday () +. seconds in
  let compute () =
    while Unix.gettimeofday () < stop do
      ignore (Sys.opaque_identity (ref 0))
    done
  in
  ignore
    (in_threads 3 (fun i ->
         if i > 0 then compute ()
         else
           Pool.run pool (fun () ->
               while Unix.gettimeofday () < stop do
                 let tasks = List.init 1000 (fun k -> Task.async (fun () -> k)) in
                 check_int "sum" 499_500 (List.fold_left (fun sum t -> sum + Task.await t) 0 tasks)
               done)));
  is_usable pool

let without_domains () =
  with_domains 1 at_any_allocation;
  with_domains 1 yielding

let () =
  if Array.mem "--alone" Sys.argv then (
    without_domains ();
    exit 0)

let () =
  let alone () =
    let env = [ ("OCAMLRUNPARAM", "d=1") ] in
    Child.check_success (Child.run ~env ~limit:100. "test_reentry.exe" [ "--alone" ])
  in
  let each name f = case ~seconds:(if full then 600 else 120) name (on_pools [ 1; 2; 3 ] f) in
  let argv = Array.of_list (List.filter (( <> ) "--full") (Array.to_list Sys.argv)) in
  Alcotest.run ~argv "reentry"
    [
      ("anywhere", [ case ~seconds:120 "finalisers and handlers at any allocation" alone ]);
      ( "signals",
        [
          each "a signal handler calls the library" in_a_signal_handler;
          each "a signal handler calls the library while its thread waits"
            in_a_handler_while_waiting;
          each "a signal handler calls the library in a cancelled task" handler_when_cancelled;
          each "a thread that a handler started waits below a C callback" thread_of_a_handler;
          case "a task waits below a C callback on top of a handler"
            (on_pools [ 1 ] on_top_of_a_handler);
        ] );
      ( "collections",
        [
          each "finalisers call the library" in_finalisers;
          each "finalisers call the library in domains that begin" in_domains_that_begin;
          each "finalisers call the library in a cancelled task" finaliser_when_cancelled;
          each "calls beside Gc.compact" (collected Gc.compact);
          each "calls beside Gc.full_major" (collected Gc.full_major);
        ] );
      ("threads", [ each "threads take turns in the midst of calls" ticking ]);
    ]
