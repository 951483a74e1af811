(* Calls from outside the pool, one branch of which waits, and goes on before another can end. Each kind of call, from each
   kind of caller, woken in each way, on 1, 2 and 4 workers, beside a process that uses a CPU: each ends.

   Then: no worker stays idle while a task waits, wherever the task comes from, and wherever the caller waits. *)

open Harness
module Task = Muster.Task

(* {2 What ends a wait} *)

let shortly = 0.002

let message () =
  let chan = Muster.Chan.unbounded () in
  let send () =
    Thread.delay shortly;
    Muster.Chan.send chan ()
  in
  let thread = Thread.create send () in
  Muster.Chan.recv chan;
  Thread.join thread

let deadline () =
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  try Task.with_deadline shortly never with Task.Deadline_exceeded -> ()

let blocking () = Task.blocking (fun () -> Unix.sleepf shortly)
let await () = Task.await (Task.async blocking)

let wakers =
  [ ("blocking", blocking); ("message", message); ("deadline", deadline); ("await", await) ]

(* {2 Calls}

   [wait] returns after a while. What [until] does ends only when the code after [wait] has said so. *)

let until flag =
  while not (Atomic.get flag) do
    Task.check ()
  done

let two_branches call wait =
  let flag = Atomic.make false in
  let first () =
    wait ();
    Atomic.set flag true
  in
  call first (fun () -> until flag)

let by_index first second i = if i = 0 then first () else second ()
let both = two_branches (fun f g -> ignore (Muster.both f g))

let parallel_for =
  two_branches (fun f g -> Muster.parallel_for ~grain:1 ~start:0 ~finish:1 (by_index f g))

let parallel_reduce =
  two_branches (fun f g ->
      let body i = by_index f g i in
      Muster.parallel_reduce ~grain:1 ~start:0 ~finish:1 ~combine:(fun () () -> ()) ~init:() body)

let list_iter = two_branches (fun f g -> Muster.Parallel.List.iter (by_index f g) [ 0; 1 ])
let broadcast wait = Muster.Team.broadcast (Muster.Pool.default ()) (fun i -> if i = 0 then wait ())
let map = two_branches (fun f g -> ignore (Muster.Parallel.Array.map (by_index f g) [| 0; 1 |]))
let all = two_branches (fun f g -> ignore (Task.all [ f; g ]))
let first wait = Task.first [ wait; (fun () -> until (Atomic.make false)) ]

let scope wait =
  let endless s =
    ignore (Task.fork s (fun () -> until (Atomic.make false)));
    wait ();
    Task.cancel_scope s
  in
  try Task.scope endless with Task.Cancelled -> ()

let fork =
  two_branches (fun f g ->
      Task.scope (fun s ->
          let task = Task.fork s g in
          f ();
          Task.await task))

let with_deadline =
  two_branches (fun f g ->
      Task.with_deadline 60. (fun () ->
          let task = Task.async g in
          f ();
          Task.await task))

let calls =
  [
    ("both", both);
    ("parallel_for", parallel_for);
    ("parallel_reduce", parallel_reduce);
    ("Array.map", map);
    ("List.iter", list_iter);
    ("broadcast", broadcast);
    ("all", all);
    ("first", first);
    ("scope", scope);
    ("fork", fork);
    ("with_deadline", with_deadline);
  ]

(* {2 Callers} *)

let callers = [ ("main program", fun f -> f ()); ("thread", in_thread); ("domain", in_domain) ]

let beside_a_busy_process f =
  let null = Unix.openfile "/dev/null" [ Unix.O_RDWR ] 0 in
  let arguments = [| "sh"; "-c"; "while kill -0 $PPID; do :; done" |] in
  let busy = Unix.create_process "sh" arguments null null null in
  let finally () =
    Unix.kill busy Sys.sigkill;
    ignore (Unix.waitpid [] busy);
    Unix.close null
  in
  Fun.protect f ~finally

