(* A task that nobody awaits still runs, and its exception is reported once. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task

exception Boom of int

let domain_counts = [ 1; 2; 3 ]

let with_reports f =
  let reports = Atomic.make [] in
  let rec report e backtrace =
    let old = Atomic.get reports in
    if not (Atomic.compare_and_set reports old (e :: old)) then report e backtrace
  in
  Task.set_uncaught_handler report;
  f ();
  Gc.full_major ();
  Gc.full_major ();
  Atomic.get reports

let unawaited_runs () =
  let check domains =
    let runs = counters 100 in
    run_on domains (fun () ->
        Array.iter (fun count -> ignore (Task.async (fun () -> Atomic.incr count))) runs);
    each_once (Printf.sprintf "%d domains" domains) runs
  in
  List.iter check domain_counts

let unawaited_outside_runs () =
  if Pool.size (Pool.default ()) > 1 then begin
    let ran = Atomic.make false in
    ignore (Task.async (fun () -> Atomic.set ran true));
    wait_until (fun () -> Atomic.get ran)
  end

let unawaited_is_reported_once () =
  let check domains =
    let reports =
      with_reports (fun () ->
          run_on domains (fun () ->
              for i = 1 to 20 do
                ignore (Task.async (fun () -> raise (Boom i)))
              done))
    in
    let expected = List.init 20 (fun i -> Boom (i + 1)) in
    let name = Printf.sprintf "%d domains" domains in
    check_bool name true (List.sort compare reports = expected)
  in
  List.iter check domain_counts

let awaited_is_never_reported () =
  let check domains =
    let failing = Atomic.make [] in
    let body () =
      let tasks = List.init 20 (fun i -> Task.async (fun () -> raise (Boom i))) in
      List.iter (fun task -> ignore (outcome (fun () -> Task.await task))) tasks;
      Atomic.set failing tasks
    in
    let reports = with_reports (fun () -> run_on domains body) in
    check_int (Printf.sprintf "%d domains" domains) 0 (List.length reports)
  in
  List.iter check domain_counts

(* It had failed, and a collection had passed, long before its wait. *)
let awaited_late_is_never_reported () =
  let wait_late () =
    let task = Task.async (fun () -> raise (Boom 1)) in
    Unix.sleepf 0.05;
    Gc.full_major ();
    Gc.full_major ();
    check_raises "raises" (Boom 1) (fun () -> Task.await task)
  in
  let check domains =
    let reports = with_reports (fun () -> run_on domains wait_late) in
    check_int (Printf.sprintf "%d domains" domains) 0 (List.length reports)
  in
  List.iter check domain_counts

let count_reports () =
  let reports = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ -> Atomic.incr reports);
  reports

let collected reports () =
  Gc.full_major ();
  Unix.sleepf 0.01;
  Atomic.get reports > 0

(* The program goes on, and nobody closes the pool. Its domains may have left before the promise is
   collected: then a worker that looks for work at a later call tells. *)
let reported_after_idle () =
  let reports = count_reports () in
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  Pool.run pool (fun () -> ignore (Task.async (fun () -> raise (Boom 1))));
  wait_until (fun () ->
      Pool.run pool (fun () -> Task.await (Task.async ignore));
      collected reports ());
  check_int "once" 1 (Atomic.get reports);
  Pool.close pool

(* No worker ever has nothing to do. *)
let reported_while_busy () =
  let check domains =
    let reports = count_reports () in
    let rec stay_busy n =
      if n > 0 && not (collected reports ()) then begin
        for _ = 1 to 1_000 do
          ignore (Muster.both (fun () -> Task.await (Task.async ignore)) ignore)
        done;
        stay_busy (n - 1)
      end
    in
    let all_stay_busy () = List.init domains (fun _ -> Task.async (fun () -> stay_busy 1_000)) in
    run_on domains (fun () ->
        let failed = Atomic.make false in
        let fail () =
          Atomic.set failed true;
          raise (Boom 1)
        in
        ignore (Task.async fail);
        wait_until (fun () -> Atomic.get failed);
        List.iter Task.await (all_stay_busy ());
        check_int (Printf.sprintf "%d domains" domains) 1 (Atomic.get reports))
  in
  List.iter check [ 2; 3 ]

