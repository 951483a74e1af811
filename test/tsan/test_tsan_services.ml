(* Jobs of a service: values that one job at a time works with, queues, and ends beside posts. *)

module Task = Muster.Task
module Workers = Muster.Workers
open Rounds

let count cell =
  incr cell;
  !cell

(* Each value is a plain cell: jobs that had one before have written it. *)
let handed_on pool =
  let workers = Workers.create ~workers:2 ~queue:1_000 ~pool (fun _ -> ref 0) in
  let caller _ = check "counted" (Workers.submit workers count > 0) in
  race 600 [ caller; caller; caller ];
  Workers.drain workers;
  let stats = Workers.stats workers in
  check "all returned" (stats.returned = 3 * times 600)

let posted pool =
  let results = Array.make 3 0 in
  let workers = Workers.create ~workers:1 ~queue:1_000 ~pool (fun _ -> ref 0) in
  let caller i round =
    let job cell =
      results.(i) <- round;
      count cell
    in
    check "counted" (Task.await (Workers.post workers job) > 0);
    check "its effect" (results.(i) = round)
  in
  race 600 (List.init 3 caller);
  Workers.drain workers

(* A post comes before the end, or is refused; of jobs that are cut the tasks are cancelled. *)
let ends pool =
  let shown = Atomic.make None in
  let start _ =
    Atomic.set shown (Some (Workers.create ~workers:1 ~queue:4 ~pool (fun _ -> ref 0)))
  in
  let workers () = Option.get (Atomic.get shown) in
  let post _ =
    let job cell =
      Task.check ();
      count cell
    in
    match Workers.submit (workers ()) job with
    | n -> check "counted" (n > 0)
    | exception (Workers.Rejected _ | Task.Cancelled) -> ()
  in
  let drain round =
    loiter round;
    Workers.drain ~grace:0. (workers ())
  in
  race 300 ~before:start [ post; post; drain ]

let () =
  main
    [
      case "workers: values are handed on" (with_pool 2 handed_on);
      case "workers: posted by three" (with_pool 2 posted);
      case "workers: the end" (with_pool 2 ends);
    ]
