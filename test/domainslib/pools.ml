(* Setting up, finding, running and tearing down. *)

open Domainslib
open Harness

let with_pool ?name num_domains f =
  let pool = Task.setup_pool ?name ~num_domains () in
  Fun.protect (fun () -> f pool) ~finally:(fun () -> Task.teardown_pool pool)

let on_pools counts f () = List.iter (fun n -> with_pool n f) counts

let tells_the_number_asked_for () =
  List.iter
    (fun n -> with_pool n (fun pool -> check_int "domains" (n + 1) (Task.get_num_domains pool)))
    [ 0; 1; 3; 100 ]

let refuses_negative_numbers () =
  check_raises "setup" (Invalid_argument "Task.setup_pool: num_domains must be at least 0")
    (fun () -> Task.setup_pool ~num_domains:(-1) ())

let any_number_will_do () =
  with_pool max_int (fun pool ->
      check_int "sum" 55
        (Task.run pool (fun () ->
             Task.parallel_for_reduce pool ( + ) 0 ~start:1 ~finish:10 ~body:Fun.id)))

(* Of what each domain draws at its start, where Domainslib starts them. *)
let random_goes_on_as_after_domains () =
  let after what =
    Random.init 42;
    what ();
    Random.bits ()
  in
  let spawn n () =
    for _ = 1 to n do
      Domain.join (Domain.spawn ignore)
    done
  in
  let set_up n () = with_pool n (fun pool -> Task.run pool ignore) in
  List.iter (fun n -> check_int "drawn next" (after (spawn n)) (after (set_up n))) [ 0; 1; 3; 7 ]

let is pool = function Some found -> found == pool | None -> false

let is_found_by_name () =
  check_bool "before" true (Task.lookup_pool "one" = None);
  with_pool ~name:"one" 1 (fun pool ->
      check_bool "found" true (is pool (Task.lookup_pool "one"));
      check_bool "another" true (Task.lookup_pool "other" = None);
      with_pool ~name:"one" 0 (fun newer ->
          check_bool "the newer one" true (is newer (Task.lookup_pool "one")));
      check_bool "the older one again" true (is pool (Task.lookup_pool "one")));
  check_bool "after" true (Task.lookup_pool "one" = None)

let the_older_one_may_go_first () =
  let older = Task.setup_pool ~name:"two" ~num_domains:0 () in
  let newer = Task.setup_pool ~name:"two" ~num_domains:0 () in
  Task.teardown_pool older;
  check_bool "the newer one" true (is newer (Task.lookup_pool "two"));
  Task.teardown_pool newer;
  check_bool "none" true (Task.lookup_pool "two" = None)

let refuses_work_when_torn_down () =
  let pool = Task.setup_pool ~num_domains:1 () in
  let ended = Task.async pool (fun () -> 1) in
  check_int "result" 1 (Task.await pool ended);
  Task.teardown_pool pool;
  let refuses what f =
    check_raises what (Invalid_argument "pool already torn down") (fun () -> ignore (f ()))
  in
  let start = 0 and finish = 9 in
  refuses "run gives the function's result" (fun () -> Task.run pool (fun () -> 1));
  refuses "async" (fun () -> Task.async pool (fun () -> 1));
  refuses "await" (fun () -> Task.await pool ended);
  refuses "get_num_domains" (fun () -> Task.get_num_domains pool);
  refuses "parallel_for" (fun () ->
      Task.parallel_for pool ~start ~finish ~body:ignore;
      0);
  refuses "parallel_for_reduce" (fun () ->
      Task.parallel_for_reduce pool ( + ) 0 ~start ~finish ~body:Fun.id);
  refuses "parallel_scan" (fun () -> (Task.parallel_scan pool ( + ) [| 1; 2 |]).(0));
  refuses "parallel_find" (fun () ->
      Option.get (Task.parallel_find pool ~start ~finish ~body:Option.some));
  refuses "teardown_pool" (fun () ->
      Task.teardown_pool pool;
      0)

let waits_for_tasks_that_nobody_awaits num_domains () =
  let runs = Atomic.make 0 in
  let slow pool () =
    ignore
      (Task.async pool (fun () ->
           Unix.sleepf 0.05;
           Atomic.incr runs));
    Unix.sleepf 0.05;
    Atomic.incr runs
  in
  let pool = Task.setup_pool ~num_domains () in
  for _ = 1 to 3 do
    ignore (Task.async pool (slow pool))
  done;
  Task.run pool (fun () -> ignore (Task.async pool (slow pool)));
  Task.teardown_pool pool;
  check_int "tasks" 8 (Atomic.get runs)

(* Where there is no [run] to do it. *)
let is_not_torn_down_by_its_own_task () =
  let tear_down pool () = Task.await pool (Task.async pool (fun () -> Task.teardown_pool pool)) in
  with_pool 1 (fun pool ->
      check_invalid ~mentions:[ "task of pool" ] "in a task" (tear_down pool);
      check_int "still works" 3 (Task.run pool (fun () -> 3)));
  let named = Task.setup_pool ~name:"stays" ~num_domains:0 () in
  check_invalid ~mentions:[ "task of pool" ] "a named one's task" (tear_down named);
  check_bool "it keeps its name" true
    (match Task.lookup_pool "stays" with Some found -> found == named | None -> false);
  Task.teardown_pool named

(* Else the last [run] does it: what a program does at its exit, it does in the task that exits. *)
let run_tears_down_for_its_task num_domains () =
  let pool = Task.setup_pool ~name:"leaves" ~num_domains () in
  let in_task () =
    Task.teardown_pool pool;
    Task.await pool (Task.async pool (fun () -> 2))
  in
  check_int "goes on" 2 (Task.run pool (fun () -> Task.await pool (Task.async pool in_task)));
  check_bool "its name is gone" true (Task.lookup_pool "leaves" = None);
  check_invalid ~mentions:[ "already torn down" ] "it is gone" (fun () -> Task.run pool ignore)

