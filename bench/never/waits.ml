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

let at_a_channel n work =
  let over = Muster.Chan.unbounded () in
  let task () =
    work ();
    Muster.Chan.send over ()
  in
  ignore (start n task);
  for _ = 1 to n do
    Muster.Chan.recv over
  done

let in_thread f = Thread.join (Thread.create f ())

let woken_by_a_thread n work =
  let go = Muster.Chan.unbounded () in
  let task () =
    Muster.Chan.recv go;
    work ()
  in
  let tasks = start n task in
  in_thread (fun () ->
      for _ = 1 to n do
        Muster.Chan.send go ()
      done);
  List.iter Task.await tasks

let within_all n work = ignore (Task.all (List.init n (fun _ -> work)))
let within_run n work = Muster.Pool.(run (default ())) (fun () -> awaited n work)
let from_a_thread n work = in_thread (fun () -> awaited n work)
let from_a_domain n work = Domain.join (Domain.spawn (fun () -> awaited n work))

(* {2 A server} *)

let connections = 8

let rec serve socket work =
  let byte = Bytes.create 1 in
  if Task.blocking (fun () -> Unix.read socket byte 0 1) = 1 then begin
    work ();
    ignore (Task.blocking (fun () -> Unix.write socket byte 0 1));
    serve socket work
  end

let ask socket times =
  let byte = Bytes.make 1 '?' in
  for _ = 1 to times do
    ignore (Unix.write socket byte 0 1);
    ignore (Unix.read socket byte 0 1)
  done;
  Unix.close socket

let server n work =
  let pairs = List.init connections (fun _ -> Unix.(socketpair PF_UNIX SOCK_STREAM 0)) in
  let client (_, theirs) = Thread.create (ask theirs) (n / connections) in
  let clients = List.map client pairs in
  Task.scope (fun s ->
      List.iter (fun (ours, _) -> ignore (Task.fork s (fun () -> serve ours work))) pairs);
  List.iter Thread.join clients;
  List.iter (fun (ours, _) -> Unix.close ours) pairs

let waits =
  [
    ("await, short tasks", { tasks = 64; ms = 0.4; on = awaited });
    ("await", { tasks = 64; ms = 8.; on = awaited });
    ("scope, back from blocking", { tasks = 6; ms = 100.; on = back_from_blocking });
    ("latch", { tasks = 6; ms = 100.; on = at_a_latch });
    ("sleep", { tasks = 6; ms = 100.; on = asleep });
    ("message", { tasks = 6; ms = 100.; on = at_a_channel });
    ("woken by a thread", { tasks = 6; ms = 100.; on = woken_by_a_thread });
    ("Task.all", { tasks = 64; ms = 8.; on = within_all });
    ("within Pool.run", { tasks = 64; ms = 8.; on = within_run });
    ("from a thread", { tasks = 6; ms = 100.; on = from_a_thread });
    ("from a domain", { tasks = 6; ms = 100.; on = from_a_domain });
    ("server", { tasks = 48; ms = 20.; on = server });
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
