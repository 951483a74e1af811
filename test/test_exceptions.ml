(* Exceptions: their origin, which one wins, who has ended when a join raises. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

exception Boom of int

let origin_line = __LINE__ + 3

let[@inline never] raise_here i =
  if i >= 0 then raise (Boom i);
  ignore (Sys.opaque_identity i)

let reduce ?grain ?(combine = ( + )) ~start ~finish f =
  Muster.parallel_reduce ?grain ~start ~finish ~combine ~init:0 f

let fail () = raise_here 0
let fail_at k i = if i = k then raise_here i

let fails_through k i =
  fail_at k i;
  i

(* Every way in which an exception may leave a task; each raises [Boom]. *)

let ways_of_tasks =
  [
    ("both, left", fun () -> ignore (Muster.both fail ignore));
    ("both, right", fun () -> ignore (Muster.both ignore fail));
    ("both, both", fun () -> ignore (Muster.both fail fail));
    ("async", fun () -> Task.await (Task.async fail));
    ("all", fun () -> ignore (Task.all [ ignore; fail; ignore ]));
    ("first", fun () -> Task.first [ fail; fail ]);
    ("for", fun () -> Muster.parallel_for ~start:0 ~finish:99 (fail_at 57));
    ("for, grain 1", fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:99 (fail_at 57));
    ("reduce", fun () -> ignore (reduce ~start:0 ~finish:99 (fails_through 57)));
    ( "for, in parts",
      fun () ->
        let part ~start ~finish = if start <= 57 && 57 <= finish then raise_here 57 in
        Muster.parallel_for_range ~start:0 ~finish:99 part );
    ( "for, of pairs",
      fun () ->
        Muster.parallel_for2 ~start:(0, 0) ~finish:(9, 9) (fun i j -> fail_at 57 ((10 * i) + j)) );
    ( "for, with a state",
      fun () ->
        Muster.parallel_for_init ~start:0 ~finish:99 ~init:ignore (fun () i -> fail_at 57 i) );
    ( "combine of parts",
      fun () ->
        let combine a b = fails_through 0 (a * b) + a + b in
        let part ~start ~finish:_ = start in
        ignore
          (Muster.parallel_reduce_range ~start:0 ~finish:99 ~combine ~init:0 part) );
    ( "combine",
      fun () ->
        let combine a b = fails_through 0 (a * b) + a + b in
        ignore (reduce ~grain:1 ~combine ~start:0 ~finish:99 Fun.id) );
    ( "scan",
      fun () ->
        let add a b = fails_through 2 (a + b) in
        ignore (Muster.parallel_scan add (Array.make 100 1)) );
    ( "find",
      fun () ->
        let find i = if fails_through 57 i < 0 then Some i else None in
        ignore (Muster.parallel_find ~start:0 ~finish:99 find) );
  ]

let ways_of_teams pool =
  let index ~worker:_ i = fail_at 57 i in
  let slice ~worker:_ ~start:_ ~count:_ = fail () in
  [
    ("broadcast", fun () -> Team.broadcast pool (fail_at (Pool.size pool - 1)));
    ("for_n", fun () -> Team.for_n pool 100 index);
    ("for_n_dynamic", fun () -> Team.for_n_dynamic pool 100 index);
    ("for_slices", fun () -> Team.for_slices pool 100 slice);
    ("run", fun () -> Pool.run pool fail);
  ]

let ways pool = ways_of_tasks @ ways_of_teams pool

let expect_origin (name, f) =
  check_raises_with_origin ~file:"test_exceptions.ml" ~line:origin_line name f

(* Recording is switched on when the pool's domains have long been running. *)
let backtrace_of_origin pool =
  Printexc.record_backtrace false;
  is_usable pool;
  Printexc.record_backtrace true;
  let check () = List.iter expect_origin (ways pool) in
  for _ = 1 to 20 do
    check ();
    Pool.run pool check
  done

let backtrace_from_every_worker pool =
  Printexc.record_backtrace false;
  is_usable pool;
  Printexc.record_backtrace true;
  for worker = 0 to Pool.size pool - 1 do
    let fail i = if i = worker then raise_here i in
    expect_origin (Printf.sprintf "worker %d" worker, fun () -> Team.broadcast pool fail)
  done

let recording_follows_the_caller pool =
  let statuses () =
    let seen = Array.make (Pool.size pool) false in
    Team.broadcast pool (fun worker -> seen.(worker) <- Printexc.backtrace_status ());
    seen
  in
  let check on =
    Printexc.record_backtrace on;
    Array.iter (check_bool "recording in a worker" on) (statuses ())
  in
  Fun.protect ~finally:(fun () -> Printexc.record_backtrace true) @@ fun () ->
  List.iter check [ true; false; true; false ]

(* Two callers, of whom one records nothing, help each other and resume each other's tasks. *)
let recording_is_the_callers_own () =
  with_domains 3 @@ fun pool ->
  let stop = Atomic.make false in
  let chan = Muster.Chan.bounded 0 in
  let beside () =
    Printexc.record_backtrace false;
    while not (Atomic.get stop) do
      Pool.run pool (fun () -> Muster.parallel_for ~grain:1 ~start:1 ~finish:8 ignore);
      ignore (Muster.Chan.try_send chan ());
      check_bool "off" false (Printexc.backtrace_status ())
    done
  in
  let other = Domain.spawn (fun () -> outcome beside) in
  let resumed () =
    Muster.Chan.recv chan;
    raise (Boom 1)
  in
  for _ = 1 to 200 do
    Pool.run pool (fun () -> Muster.parallel_for ~grain:1 ~start:1 ~finish:8 ignore);
    check_bool "on" true (Printexc.backtrace_status ());
    match Pool.run pool (fun () -> Muster.Task.await (Muster.Task.async resumed)) with
    | () -> ()
    | exception Boom _ ->
      let backtrace = Printexc.get_backtrace () in
      check_bool "origin" true (contains backtrace ~sub:"test_exceptions")
  done;
  Atomic.set stop true;
  match Domain.join other with Ok () -> () | Error exn -> raise exn

let raises_from_everywhere pool =
  let check (name, f) =
    match f () with () -> failf "%s: no exception" name | exception Boom _ -> ()
  in
  for _ = 1 to 20 do
    List.iter check (ways pool);
    Pool.run pool (fun () -> List.iter check (ways pool));
    is_usable pool
  done

(* Which exception wins *)

let boom_of f = match f () with _ -> None | exception Boom i -> Some i

let smallest_index_wins pool =
  let raising = [| 20; 21; 50; 99 |] in
  let fail_some i = if Array.mem i raising then raise (Boom i) in
  let index ~worker:_ i = fail_some i in
  let through i =
    fail_some i;
    i
  in
  let expect name f = check_equal name (Some 20) (boom_of f) in
  let check () =
    let loop grain () = Muster.parallel_for ?grain ~start:0 ~finish:99 fail_some in
    expect "for" (loop None);
    expect "for, grain 1" (loop (Some 1));
    expect "for, grain 7" (loop (Some 7));
    expect "reduce" (fun () -> reduce ~grain:3 ~start:0 ~finish:99 through);
    expect "for_n" (fun () -> Team.for_n pool 100 index);
    expect "for_n_dynamic" (fun () -> Team.for_n_dynamic pool 100 index);
    expect "all" (fun () -> Task.all (List.init 100 (fun i () -> fail_some i)))
  in
  for _ = 1 to 30 do
    check ();
    Pool.run pool check
  done

let boom_of_both pool left =
  let right () = raise (Boom 2) in
  boom_of (fun () -> Pool.run pool (fun () -> Muster.both left right))

let left_of_both_wins pool =
  let left () =
    Unix.sleepf 0.01;
    raise (Boom 1)
  in
  for _ = 1 to 5 do
    check_equal "left" (Some 1) (boom_of_both pool left)
  done

(* The last in time is the leftmost; its own children are not cut short by the others. *)
let left_subtree_is_not_cancelled pool =
  let left () =
    let slow i =
      Unix.sleepf 0.001;
      i
    in
    raise (Boom (reduce ~grain:1 ~start:1 ~finish:20 slow))
  in
  check_equal "left" (Some 210) (boom_of_both pool left)

(* Who has ended *)

let join_waits_for_every_child pool =
  let started = Atomic.make 0 and ended = Atomic.make 0 in
  let body i =
    Atomic.incr started;
    Unix.sleepf 0.002;
    Atomic.incr ended;
    if i = 3 then raise (Boom i);
    i
  in
  let run i = ignore (body i) in
  let check name f =
    check_equal name (Some 3) (boom_of f);
    let started_then = Atomic.get started in
    check_int (name ^ ": all ended") started_then (Atomic.get ended);
    Unix.sleepf 0.005;
    check_int (name ^ ": none afterwards") started_then (Atomic.get started)
  in
  let check_all () =
    check "for" (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:20 run);
    check "all" (fun () -> ignore (Task.all (List.init 20 (fun i () -> body i))));
    check "reduce" (fun () -> ignore (reduce ~grain:1 ~start:0 ~finish:20 body));
    check "both" (fun () -> ignore (Muster.both (fun () -> body 3) (fun () -> body 4)));
    check "for_n" (fun () -> Team.for_n pool 20 (fun ~worker:_ i -> run i));
    check "for_n_dynamic" (fun () -> Team.for_n_dynamic pool 20 (fun ~worker:_ i -> run i))
  in
  check_all ();
  Pool.run pool check_all

let unstarted_siblings_are_skipped () =
  let ran = Atomic.make 0 in
  let count () = Atomic.incr ran in
  let fail () = raise (Boom 0) in
  let check name f =
    check_equal name (Some 0) (boom_of (fun () -> run_on 1 f));
    check_int (name ^ ": siblings run") 0 (Atomic.get ran)
  in
  check "both" (fun () -> ignore (Muster.both fail count));
  check "all" (fun () -> ignore (Task.all [ fail; count; count ]));
  let body i = if i = 0 then fail () else count () in
  check "for" (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:1000 body)

let most_of_a_loop_is_skipped pool =
  let ran = Atomic.make 0 in
  let body i =
    if i = 0 then raise (Boom 0);
    Atomic.incr ran;
    Unix.sleepf 0.001
  in
  let loop () = Muster.parallel_for ~grain:1 ~start:0 ~finish:2_000 body in
  check_equal "raises" (Some 0) (boom_of (fun () -> Pool.run pool loop));
  check_bool "few have run" true (Atomic.get ran < 500)

let () =
  Alcotest.run "exceptions"
    [
      ( "backtrace",
        [
          case "a backtrace names the origin of the exception" (on_each_count backtrace_of_origin);
          case "a backtrace comes from every worker"
            (on_pools [ 3; 8 ] backtrace_from_every_worker);
          case "workers record backtraces where their caller does"
            (on_each_count recording_follows_the_caller);
          case "each of two callers keeps its own recording" recording_is_the_callers_own;
        ] );
      ( "which",
        [
          case "every way to fail raises and leaves the pool usable"
            (on_each_count raises_from_everywhere);
          case "of several exceptions that of the smallest index is raised"
            (on_each_count smallest_index_wins);
          case "of both, the left exception is raised" (on_each_count left_of_both_wins);
          case "an exception cancels nothing to its left"
            (on_each_count left_subtree_is_not_cancelled);
        ] );
      ( "ends and skips",
        [
          case "a call that raises waits for every branch that began"
            (on_each_count join_waits_for_every_child);
          case "branches that have not begun are skipped" unstarted_siblings_are_skipped;
          case "most of a loop is skipped after an exception"
            (on_each_count most_of_a_loop_is_skipped);
        ] );
    ]
