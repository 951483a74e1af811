(* A task that joins a systhread of its worker's domain keeps that worker. So nobody else may be there to
   do what the thread waits for, while those outside only poll, or wait for it themselves. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Chan = Muster.Chan

(* [f ()] in a thread that the only resident joins. *)
let joined_by_resident pool f =
  let result = Atomic.make None in
  let join () = Atomic.set result (Some (outcome (fun () -> in_thread f))) in
  Pool.run pool (fun () -> ignore (Task.async join));
  wait_until (fun () -> Atomic.get result <> None);
  match Option.get (Atomic.get result) with Ok v -> v | Error exn -> raise exn

let on_two f () = with_domains 2 (fun pool -> joined_by_resident pool (fun () -> f pool))
let task f = ignore (Task.async f)

(* Ten tasks that wait for a meeting with who receives. *)
let receive () =
  let chan = Chan.bounded 0 in
  List.iter (fun i -> task (fun () -> Chan.send chan i)) (List.init 10 Fun.id);
  let sum = List.fold_left (fun sum _ -> sum + Chan.recv chan) 0 (List.init 10 Fun.id) in
  check_int "sum" 45 sum

let within pool = Pool.run pool receive
let within_scope pool = Pool.run pool (fun () -> Task.scope (fun _ -> receive ()))
let within_another pool = Pool.run pool (fun () -> run_on 2 (fun () -> Pool.run pool receive))
let outside _ = receive ()

(* What the resident has handed out itself lies in its own deque. *)
let of_resident () =
  with_domains 2 @@ fun pool ->
  let chan = Chan.bounded 1 and done_ = Atomic.make false in
  let join () =
    task (fun () -> Chan.send chan 7);
    in_thread (fun () -> Pool.run pool (fun () -> check_int "received" 7 (Chan.recv chan)));
    Atomic.set done_ true
  in
  Pool.run pool (fun () -> task join);
  wait_until (fun () -> Atomic.get done_)

(* The newest task comes first: it needs the lock that the waiting thread holds, and the next one
   needs that task. *)
let tasks_need_its_lock pool =
  Pool.run pool @@ fun () ->
  let lock = Muster.Mutex.create () and first = Chan.bounded 1 and both = Chan.bounded 2 in
  Muster.Mutex.lock lock;
  task (fun () -> Chan.send first ());
  let locks = ref None in
  task (fun () ->
      Task.await (Option.get !locks);
      Chan.send both ());
  locks := Some (Task.async (fun () -> Muster.Mutex.protect lock (fun () -> Chan.send both ())));
  Chan.recv first;
  Muster.Mutex.unlock lock;
  Chan.recv both;
  Chan.recv both

(* The thread only polls; one outside waits for what it does then. *)
let waits_outside () =
  with_domains 2 @@ fun pool ->
  let chan = Chan.bounded 0 and flag = Atomic.make false in
  let poll () =
    task (fun () -> Atomic.set flag true);
    wait_until (fun () -> Atomic.get flag)
  in
  Pool.run pool (fun () ->
      task (fun () ->
          in_thread poll;
          Chan.send chan 7));
  check_int "received" 7 (in_thread (fun () -> Chan.recv chan))

let cancelled_across_pools pool =
  let went_on = ref false in
  check_raises "the scope's code" Task.Cancelled (fun () ->
      Pool.run pool @@ fun () ->
      Task.scope (fun s ->
          Task.cancel_scope s;
          run_on 2 (fun () ->
              Task.check ();
              went_on := true)));
  check_bool "went on" false !went_on

let () =
  Alcotest.run "joined threads"
    [
      ( "a thread that its pool's domain joins",
        [
          case "the thread waits within the pool" (on_two within);
          case "the thread waits within a scope" (on_two within_scope);
          case "the thread waits within it, through another pool" (on_two within_another);
          case "the thread waits outside the pool" (on_two outside);
          case "the thread waits for a task of the joining worker" of_resident;
          case "the thread holds a lock that its tasks need" (on_two tasks_need_its_lock);
          case "a caller outside waits for the joining task" waits_outside;
          case "the joining task is cancelled across pools" (on_two cancelled_across_pools);
        ] );
    ]