(* A task that its awaiter runs has nobody who waits for it, and many of these may fail. *)
let awaited_leaves_nothing () =
  let live () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let fail () =
    check_raises "raises" Exit (fun () -> Task.await (Task.async (fun () -> raise Exit)))
  in
  run_on 1 (fun () ->
      let before = live () in
      for _ = 1 to 100_000 do
        fail ()
      done;
      let grown = live () - before in
      if grown > 100_000 then failf "%d words are left behind" grown)

let report_has_the_origin () =
  Printexc.record_backtrace true;
  let seen = Atomic.make "" in
  let report _ backtrace = Atomic.set seen (Printexc.raw_backtrace_to_string backtrace) in
  Task.set_uncaught_handler report;
  run_on 2 (fun () -> ignore (Task.async (fun () -> raise (Boom 1))));
  Gc.full_major ();
  Gc.full_major ();
  check_bool "origin" true (contains (Atomic.get seen) ~sub:"test_uncaught.ml")

let raising_handler_does_no_harm () =
  let calls = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ ->
      Atomic.incr calls;
      failwith "the handler itself");
  with_domains 2 (fun pool ->
      Pool.run pool (fun () ->
          for i = 1 to 10 do
            ignore (Task.async (fun () -> raise (Boom i)))
          done);
      Unix.sleepf 0.05;
      let answer = Pool.run pool (fun () -> Task.await (Task.async (fun () -> 3))) in
      check_int "works" 3 answer);
  check_int "calls" 10 (Atomic.get calls)

let reported_on_stderr () =
  let child = Child.run "child/child.exe" [ "lose-exception" ] in
  Child.check_success child;
  let is_told sub = check_int sub 1 (count_substring child.errors ~sub) in
  is_told "a task that nobody awaits raised Failure(\"nobody awaits me\")";
  is_told "a function given to Task.on_cancel raised Failure(\"of a hook\")"

(* A worker has found the failure, and the program ends while the handler runs. *)
let reported_at_the_end () =
  let child = Child.run "child/child.exe" [ "end-beside-report" ] in
  Child.check_success child;
  check_equal "output" "told\n" child.output

let handler_exits () =
  let child = Child.run ~limit:20. "child/child.exe" [ "exit-in-report" ] in
  check_equal "status" (Unix.WEXITED 3) child.status

(* Two pools may have one name. *)
let closing_reports_its_own () =
  let reports = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ -> Atomic.incr reports);
  let make () = Pool.create ~name:"twins" ~domains:1 () in
  let pool = make () and other = make () in
  let task = Pool.run pool (fun () -> Task.async (fun () -> raise Exit)) in
  wait_until (fun () -> Pool.run pool (fun () -> (Pool.stats pool).tasks > 0));
  Pool.close other;
  check_raises "awaited" Exit (fun () -> Task.await task);
  Pool.close pool;
  check_int "reports" 0 (Atomic.get reports)

