(* How programs start and end, and what they do under limits that would disturb other tests. *)

open Common

let default_size () = say "%d" (Pool.size (Pool.default ()))

(* Again and again, by domains that need it at the same moment. All of them together the runtime can give once. *)
let default_by_several () =
  for _ = 1 to 5 do
    let here = Atomic.make 0 in
    let ask () =
      Atomic.incr here;
      while Atomic.get here < 4 do
        Domain.cpu_relax ()
      done;
      Pool.default ()
    in
    let askers = List.init 4 (fun _ -> Domain.spawn ask) in
    let pools = List.map Domain.join askers in
    let pool = Pool.default () in
    assert (List.for_all (fun other -> other == pool) pools);
    say "%d" (Pool.size pool);
    Pool.close pool
  done

let end_after_work () =
  work ();
  say "done"

let end_beside_sleeper () =
  ignore (begun (fun () -> Unix.sleepf 30.));
  work ()

let exit_with_3 () =
  work ();
  exit 3

let work_at_exit () =
  at_exit (fun () ->
      work ();
      say "%d" (Task.await (Task.async (fun () -> 42))))

let fail_uncaught () =
  work ();
  failwith "the main program failed"

let lose_exception () =
  ignore (Task.async (fun () -> failwith "nobody awaits me"));
  (try
     Task.scope (fun s ->
         Task.on_cancel (fun () -> failwith "of a hook");
         Task.cancel_scope s)
   with Task.Cancelled -> ());
  Unix.sleepf 0.3;
  Gc.full_major ()

(* The pool has nothing to do, so one of its workers finds the failure. *)
let lose_exception_to handler =
  let begun = Atomic.make false in
  Task.set_uncaught_handler (fun _ _ ->
      Atomic.set begun true;
      handler ());
  let lose () = ignore (Task.async (fun () -> failwith "nobody awaits me")) in
  (Sys.opaque_identity lose) ();
  while not (Atomic.get begun) do
    Unix.sleepf 0.001;
    Gc.full_major ()
  done

let end_beside_report () =
  lose_exception_to (fun () ->
      Unix.sleepf 0.1;
      say "told")

let exit_in_report () =
  lose_exception_to (fun () -> exit 3);
  Unix.sleepf 30.

let await_sleeper () =
  let sleep () =
    say "asleep";
    Unix.sleepf 30.
  in
  Task.await (Task.async sleep)

let await_sleeper_catching_break () =
  Sys.catch_break true;
  match await_sleeper () with () -> () | exception Sys.Break -> say "break"

let sleep_blocking () =
  Task.blocking (fun () ->
      say "asleep";
      Unix.sleepf 30.)

let end_beside_blocking () =
  let started = Atomic.make false in
  let sleep () =
    Task.blocking (fun () ->
        Atomic.set started true;
        Unix.sleepf 30.)
  in
  ignore (Task.async sleep);
  work ();
  until started

let blocking_catching_break () =
  Sys.catch_break true;
  match Task.await (Task.async sleep_blocking) with () -> () | exception Sys.Break -> say "break"

(* Threads of the process, where the system tells. The last three are the main domain's, the one
   that stands in for it during collections, and OCaml's for ticks, which stays once the watchdog's
   thread was there. *)
let threads () =
  let tasks = "/proc/self/task" in
  if Sys.file_exists tasks then Array.length (Sys.readdir tasks) else 0

let blocking_leaves_nothing () =
  let peak = Atomic.make 0 in
  let call () =
    Task.blocking (fun () ->
        Unix.sleepf 0.05;
        Atomic.set peak (max (Atomic.get peak) (threads ())))
  in
  for _ = 1 to 2 do
    Pool.with_ ~domains:1 (fun _ -> ignore (Task.all (List.init 30 (fun _ -> call))));
    assert (threads () = 0 || Atomic.get peak > 30);
    while threads () > 3 do
      Unix.sleepf 0.01
    done
  done

(* Asks for more domains than the runtime can give. *)
let ask_too_many () =
  with_pool 200 @@ fun pool ->
  let seen = Array.init (Pool.size pool) (fun _ -> Atomic.make 0) in
  Muster.Team.broadcast pool (fun worker -> Atomic.incr seen.(worker));
  assert (Array.for_all (fun count -> Atomic.get count = 1) seen);
  Pool.run pool work;
  say "%d" (Pool.size pool)

let works_when_all_taken tell =
  without_domains @@ fun taken ->
  with_pool 3 (fun pool ->
      works pool;
      let hit = Array.init (Pool.size pool) (fun _ -> Atomic.make 0) in
      Muster.Team.broadcast pool (fun worker -> Atomic.incr hit.(worker));
      assert (Array.for_all (fun count -> Atomic.get count = 1) hit);
      Pool.run pool (fun () -> assert (Task.await (Task.async (fun () -> Fib.by_forks 10)) = 55));
      tell taken (Pool.size pool));
  assert (Task.await (Task.async (fun () -> Fib.by_forks 10)) = 55);
  work ()

