(* Programs that end, fork or are interrupted. *)

open Common

(* Computes for ever, and can be interrupted anywhere. *)
let spin () =
  while true do
    ignore (Sys.opaque_identity (ref 0))
  done

(* {2 Ctrl-C} *)

(* All compute until one of them was struck. *)
let break_8 () =
  Sys.catch_break true;
  let busy = Atomic.make 0 and struck = Atomic.make false in
  let work _ =
    if Atomic.fetch_and_add busy 1 = 7 then say "busy";
    try
      while not (Atomic.get struck) do
        ignore (Sys.opaque_identity (ref 0))
      done
    with Sys.Break ->
      Atomic.set struck true;
      raise Sys.Break
  in
  with_pool 8 @@ fun pool ->
  (match Muster.Team.broadcast pool work with
  | () -> say "nothing raised"
  | exception Sys.Break -> say "break");
  works pool

(* Nobody catches anything: the signal ends the program. *)
let close_beside_endless () =
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  Pool.run pool (fun () -> ignore (begun spin));
  say "closing";
  Pool.close pool

(* The signal ends either the wait or the task, and with it the wait. *)
let close_catching_break () =
  Sys.catch_break true;
  match close_beside_endless () with
  | () -> say "the task was struck"
  | exception Sys.Break -> say "the wait was struck"

(* {2 Ends} *)

let count_at_exit () = at_exit (fun () -> say "at exit")

let exit_3 () = exit 3
let in_task () = Task.await (Task.async exit_3)

let in_resident () =
  ignore (begun exit_3);
  Unix.sleepf 30.

let in_loop () =
  let body i = if i = 700 then exit 3 else ignore (Fib.by_forks 5) in
  Muster.parallel_for ~grain:1 ~start:1 ~finish:1000 body

let in_team pool = Muster.Team.broadcast pool (fun worker -> if worker = 2 then exit 3)
let in_scope () = Task.scope (fun s -> Task.await (Task.fork s exit_3))
let in_blocking () = Task.await (Task.async (fun () -> Task.blocking exit_3))
let in_run f pool = Pool.run pool f

let exits =
  [
    ("task", in_run in_task);
    ("resident", in_run in_resident);
    ("loop", in_run in_loop);
    ("team", in_team);
    ("scope", in_run in_scope);
    ("blocking", in_run in_blocking);
    ("run", in_run exit_3);
  ]

let exit_in f () =
  count_at_exit ();
  with_pool 3 f

(* The pool is closed by the very task that it would wait for. *)
let exit_and_close f () =
  count_at_exit ();
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  at_exit (fun () -> Pool.close pool);
  f pool

let exit_programs =
  let programs (where, f) =
    [ ("exit-in-" ^ where, exit_in f); ("exit-and-close-in-" ^ where, exit_and_close f) ]
  in
  List.concat_map programs exits

let main_returns () =
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  Pool.run pool (fun () ->
      ignore (begun spin);
      ignore (begun (fun () -> Unix.sleepf 30.));
      for _ = 1 to 1000 do
        ignore (Task.async spin)
      done;
      say "returns";
      Stdlib.exit 0)

let main_returns_outside () =
  ignore (begun spin);
  for _ = 1 to 1000 do
    ignore (Task.async spin)
  done;
  say "returns"

(* A pool that is busy, one that was closed, and none so far. *)
let at_exit_uses_pools () =
  let closed = Pool.create ~domains:2 ~oversubscribe:true () in
  let busy = Pool.create ~domains:2 ~oversubscribe:true () in
  at_exit (fun () ->
      works busy;
      assert (Task.await (Task.async (fun () -> Fib.by_forks 10)) = 55);
      assert (match Pool.run closed ignore with () -> false | exception Invalid_argument _ -> true);
      with_pool 3 works;
      say "all work");
  works busy;
  works closed;
  Pool.close closed;
  Pool.run busy (fun () -> ignore (begun (fun () -> Unix.sleepf 0.2)))

(* {2 Fork} *)

let child_says f =
  match Unix.fork () with
  | 0 ->
    f ();
    Unix._exit 0
  | pid -> (
    match Unix.waitpid [] pid with
    | _, WEXITED 0 -> say "the child works"
    | _ -> say "the child failed")

(* The runtime forks as long as no domain was ever started. *)
let fork_after_one_worker () =
  let pool = Pool.create ~domains:1 () in
  works pool;
  Pool.close pool;
  child_says (fun () ->
      with_pool 1 works;
      with_pool 2 works)

let fork_after_close () =
  with_pool 2 works;
  match Unix.fork () with
  | 0 -> Unix._exit 0
  | _ -> say "forks"
  | exception Failure message -> say "%s" message

(* What replaces it needs no leave of the runtime. *)
let spawn_after_close () =
  with_pool 2 works;
  let pid = Unix.create_process "/bin/true" [| "true" |] Unix.stdin Unix.stdout Unix.stderr in
  match Unix.waitpid [] pid with _, WEXITED 0 -> say "spawns" | _ -> say "fails"

let programs =
  exit_programs
  @ [
    ("break-8", break_8);
    ("close-beside-endless", close_beside_endless);
    ("close-catching-break", close_catching_break);
    ("main-returns", main_returns_outside);
    ("main-exits", main_returns);
    ("at-exit-uses-pools", at_exit_uses_pools);
    ("fork-after-one-worker", fork_after_one_worker);
    ("fork-after-close", fork_after_close);
    ("spawn-after-close", spawn_after_close);
  ]
