(* Pools that open and close, callers of all kinds, domains that come and go, sleep and are
   woken. *)

module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team
open Rounds

let fib = Fib.by_forks

(* {2 Open and close} *)

(* What the tasks that nobody awaits did is seen when the pool is closed. *)
let opened_and_closed () =
  repeat 60 (fun round ->
      let cells = Array.make 8 0 in
      let pool = Pool.create ~domains:3 ~oversubscribe:true () in
      Pool.run pool (fun () ->
          Array.iteri (fun i _ -> ignore (Task.async (fun () -> cells.(i) <- round))) cells);
      Pool.close pool;
      check "all tasks" (Array.for_all (fun cell -> cell = round) cells))

(* The first pools of the process: this case comes first. *)
let opened_at_once () =
  let use _ =
    Pool.with_ ~domains:2 ~oversubscribe:true (fun _ -> check "fib" (fib 5 = 5))
  in
  race 40 [ use; use; use ]

let default_at_once () = race 200 (List.init 3 (fun _ _ -> check "fib" (fib 6 = 8)))

(* A pool closes while others still try to use it. *)
let closed_in_use () =
  let pool = ref None in
  let before _ = pool := Some (Pool.create ~domains:2 ~oversubscribe:true ()) in
  let used () = Option.get !pool in
  let use _ =
    match Pool.run (used ()) (fun () -> fib 4) with
    | n -> check "fib" (n = 3)
    | exception Invalid_argument _ -> ()
  in
  race 60 ~before [ (fun _ -> Pool.close (used ())); use; use ]

let found_and_read pool =
  let name = "tsan" in
  let named = Pool.create ~name ~domains:1 () in
  let read _ =
    ignore (Pool.find name);
    ignore (Pool.stats pool).tasks;
    ignore (Pool.stats named).decisions
  in
  race 300 [ (fun _ -> ignore (Pool.run pool (fun () -> fib 8))); read; read ];
  Pool.close named

(* {2 Callers} *)

let in_threads n f =
  let threads = List.init n (fun i -> Thread.create f i) in
  List.iter Thread.join threads

(* Threads of one domain share its domain-local storage, and so what forks look at. *)
let threads pool =
  let failed = Atomic.make None in
  let cells = Array.make 3 0 in
  let work round i =
    try
      Pool.run pool (fun () ->
          cells.(i) <- cells.(i) + 1;
          let task = Task.async (fun () -> fib 6) in
          Thread.yield ();
          check "fib" (fib 7 = 13 && Task.await task = 8));
      check "its own" (cells.(i) = round + 1)
    with exn -> Atomic.set failed (Some exn)
  in
  repeat 100 (fun round -> in_threads 3 (work round));
  Option.iter raise (Atomic.get failed)

(* Several domains with threads each; more callers than places. *)
let crowd pool =
  let count = Atomic.make 0 in
  let one _ = Pool.run pool (fun () -> if fib 5 = 5 then Atomic.incr count) in
  race 20 (List.init 3 (fun _ _ -> in_threads 8 one));
  check "all came" (Atomic.get count = 24 * times 20)

(* Each pool's tasks use the other. *)
let two_pools first =
  Fun.flip (with_pool 2) () @@ fun second ->
  let cells = [| 0; 0 |] in
  let across i here there _ =
    let task () =
      cells.(i) <- cells.(i) + 1;
      fib 5
    in
    check "fib" (Pool.run here (fun () -> Pool.run there task) = 5)
  in
  race 300 [ across 0 first second; across 1 second first ];
  check "each round" (cells = Array.make 2 (times 300))

(* {2 Coming, going, sleeping, waking} *)

let sleeping pool =
  let data = ref 0 in
  let wake round =
    data := round;
    Unix.sleepf 0.002;
    let task =
      Pool.run pool (fun () ->
          Task.async (fun () ->
              incr data;
              !data))
    in
    check "woken" (Task.await task = round + 1);
    Team.broadcast pool ignore
  in
  repeat 40 wake

(* After 150 ms the domains end; others start. *)
let ending pool =
  let started () = (Pool.stats pool).domains_started in
  let before = started () in
  repeat 3 (fun _ ->
      Unix.sleepf 0.3;
      check "fib" (Pool.run pool (fun () -> fib 10) = 55);
      Team.broadcast pool (fun _ -> pauses 10));
  check "domains came back" (started () > before)

module Core = Muster_core

let with_core_pool f () =
  let pool = Core.Pool.create ~domains:2 ~oversubscribe:true () in
  Fun.protect ~finally:(fun () -> Core.Pool.close pool) (fun () -> f pool)

exception Struck of int ref

(* What struck a resident is raised in the first caller that comes by. *)
let stray pool =
  let raised = Atomic.make 0 in
  let leave round = Core.Worker.leave_stray pool (Struck (ref round)) in
  let take round =
    relax_until (fun () ->
        match Core.Worker.take_stray pool with
        | () -> false
        | exception Struck content ->
          check "its content" (!content = round);
          Atomic.incr raised;
          true)
  in
  race 1_000 [ leave; take ];
  check "each once" (Atomic.get raised = times 1_000)

(* Two ask for residents, long after a refusal. *)
let refused_and_needed pool =
  let open Core in
  let before _ = Atomic.set pool.Slot.refused 1 in
  let ask _ =
    Budget.need pool 1 ~ms:1;
    Sleep.hire pool;
    check "needed" (Budget.needed pool <= 1)
  in
  race 500 ~before [ ask; ask ]

(* Pools that do not insist share one budget, which callers change. *)
let budget () =
  let use _ = Pool.with_ ~domains:2 (fun _ -> ignore (fib 12)) in
  race 20 [ use; use ]

let mixed pool =
  let cells = Array.make 64 0 in
  let loops round =
    Pool.run pool (fun () ->
        Muster.parallel_for ~grain:1 ~start:0 ~finish:63 (fun i ->
            pauses 8;
            cells.(i) <- cells.(i) + 1));
    check "all cells" (Array.for_all (fun cell -> cell = round + 1) cells)
  in
  let forks _ = check "fib" (Pool.run pool (fun () -> fib 9) = 34) in
  let tasks _ = check "tasks" (List.length (Task.all (List.init 5 (fun _ () -> fib 3))) = 5) in
  race 200 [ loops; forks; tasks; (fun _ -> Team.broadcast pool ignore) ]

let () =
  main
    [
      case "open: three pools at once" opened_at_once;
      case "open: the default pool, by three" default_at_once;
      case "close: after tasks nobody awaits" opened_and_closed;
      case "close: while others use it" closed_in_use;
      case "stats: read beside work" (with_pool 2 found_and_read);
      case "callers: threads of one domain" (with_pool 2 threads);
      case "callers: more than there are places" (with_pool 2 crowd);
      case "callers: each pool uses the other" (with_pool 2 two_pools);
      case "sleep: woken for each task" (with_pool 2 sleeping);
      case "sleep: domains end and come back" (with_pool 2 ending);
      case "hire: refused and needed" (with_core_pool refused_and_needed);
      case "stray: left by one, raised by another" (with_core_pool stray);
      case "governor: pools that share the CPUs" budget;
      case "governor: loops, forks, tasks, regions" (with_pool 3 mixed);
    ]
