open Harness
open Muster

let suspend_in_task () =
  let latch = Latch.create 1 in
  ignore (Task.async (fun () -> Latch.count_down latch));
  Latch.await latch

(* The newest task runs first; but now and then the oldest, so there are two that are older. *)
let letting_others_run f =
  let first = Latch.create 1 and gate = Latch.create 1 in
  ignore (Task.async (fun () -> Latch.count_down first));
  ignore
    (Task.async (fun () ->
         Latch.await first;
         Latch.count_down gate));
  f ();
  Latch.await gate

let all_waiting n f =
  let begun = Latch.create n in
  let begin_ i () =
    Latch.count_down begun;
    f i
  in
  let tasks = List.init n (fun i -> Task.async (begin_ i)) in
  Latch.await begun;
  tasks

let is_in_pool = Atomic.make false
let suspend () = if Atomic.get is_in_pool then suspend_in_task () else Thread.delay 0.0002

let in_a_task_each n f =
  let tasks = List.init n (fun i -> Task.async (fun () -> f i)) in
  List.iter Task.await tasks

let several = 6

let in_pool domains f =
  Atomic.set is_in_pool true;
  Fun.protect
    ~finally:(fun () -> Atomic.set is_in_pool false)
    (fun () -> run_on domains (fun () -> in_a_task_each several f))

let in_domains f =
  let domains = List.init several (fun i -> Domain.spawn (fun () -> outcome (fun () -> f i))) in
  let results = List.map Domain.join domains in
  List.iter (function Ok () -> () | Error exn -> raise exn) results

let of_all_kinds f =
  let thread = Thread.create (fun () -> f 0) () in
  let domain = Domain.spawn (fun () -> f 1) in
  run_on 3 (fun () -> in_a_task_each (several - 2) (fun i -> f (i + 2)));
  Thread.join thread;
  Domain.join domain

let callers =
  [
    ("tasks of 1 worker", in_pool 1);
    ("tasks of 2 workers", in_pool 2);
    ("tasks of 3 workers", in_pool 3);
    ("tasks of 8 workers", in_pool 8);
    ("threads", fun f -> ignore (in_threads several f));
    ("domains", in_domains);
    ("tasks, a thread and a domain", of_all_kinds);
  ]

let on_callers name check =
  let of_kind (kind, run) = case (name ^ ": " ^ kind) (fun () -> check ~run) in
  List.map of_kind callers

let pools = [ 1; 2; 3; 8 ]
let on_pools f () = List.iter (fun domains -> run_on domains f) pools

(* {2 Cancellation} *)

let waiting_task f =
  let begun = Latch.create 1 in
  let task =
    Task.async (fun () ->
        Latch.count_down begun;
        f ())
  in
  Latch.await begun;
  task

let check_cancelled what task =
  Task.cancel task;
  match Task.await task with _ -> failf "%s: not cancelled" what | exception Task.Cancelled -> ()

let random_cancels ~tasks f =
  let all = Array.init tasks (fun i -> Task.async (fun () -> f i)) in
  for _ = 1 to tasks do
    let task = all.(Random.int tasks) in
    if Random.bool () then suspend_in_task ();
    Task.cancel task
  done;
  let cancelled count task =
    match Task.await task with () -> count | exception Task.Cancelled -> count + 1
  in
  Array.fold_left cancelled 0 all
