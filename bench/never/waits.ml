module Task = Muster.Task

(* So many tasks, each of so many milliseconds. *)
type wait = { tasks : int; ms : float; on : int -> (unit -> unit) -> unit }

let rec spin n = if n > 0 then spin (Sys.opaque_identity (n - 1))

(* The fastest of several, which nothing interrupted. *)
let turns_of_a_ms =
  let n = 1_000_000 in
  let times = List.init 20 (fun _ -> Clock.time (fun () -> spin n)) in
  float_of_int n *. 1e6 /. List.fold_left Float.min infinity times

let start n work = List.init n (fun _ -> Task.async work)
let awaited n work = List.iter Task.await (start n work)

let in_a_scope n work =
  Task.scope (fun s ->
      for _ = 1 to n do
        ignore (Task.fork s work)
      done)

let back_from_blocking n work =
  in_a_scope n (fun () ->
      Task.blocking (fun () -> Unix.sleepf 1e-3);
      work ())

let at_a_latch n work =
  let latch = Muster.Latch.create n in
  let task () =
    work ();
    Muster.Latch.count_down latch
  in
  ignore (start n task);
  Muster.Latch.await latch

let asleep n work =
  let over = Atomic.make 0 in
  let task () =
    work ();
    Atomic.incr over
  in
  ignore (start n task);
  while Atomic.get over < n do
    Unix.sleepf 1e-3
  done

let waits =
  [
    ("await, short tasks", { tasks = 64; ms = 0.4; on = awaited });
    ("await", { tasks = 64; ms = 8.; on = awaited });
    ("scope, back from blocking", { tasks = 6; ms = 100.; on = back_from_blocking });
    ("latch", { tasks = 6; ms = 100.; on = at_a_latch });
    ("sleep", { tasks = 6; ms = 100.; on = asleep });
  ]

let run { tasks; ms; on } ~rounds =
  let turns = int_of_float (ms *. turns_of_a_ms) in
  let work () = spin turns in
  let in_a_row () =
    for _ = 1 to tasks do
      work ()
    done
  in
  Muster.Team.broadcast (Muster.Pool.default ()) ignore;
  let once _ =
    let sequential = Clock.time in_a_row in
    (sequential, Clock.time (fun () -> on tasks work))
  in
  let sequential, parallel = List.split (List.init rounds once) in
  [ ("sequential", sequential); ("parallel", parallel) ]
