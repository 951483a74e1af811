(* Code that polls keeps its worker; here there is one. *)

open Domainslib
open Harness

let narrow = Sys.getenv_opt "MUSTER_DOMAINS" = Some "1"

(* Muster looks at its environment when a program starts. *)
let start_again () =
  let others = Array.to_list (Unix.environment ()) in
  let is_other it = not (String.starts_with ~prefix:"MUSTER_" it) in
  let environment = Array.of_list ("MUSTER_DOMAINS=1" :: List.filter is_other others) in
  Unix.execve Sys.executable_name Sys.argv environment

let poll what condition =
  let stop = Unix.gettimeofday () +. 5. in
  while not (condition ()) do
    if Unix.gettimeofday () > stop then failf "%s: in vain" what;
    Domain.cpu_relax ()
  done

let with_pool f =
  let pool = Task.setup_pool ~num_domains:1 () in
  Fun.protect
    (fun () -> Task.run pool (fun () -> f pool))
    ~finally:(fun () -> Task.teardown_pool pool)

let for_a_task () =
  with_pool @@ fun pool ->
  for _ = 1 to 3 do
    let flag = Atomic.make false in
    let task = Task.async pool (fun () -> Atomic.set flag true) in
    poll "a task" (fun () -> Atomic.get flag);
    Task.await pool task
  done

let for_each_other () =
  with_pool @@ fun pool ->
  let arrived = Atomic.make 0 in
  let meet () =
    Atomic.incr arrived;
    poll "the other" (fun () -> Atomic.get arrived >= 2)
  in
  let tasks = List.init 2 (fun _ -> Task.async pool meet) in
  List.iter (Task.await pool) tasks

let in_a_loop () =
  with_pool @@ fun pool ->
  let arrived = Atomic.make 0 in
  let meet _ =
    Atomic.incr arrived;
    poll "the other" (fun () -> Atomic.get arrived >= 2)
  in
  Task.parallel_for pool ~chunk_size:1 ~start:0 ~finish:1 ~body:meet

let () =
  if not narrow then start_again ();
  Alcotest.run "Domainslib on one worker"
    [
      ( "polling",
        [
          case "for a task" for_a_task;
          case "tasks for each other" for_each_other;
          case "bodies for each other" in_a_loop;
        ] );
    ]
