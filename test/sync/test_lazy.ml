(* Lazy values: computed once, though many force them at once; one exception for all; a cancelled
   forcer hands over. *)

open Harness
open Sync_support
module Lazy = Muster.Lazy
module Latch = Muster.Latch
module Task = Muster.Task

exception Boom of int

let computed_once ~between ~run =
  let runs = Array.init 50 (fun _ -> Atomic.make 0) in
  let compute i () =
    Atomic.incr runs.(i);
    between ();
    i
  in
  let values = Array.init 50 (fun i -> Lazy.from_fun (compute i)) in
  run (fun _ -> Array.iteri (fun i l -> check_int "value" i (Lazy.force l)) values);
  each_once "computed" runs

let exception_reaches_all ~run =
  let runs = Atomic.make 0 in
  let compute () =
    suspend ();
    raise (Boom (Atomic.fetch_and_add runs 1))
  in
  let l = Lazy.from_fun compute in
  run (fun _ ->
      for _ = 1 to 5 do
        check_raises "force" (Boom 0) (fun () -> Lazy.force l)
      done);
  check_int "runs" 1 (Atomic.get runs);
  check_bool "is_val" false (Lazy.is_val l)

let fail () = raise (Boom 7)
let fail_line = __LINE__ - 1

let backtrace_reaches_all () =
  Printexc.record_backtrace true;
  let l = Lazy.from_fun (fun () -> ignore (fail ())) in
  for _ = 1 to 2 do
    check_raises_with_origin ~file:"test_lazy.ml" ~line:fail_line "force" (fun () -> Lazy.force l)
  done;
  in_domain (fun () ->
      Printexc.record_backtrace true;
      check_raises_with_origin ~file:"test_lazy.ml" ~line:fail_line "force" (fun () -> Lazy.force l))

(* Those who come while one computes wait without holding up its worker. *)
let waiters_are_suspended () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 in
  let l =
    Lazy.from_fun (fun () ->
        Latch.await gate;
        5)
  in
  let sum = ref 0 in
  let tasks = all_waiting 10 (fun _ -> sum := !sum + Lazy.force l) in
  check_bool "not yet" false (Lazy.is_val l);
  Latch.count_down gate;
  List.iter Task.await tasks;
  check_int "sum" 50 !sum

let values () =
  let l = Lazy.from_val 3 in
  check_bool "is_val" true (Lazy.is_val l);
  check_int "force" 3 (Lazy.force l);
  let l = Lazy.from_fun (fun () -> 4) in
  check_bool "is_val, before" false (Lazy.is_val l);
  check_int "force" 4 (Lazy.force l);
  check_bool "is_val, after" true (Lazy.is_val l);
  let runs = ref 0 in
  let l =
    Lazy.from_fun (fun () ->
        incr runs;
        5)
  in
  let m = Lazy.map succ l and n = Lazy.map_val succ l in
  check_int "map is lazy" 0 !runs;
  check_bool "map_val is lazy" false (Lazy.is_val n);
  check_equal "mapped" (6, 6) (Lazy.force m, Lazy.force n);
  check_int "once" 1 !runs;
  check_bool "map_val of a value" true (Lazy.is_val (Lazy.map_val succ l));
  check_bool "map of a value" false (Lazy.is_val (Lazy.map succ l))

let forces_itself () =
  let rec l = lazy (Lazy.from_fun (fun () -> 1 + Lazy.force (Stdlib.Lazy.force l))) in
  check_raises "itself" Lazy.Undefined (fun () -> Lazy.force (Stdlib.Lazy.force l));
  check_bool "it is the stdlib's" true (Lazy.Undefined = Stdlib.Lazy.Undefined)

let forces_itself_after_a_wait () =
  let self = Atomic.make None in
  let compute () =
    suspend_in_task ();
    1 + Lazy.force (Option.get (Atomic.get self))
  in
  let l = Lazy.from_fun compute in
  Atomic.set self (Some l);
  let task = Task.async (fun () -> Lazy.force l) in
  check_raises "itself" Lazy.Undefined (fun () -> Task.await task);
  check_raises "all the same" Lazy.Undefined (fun () -> Lazy.force l)

(* {2 Cancellation} *)

let handed_over () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and runs = ref 0 in
  let l =
    Lazy.from_fun (fun () ->
        incr runs;
        Latch.await gate;
        !runs)
  in
  let first = waiting_task (fun () -> Lazy.force l) in
  let second = waiting_task (fun () -> Lazy.force l) in
  let third = waiting_task (fun () -> Lazy.force l) in
  check_int "one computes" 1 !runs;
  check_cancelled "first" first;
  letting_others_run ignore;
  Latch.count_down gate;
  check_int "second" 2 (Task.await second);
  check_int "third" 2 (Task.await third);
  check_int "runs" 2 !runs

