(* Tasks of muster.domainslib and fibers of Eio. *)

open Domainslib
open Harness
open Eio.Std

let with_pool num_domains f () =
  let pool = Task.setup_pool ~num_domains () in
  Fun.protect (fun () -> f pool) ~finally:(fun () -> Task.teardown_pool pool)

let fib pool = Fib.by_tasks ~async:(Task.async pool) ~await:(Task.await pool)

(* A task resolves what a fiber awaits; other fibers go on meanwhile. *)
let tasks_resolve_promises pool =
  Eio_posix.run @@ fun _ ->
  let turns = ref 0 in
  let answer, resolver = Promise.create () in
  let task =
    Task.async pool (fun () ->
        Unix.sleepf 0.02;
        Promise.resolve resolver (fib pool 15))
  in
  Fiber.both
    (fun () -> check_int "answer" 610 (Promise.await answer))
    (fun () ->
      while not (Promise.is_resolved answer) do
        incr turns;
        Fiber.yield ()
      done);
  check_bool "the other fiber went on" true (!turns > 1);
  Task.await pool task

let fibers_run_loops pool =
  Eio_posix.run @@ fun _ ->
  let sum () =
    Task.run pool (fun () ->
        Task.parallel_for_reduce pool ( + ) 0 ~start:1 ~finish:1000 ~body:Fun.id)
  in
  List.iter (fun () -> check_int "sum" 500_500 (sum ())) (List.init 10 ignore);
  Fiber.all (List.init 10 (fun _ () -> check_int "sum" 500_500 (sum ())))

(* The code of [run] is on the fiber's own stack, so it may await an Eio promise. *)
let run_awaits_a_promise pool =
  Eio_posix.run @@ fun _ ->
  let promise, resolver = Promise.create () in
  Fiber.both
    (fun () ->
      let got = Task.run pool (fun () -> fib pool 10 + Promise.await promise) in
      check_int "sum" 62 got)
    (fun () ->
      Fiber.yield ();
      Promise.resolve resolver 7)

(* In a task that runs fibers of its own. *)
let tasks_run_fibers pool =
  let fibers i =
    Eio_posix.run @@ fun _ ->
    let promise, resolver = Promise.create () in
    Fiber.both
      (fun () -> check_int "promise" i (Promise.await promise))
      (fun () -> Promise.resolve resolver i)
  in
  let tasks = List.init 4 (fun i -> Task.async pool (fun () -> fibers i)) in
  List.iter (Task.await pool) tasks

let on name f =
  List.map (fun n -> case (Printf.sprintf "%s, %d" name n) (with_pool n f)) [ 0; 1; 3 ]

let () =
  Alcotest.run "Domainslib and Eio"
    [
      ( "promises",
        on "tasks resolve promises" tasks_resolve_promises
        @ on "run awaits a promise" run_awaits_a_promise );
      ("runs", on "fibers run loops" fibers_run_loops @ on "tasks run fibers" tasks_run_fibers);
    ]