let is_gone pool () =
  check_raises "afterwards" (Invalid_argument "pool already torn down") (fun () ->
      Task.run pool ignore)

(* The code of [run] is no task of the pool's. *)
let is_torn_down_in_run num_domains () =
  let pool = Task.setup_pool ~name:"ends" ~num_domains () in
  let runs = Atomic.make 0 in
  let work () =
    ignore (Task.async pool (fun () -> Atomic.incr runs));
    Task.parallel_for pool ~start:1 ~finish:9 ~body:(fun _ -> Atomic.incr runs);
    Task.teardown_pool pool;
    check_bool "its name is free" true (Task.lookup_pool "ends" = None);
    3
  in
  check_int "result" 3 (Task.run pool (fun () -> Task.run pool work));
  check_int "tasks" 10 (Atomic.get runs);
  is_gone pool ();
  let pool = Task.setup_pool ~num_domains () in
  let fail () = Fun.protect (fun () -> raise Exit) ~finally:(fun () -> Task.teardown_pool pool) in
  check_raises "exception" Exit (fun () -> Task.run pool fail);
  is_gone pool ()

(* Who comes while the pool is being torn down is told so in the same words. *)
let refuses_work_while_it_is_torn_down () =
  let pool = Task.setup_pool ~name:"ends" ~num_domains:1 () in
  let go_on = Atomic.make false and begun = Atomic.make false in
  let hold () =
    Atomic.set begun true;
    wait_until (fun () -> Atomic.get go_on)
  in
  ignore (Task.async pool hold);
  wait_until (fun () -> Atomic.get begun);
  let closer = Domain.spawn (fun () -> Task.teardown_pool pool) in
  wait_until (fun () -> Task.lookup_pool "ends" = None);
  let told f () =
    match f () with
    | () -> false
    | exception Invalid_argument text ->
      check_equal "message" "pool already torn down" text;
      true
  in
  let body _ = () in
  wait_until (told (fun () -> Task.run pool ignore));
  wait_until (told (fun () -> ignore (Task.async pool ignore)));
  wait_until (told (fun () -> Task.parallel_for pool ~start:1 ~finish:99 ~body));
  Atomic.set go_on true;
  Domain.join closer;
  is_gone pool ()

(* {2 run} *)

let runs pool =
  check_int "result" 7 (Task.run pool (fun () -> 7));
  check_raises "exception" Exit (fun () -> Task.run pool (fun () -> raise Exit))

let runs_in_itself pool =
  let deep =
    Task.run pool (fun () ->
        let p = Task.async pool (fun () -> Task.run pool (fun () -> Task.run pool (fun () -> 5))) in
        Task.run pool (fun () -> Task.await pool p))
  in
  check_int "result" 5 deep

let pools_run_in_each_other (outer, inner) () =
  with_pool outer @@ fun outer ->
  with_pool inner @@ fun inner ->
  let both () =
    let ours = List.init 10 (fun i -> Task.async outer (fun () -> i)) in
    let theirs = List.map (fun p -> Task.async inner (fun () -> 1 + Task.await outer p)) ours in
    List.fold_left (fun sum p -> sum + Task.await inner p) 0 theirs
  in
  check_int "sum" 55 (Task.run outer (fun () -> Task.run inner both));
  check_int "sum" 55 (Task.run inner (fun () -> Task.run outer both));
  check_int "sum" 55 (both ())

let cases =
  [
    case "a pool tells the number of domains asked for" tells_the_number_asked_for;
    case "negative numbers are refused" refuses_negative_numbers;
    case "a pool of any number works" any_number_will_do;
    case "a seed's numbers go on as with Domainslib" random_goes_on_as_after_domains;
    case "pools are found by name" is_found_by_name;
    case "of two pools of one name the older may end first" the_older_one_may_go_first;
    case "a pool torn down refuses work" refuses_work_when_torn_down;
    case "a task of a run tears its pool down, num_domains 0" (run_tears_down_for_its_task 0);
    case "a task of a run tears its pool down, num_domains 1" (run_tears_down_for_its_task 1);
    case "teardown waits for unawaited tasks, num_domains 0" (waits_for_tasks_that_nobody_awaits 0);
    case "teardown waits for unawaited tasks, num_domains 1" (waits_for_tasks_that_nobody_awaits 1);
    case "teardown waits for unawaited tasks, num_domains 7" (waits_for_tasks_that_nobody_awaits 7);
    case "a task outside of run cannot tear its pool down" is_not_torn_down_by_its_own_task;
    case "the function of run tears its pool down, num_domains 0" (is_torn_down_in_run 0);
    case "the function of run tears its pool down, num_domains 1" (is_torn_down_in_run 1);
    case "the function of run tears its pool down, num_domains 3" (is_torn_down_in_run 3);
    case "a pool being torn down refuses work" refuses_work_while_it_is_torn_down;
    case "run gives the function's result" (on_pools [ 0; 1; 7 ] runs);
    case "run within run" (on_pools [ 0; 1; 7 ] runs_in_itself);
    case "two pools run in each other, num_domains 0 and 0" (pools_run_in_each_other (0, 0));
    case "two pools run in each other, num_domains 1 and 0" (pools_run_in_each_other (1, 0));
    case "two pools run in each other, num_domains 2 and 3" (pools_run_in_each_other (2, 3));
  ]