let want_pool_when_all_taken () = works_when_all_taken (fun _ size -> say "%d" size)
let all_taken () = works_when_all_taken (say "%d taken, %d workers")

let block_when_all_taken () =
  without_domains @@ fun _ ->
  with_pool 3 @@ fun pool ->
  Pool.run pool (fun () ->
      let from, into = Unix.pipe () in
      let read () = Task.blocking (fun () -> Unix.read from (Bytes.create 1) 0 1) in
      let write () = Task.blocking (fun () -> Unix.write into (Bytes.make 1 '!') 0 1) in
      assert (Task.all [ read; read; write; write ] = [ 1; 1; 1; 1 ]))

(* For a process that can have no thread but its first, which so makes blocking calls itself. *)
let work_on_one_thread () =
  let blocked () = Thread.sigmask SIG_BLOCK [] in
  let before = blocked () in
  let task () =
    Task.await
      (Task.async (fun () ->
           work ();
           42))
  in
  with_pool 3 (fun pool ->
      assert (Pool.run pool task = 42);
      assert (Pool.run pool (fun () -> Task.blocking task) = 42);
      assert (blocked () = before);
      say "%d" (Pool.size pool));
  assert (task () = 42)

(* For a process that soon has no descriptor left. *)
let read_quota_without_files () =
  let module Cpu = Muster_core.Cpu in
  let free = Cpu.available () and groups = "/proc/self/cgroup" in
  let rec fill () =
    match Unix.openfile groups [ Unix.O_RDONLY ] 0 with
    | _ -> fill ()
    | exception Unix.Unix_error (EMFILE, _, _) -> ()
  in
  if Sys.file_exists groups then fill ();
  let before = if Sys.file_exists groups then 1 else free in
  assert (Cpu.available_now ~before = before);
  assert (Cpu.available_now ~before:(free + 1) <= free)

(* How many domains work for a pool of three, while the program has all others, and afterwards; and how often
   the pool tells of those that it could not have. *)
let refused_once () =
  let used pool ~until:holds =
    let seen = Array.make 3 false in
    let all () = Array.fold_left (fun n here -> n + Bool.to_int here) 0 seen in
    let late = Unix.gettimeofday () +. 10. in
    let step _ =
      let until = Unix.gettimeofday () +. 2e-4 in
      while Unix.gettimeofday () < until do
        ()
      done
    in
    while Unix.gettimeofday () < late && not (holds (all ())) do
      Muster.Team.for_n_dynamic pool 100 (fun ~worker i ->
          seen.(worker) <- true;
          step i)
    done;
    all ()
  in
  let pool = Muster.Pool.create ~domains:3 ~oversubscribe:true () in
  (* All three, when the pool's own have ended. *)
  let rec take_three () =
    let go = Atomic.make false in
    let taken = take_domains (fun () -> until go) in
    let let_go () =
      Atomic.set go true;
      List.iter Domain.join taken
    in
    if List.length taken = 3 then let_go
    else begin
      let_go ();
      Unix.sleepf 0.05;
      take_three ()
    end
  in
  let let_go = take_three () in
  let is_refusal (it : Muster.Pool.decision) = it.what = "no domain started" in
  let told () = List.length (List.filter is_refusal (Muster.Pool.stats pool).decisions) in
  let begun = Unix.gettimeofday () in
  let alone = used pool ~until:(fun _ -> told () > 0 && Unix.gettimeofday () > begun +. 0.5) in
  let_go ();
  let together = used pool ~until:(fun n -> n = 3) in
  Printf.printf "%d %d %d\n" alone together (told ())

(* As the watchdog starts, while the one thread of the program neither blocks nor allocates. *)
let start_beside_spin () =
  let ran = Atomic.make false in
  if not (Muster_core.Machine.start_thread (fun () -> Atomic.set ran true)) then exit 1;
  while not (Atomic.get ran) do
    Domain.cpu_relax ()
  done

let programs =
  [
    ("start-beside-spin", start_beside_spin);
    ("default-size", default_size);
    ("default-by-several", default_by_several);
    ("end-after-work", end_after_work);
    ("end-beside-sleeper", end_beside_sleeper);
    ("exit-with-3", exit_with_3);
    ("work-at-exit", work_at_exit);
    ("fail-uncaught", fail_uncaught);
    ("lose-exception", lose_exception);
    ("end-beside-report", end_beside_report);
    ("exit-in-report", exit_in_report);
    ("await-sleeper", await_sleeper);
    ("await-sleeper-catching-break", await_sleeper_catching_break);
    ("end-beside-blocking", end_beside_blocking);
    ("blocking-catching-break", blocking_catching_break);
    ("block-when-all-taken", block_when_all_taken);
    ("blocking-leaves-nothing", blocking_leaves_nothing);
    ("ask-too-many", ask_too_many);
    ("want-pool-when-all-taken", want_pool_when_all_taken);
    ("all-taken", all_taken);
    ("work-on-one-thread", work_on_one_thread);
    ("refused-once", refused_once);
    ("read-quota-without-files", read_quota_without_files);
  ]
