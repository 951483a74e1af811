module Pool = Muster.Pool
module Task = Muster.Task

let warm () =
  let pool = Pool.default () in
  Muster.Team.broadcast pool ignore;
  let fib () = Muster_examples.Fib.parallel 25 in
  ignore (Sys.opaque_identity (Pool.run pool fib));
  pool

let cpu_seconds () =
  let times = Unix.times () in
  times.tms_utime +. times.tms_stime

let cpu_time f =
  let before = cpu_seconds () in
  f ();
  [ ("time", [ (cpu_seconds () -. before) *. 1e9 ]) ]

let cpu_of_pool ~seconds =
  ignore (warm ());
  cpu_time (fun () -> Unix.sleepf seconds)

(* The task has begun on another worker before it is awaited, if there is one: else the
   main program would run it itself. *)
let cpu_of_await ~seconds =
  let begun = Atomic.make false in
  let sleep () =
    Atomic.set begun true;
    Unix.sleepf seconds
  in
  let wait_for_begin () =
    let tries = ref 500 in
    while (not (Atomic.get begun)) && !tries > 0 do
      decr tries;
      Unix.sleepf 1e-3
    done
  in
  ignore (warm ());
  let task = Task.async sleep in
  wait_for_begin ();
  cpu_time (fun () -> Task.await task)

let first_region ~after ~times =
  let pool = warm () in
  let once _ =
    Unix.sleepf after;
    Clock.time (fun () -> Muster.Team.broadcast pool ignore)
  in
  [ ("time", List.init times once) ]

let trees_per_task = 16

let phase kind =
  let total =
    Muster.parallel_reduce ~start:1 ~finish:(Phase.before_trees / trees_per_task)
      ~combine:( + ) ~init:0 (fun _ -> Trees.build_and_drop trees_per_task)
  in
  ignore (Sys.opaque_identity total);
  [ ("time", [ Phase.time kind ]) ]