let left_to_who_comes_next () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 and runs = ref 0 in
  let l =
    Lazy.from_fun (fun () ->
        incr runs;
        Latch.await gate;
        !runs)
  in
  check_cancelled "the only one" (waiting_task (fun () -> Lazy.force l));
  check_bool "not computed" false (Lazy.is_val l);
  Latch.count_down gate;
  check_int "the next" 2 (Lazy.force l)

let waiter_is_cancelled () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 in
  let l =
    Lazy.from_fun (fun () ->
        Latch.await gate;
        1)
  in
  let first = waiting_task (fun () -> Lazy.force l) in
  let second = waiting_task (fun () -> Lazy.force l) in
  let third = waiting_task (fun () -> Lazy.force l) in
  check_cancelled "second" second;
  Latch.count_down gate;
  check_equal "the others" (1, 1) (Task.await first, Task.await third)

(* The exception of another task that was cancelled is one like others. *)
let cancellation_of_another () =
  run_on 1 @@ fun () ->
  let other = Task.async ignore in
  Task.cancel other;
  let runs = ref 0 in
  let l =
    Lazy.from_fun (fun () ->
        incr runs;
        Task.await other)
  in
  check_raises "first" Task.Cancelled (fun () -> Lazy.force l);
  check_raises "second" Task.Cancelled (fun () -> Lazy.force l);
  check_int "runs" 1 !runs

let ends_in_spite_of_it () =
  run_on 1 @@ fun () ->
  let gate = Latch.create 1 in
  let compute () =
    (try Latch.await gate with Task.Cancelled -> ());
    9
  in
  let l = Lazy.from_fun compute in
  let first = waiting_task (fun () -> Lazy.force l) in
  let second = waiting_task (fun () -> Lazy.force l) in
  Task.cancel first;
  check_int "second" 9 (Task.await second)

let cancelled_at_random () =
  for _ = 1 to 20 do
    let l =
      Lazy.from_fun (fun () ->
          suspend_in_task ();
          suspend_in_task ();
          11)
    in
    ignore (random_cancels ~tasks:30 (fun _ -> check_int "value" 11 (Lazy.force l)));
    check_int "at last" 11 (Lazy.force l)
  done

(* An exception of a signal's handler may come wherever a force allocates: none is left computing. *)
let struck_anywhere () =
  let strike_at k f =
    let count = ref 0 in
    let tick _ =
      incr count;
      if !count = k then raise Exit;
      None
    in
    let tracker = { Gc.Memprof.null_tracker with alloc_minor = tick } in
    ignore (Gc.Memprof.start ~sampling_rate:1. tracker);
    (try f () with Exit | Not_found -> ());
    Gc.Memprof.stop ()
  in
  for k = 1 to 60 do
    let value = Lazy.from_fun (fun () -> List.find (fun it -> it = k) []) in
    strike_at k (fun () -> ignore (Lazy.force value));
    match Lazy.force value with
    | _ -> Alcotest.fail "a value"
    | exception (Exit | Not_found) -> ()
  done

let () =
  Alcotest.run "lazy"
    [
      ( "once",
        on_callers "a value is computed once" (computed_once ~between:ignore)
        @ on_callers "a computation that waits runs once" (computed_once ~between:suspend)
        @ on_callers "an exception reaches all" exception_reaches_all
        @ [
            case "a backtrace reaches all" backtrace_reaches_all;
            case "waiters are suspended" waiters_are_suspended;
          ] );
      ( "values",
        [
          case "from_val, map and is_val" values;
          case "a force is struck wherever it allocates" struck_anywhere;
          case "a computation that forces itself raises Undefined" (on_pools forces_itself);
          case "a computation that forces itself raises Undefined, outside a pool" forces_itself;
          case "a computation that forces itself after a wait raises Undefined"
            (on_pools forces_itself_after_a_wait);
        ] );
      ( "cancellation",
        [
          case "a waiter goes on with a cancelled computation" handed_over;
          case "a later force computes anew after a cancellation" left_to_who_comes_next;
          case "a waiter is cancelled" waiter_is_cancelled;
          case "the computation awaits a cancelled task" cancellation_of_another;
          case "a computation that ignores its cancellation gives the value" ends_in_spite_of_it;
          case "computations are cancelled at random moments" (on_pools cancelled_at_random);
        ] );
    ]