(* Beside the busy process a round takes up to a second. MUSTER_ROUNDS: more of them. *)
let times =
  let of_text text = Int.max 1 (int_of_float (float_of_string text)) in
  Option.fold (Sys.getenv_opt "MUSTER_ROUNDS") ~none:1 ~some:of_text

let each_ends call workers () =
  let from_one (who, enter) =
    List.iter
      (fun (waker, wait) ->
        for i = 1 to times do
          match enter (fun () -> call wait) with
          | () -> ()
          | exception exn -> failf "%s, %s, %d: %s" who waker i (Printexc.to_string exn)
        done)
      wakers
  in
  beside_a_busy_process (fun () ->
      with_default workers (fun () -> List.iter from_one callers))

let cases (name, call) =
  let on workers = case ~seconds:120 (Printf.sprintf "%d workers" workers) (each_ends call workers) in
  (name, List.map on [ 1; 2; 4 ])

(* {2 All workers}

   Each of [n] tasks waits, in a loop without a checkpoint, until all have begun: so each needs a worker of its own. *)

let meeting n =
  let here = Atomic.make 0 in
  let give_up = Unix.gettimeofday () +. 20. in
  fun () ->
    Atomic.incr here;
    while Atomic.get here < n && Unix.gettimeofday () < give_up do
      Domain.cpu_relax ()
    done;
    if Atomic.get here < n then failf "%d of %d tasks have begun" (Atomic.get here) n

let start n meet = List.init n (fun _ -> Task.async meet)
let await_all = List.iter Task.await
let back_from_blocking meet () = Task.blocking (fun () -> Unix.sleepf shortly); meet ()

let in_a_scope n meet =
  Task.scope (fun s ->
      for _ = 1 to n do
        ignore (Task.fork s meet)
      done)

let counting_down latch meet () =
  meet ();
  Muster.Latch.count_down latch

let at_a_latch n meet =
  let latch = Muster.Latch.create n in
  ignore (start n (counting_down latch meet));
  Muster.Latch.await latch

let at_a_channel n meet =
  let chan = Muster.Chan.unbounded () in
  let tasks = start n (fun () -> meet (); Muster.Chan.send chan ()) in
  List.iter (fun _ -> Muster.Chan.recv chan) tasks

let at_a_delay n meet =
  let over = Atomic.make 0 in
  ignore (start n (fun () -> meet (); Atomic.incr over));
  while Atomic.get over < n do
    Thread.delay shortly
  done

let sent_by_a_thread n meet =
  let chan = Muster.Chan.unbounded () in
  let send () =
    Thread.delay shortly;
    for _ = 1 to n do
      Muster.Chan.send chan ()
    done
  in
  let thread = Thread.create send () in
  in_a_scope n (fun () -> Muster.Chan.recv chan; meet ());
  Thread.join thread

(* The caller waits in [Thread.join] or [Domain.join] meanwhile. *)
let from enter n meet = enter (fun () -> await_all (start n meet))
let for_main enter n meet = await_all (enter (fun () -> start n meet))

let waits =
  [
    ("await, in order", fun n meet -> await_all (start n meet));
    ("await, the newest first", fun n meet -> await_all (List.rev (start n meet)));
    ("scope", in_a_scope);
    ("scope, back from blocking", fun n meet -> in_a_scope n (back_from_blocking meet));
    ("await, back from blocking", fun n meet -> await_all (start n (back_from_blocking meet)));
    ("scope, woken by a thread", sent_by_a_thread);
    ("a thread's await", from in_thread);
    ("a domain's await", from in_domain);
    ("await of a thread's tasks", for_main in_thread);
    ("await of a domain's tasks", for_main in_domain);
    ("latch", at_a_latch);
    ("channel", at_a_channel);
    ("delay", at_a_delay);
  ]

let all_work wait workers () = with_default workers (fun () -> wait workers (meeting workers))

let meetings (name, wait) =
  let on workers = case ~seconds:60 (Printf.sprintf "%s, %d workers" name workers) (all_work wait workers) in
  List.map on [ 1; 2; 4 ]

let () =
  Alcotest.run "callers"
    (List.map cases calls @ [ ("all workers take part", List.concat_map meetings waits) ])