(* Another pool's tasks go on failing, with promises that are still there. *)
let closing_beside_failures () =
  Task.set_uncaught_handler (fun _ _ -> ());
  with_domains 2 @@ fun busy ->
  let stop = Atomic.make false and many = Atomic.make false in
  let fail_on () =
    let kept = ref [] in
    let fail () = kept := Task.async (fun () -> raise (Boom 0)) :: !kept in
    for _ = 1 to 100_000 do
      fail ()
    done;
    Atomic.set many true;
    while not (Atomic.get stop) do
      for _ = 1 to 10 do
        fail ()
      done;
      Task.await (Task.async ignore)
    done;
    ignore (Sys.opaque_identity !kept)
  in
  let domain = Domain.spawn (fun () -> Pool.run busy fail_on) in
  wait_until (fun () -> Atomic.get many);
  let idle = Pool.create ~domains:1 () in
  let closed = Atomic.make false in
  let closer =
    Domain.spawn (fun () ->
        Pool.close idle;
        Atomic.set closed true)
  in
  let limit = Unix.gettimeofday () +. 5. in
  while (not (Atomic.get closed)) && Unix.gettimeofday () < limit do
    Unix.sleepf 0.001
  done;
  let in_time = Atomic.get closed in
  Atomic.set stop true;
  Domain.join domain;
  Domain.join closer;
  check_bool "closed in time" true in_time

(* Its only waiter was woken with it, and then cancelled: so nobody has it. The failing task goes on on top of a share that
   cannot be suspended, and that has its turn before the waiter has. *)
let its_waiter_is_cancelled () =
  let body pool =
    let begun = Muster.Latch.create 1 and go = Muster.Latch.create 1 in
    let ends = Muster.Latch.create 1 in
    let fail () =
      Muster.Latch.count_down begun;
      Muster.Latch.await go;
      Muster.Latch.count_down ends;
      raise (Boom 1)
    in
    let wait () =
      let failing = Task.async fail in
      Task.await failing
    in
    let waiter = Task.async wait in
    Muster.Latch.await begun;
    Muster.Team.broadcast pool (fun _ ->
        Muster.Latch.count_down go;
        Muster.Latch.await ends;
        Task.cancel waiter);
    match Task.await waiter with () -> () | exception Task.Cancelled -> ()
  in
  let in_pool () = Pool.with_ ~domains:1 body in
  let reports = with_reports in_pool in
  check_bool "reported once" true (reports = [ Boom 1 ])

(* The same as it happens: it is raised or reported, once. *)
let its_waiter_may_be_cancelled () =
  let rounds = if flipped then 500 else 5_000 in
  let heard = Atomic.make 0 in
  let wait_for flag =
    while not (Atomic.get flag) do
      Domain.cpu_relax ()
    done
  in
  let race i =
    let began = Atomic.make false and go = Atomic.make false in
    let failing =
      Task.async (fun () ->
          Atomic.set began true;
          wait_for go;
          raise (Boom i))
    in
    let wait () = try Task.await failing with Boom _ -> Atomic.incr heard in
    wait_for began;
    let waiter = Task.async wait in
    for _ = 1 to 2_000 do
      Domain.cpu_relax ()
    done;
    Atomic.set go true;
    for _ = 1 to i land 63 do
      Domain.cpu_relax ()
    done;
    Task.cancel waiter;
    try Task.await waiter with Task.Cancelled -> ()
  in
  (* On a busy machine a round may wait for several turns of the kernel's. *)
  let late = Unix.gettimeofday () +. 10. in
  let rec go i =
    if i > rounds || Unix.gettimeofday () > late then i - 1
    else begin
      race i;
      go (i + 1)
    end
  in
  let made = ref 0 in
  let reports = with_reports (fun () -> made := run_on 3 (fun () -> go 1)) in
  check_int "each once" !made (Atomic.get heard + List.length reports)

let () =
  Alcotest.run "uncaught"
    [
      ( "nobody waits",
        [
          case "a task that nobody awaits runs" unawaited_runs;
          case "a task that nobody awaits runs, started outside a pool" unawaited_outside_runs;
          case "a failure that nobody awaits is reported once" unawaited_is_reported_once;
          case "an awaited failure is not reported" awaited_is_never_reported;
          case "a failure that is awaited late is not reported" awaited_late_is_never_reported;
          case "a failure whose waiter is cancelled is reported" its_waiter_is_cancelled;
          case "a failure whose waiter may be cancelled is raised or reported"
            its_waiter_may_be_cancelled;
          case "a failure is reported after the pool was idle" reported_after_idle;
          case "a failure is reported while all workers are busy" reported_while_busy;
          case "awaited failures leave nothing behind" awaited_leaves_nothing;
          case "the report has the backtrace of the origin" report_has_the_origin;
          case "a handler that raises does no harm" raising_handler_does_no_harm;
          case "failures are printed on stderr by default" reported_on_stderr;
          case "failures are reported when the program ends" reported_at_the_end;
          case "a handler may call exit" handler_exits;
          case "closing a pool reports its own failures" closing_reports_its_own;
          case "a pool closes while tasks of others fail" closing_beside_failures;
        ] );
    ]
