(* The exceptions that come from anywhere, Ctrl-C above all, surface like all others and leave
   the pool usable. *)

open Harness
module Pool = Muster.Pool
module Task = Muster.Task
module Team = Muster.Team

let rec endless n = 1 + endless (n + 1)

(* A small limit: the test is about the exception, not about a gigabyte of stack. *)
let with_small_stacks f =
  let old = Gc.get () in
  Gc.set { old with stack_limit = 262_144 };
  Fun.protect ~finally:(fun () -> Gc.set old) f

let exhaust i = if i = 1 then ignore (endless 0)

let stack_overflow pool =
  with_small_stacks @@ fun () ->
  let raises name f = check_raises name Stack_overflow (fun () -> Pool.run pool f) in
  raises "both" (fun () -> ignore (Muster.both ignore (fun () -> exhaust 1)));
  raises "async" (fun () -> Task.await (Task.async (fun () -> exhaust 1)));
  raises "for" (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:9 exhaust);
  check_raises "broadcast" Stack_overflow (fun () ->
      Team.broadcast pool (fun worker -> exhaust (1 - (worker mod 2))));
  is_usable pool

let out_of_memory pool =
  let all_there_is () = Sys.opaque_identity (Bytes.create Sys.max_string_length) in
  let exhaust i = if i = 1 then ignore (all_there_is ()) in
  let raises name f = check_raises name Out_of_memory (fun () -> Pool.run pool f) in
  raises "both" (fun () -> ignore (Muster.both ignore (fun () -> exhaust 1)));
  raises "async" (fun () -> Task.await (Task.async (fun () -> exhaust 1)));
  raises "for" (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:9 exhaust);
  is_usable pool

let break_raised pool =
  let fail i = if i = 1 then raise Sys.Break in
  let raises name f = check_raises name Sys.Break (fun () -> Pool.run pool f) in
  raises "both" (fun () -> ignore (Muster.both ignore (fun () -> fail 1)));
  raises "async" (fun () -> Task.await (Task.async (fun () -> fail 1)));
  raises "for" (fun () -> Muster.parallel_for ~grain:1 ~start:0 ~finish:9 fail);
  is_usable pool

let catching_break f =
  Sys.catch_break true;
  Fun.protect ~finally:(fun () -> Sys.set_signal Sys.sigint Signal_default) f

let interrupt_once ~sent =
  if not (Atomic.exchange sent true) then begin
    burn 0.02;
    Unix.kill (Unix.getpid ()) Sys.sigint
  end

let limit = if flipped then 0.5 else 5.

(* The first such task sends the interrupt. All run until one of them has seen it, or until the
   limit if none does. *)
let spin_until_interrupted ~sent ~seen deadline () =
  try
    interrupt_once ~sent;
    while (not (Atomic.get seen)) && Unix.gettimeofday () < deadline do
      ignore (Sys.opaque_identity (ref 0))
    done
  with Sys.Break ->
    Atomic.set seen true;
    raise Sys.Break

let ctrl_c name pool busy =
  let sent = Atomic.make false and seen = Atomic.make false in
  let deadline = Unix.gettimeofday () +. limit in
  let spin = spin_until_interrupted ~sent ~seen deadline in
  check_raises name Sys.Break (fun () -> Pool.run pool (fun () -> busy spin));
  (* A worker that has nothing to do may be the one whom it strikes; then the tasks go on. *)
  if not flipped then check_bool (name ^ ": promptly") true (Unix.gettimeofday () < deadline);
  is_usable pool

let ctrl_c_while_busy pool =
  catching_break @@ fun () ->
  for _ = 1 to 5 do
    ctrl_c "for" pool (fun spin ->
        Muster.parallel_for ~grain:1 ~start:0 ~finish:3 (fun _ -> spin ()));
    ctrl_c "both" pool (fun spin -> ignore (Muster.both spin spin));
    ctrl_c "left of both" pool (fun spin -> ignore (Muster.both spin ignore));
    ctrl_c "right of both" pool (fun spin -> ignore (Muster.both ignore spin));
    ctrl_c "async" pool (fun spin -> Task.await (Task.async spin));
    ctrl_c "run" pool (fun spin -> spin ())
  done

(* [Sys.Break] within [f] only: an interrupt may also come late. What [state] is just after. *)
let interrupted_within f ~state =
  let armed = Atomic.make false in
  let raise_if_armed _ = if Atomic.get armed then raise Sys.Break in
  let before = Sys.signal Sys.sigint (Signal_handle raise_if_armed) in
  let sh = [| "/bin/sh"; "-c"; "sleep 0.02; kill -INT $0"; string_of_int (Unix.getpid ()) |] in
  let child = Unix.create_process "/bin/sh" sh Unix.stdin Unix.stdout Unix.stderr in
  (try
     Atomic.set armed true;
     f ()
   with _ -> ());
  Atomic.set armed false;
  let state = state () in
  let rec reap () =
    try ignore (Unix.waitpid [] child) with Unix.Unix_error (EINTR, _, _) -> reap ()
  in
  reap ();
  Unix.sleepf 0.005;
  Sys.set_signal Sys.sigint before;
  state

(* Who was interrupted has not heard of the failure: it is reported. *)
let interrupted_await () =
  let begun = Atomic.make false and go_on = Atomic.make false and reported = Atomic.make 0 in
  let fail_at_last () =
    let before = Thread.sigmask SIG_BLOCK [ Sys.sigint ] in
    Atomic.set begun true;
    wait_until (fun () -> Atomic.get go_on);
    ignore (Thread.sigmask SIG_SETMASK before);
    raise Exit
  in
  Task.set_uncaught_handler (fun _ _ -> Atomic.incr reported);
  with_domains 2 (fun pool ->
      let task = Pool.run pool (fun () -> Task.async fail_at_last) in
      wait_until (fun () -> Atomic.get begun);
      interrupted_within (fun () -> Task.await task) ~state:(fun () -> Atomic.set go_on true));
  check_int "reports" 1 (Atomic.get reported)

(* What the caller waits for would never end by itself. *)
let cancels_what_it_waits_for pool =
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Unix.sleepf 0.05;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let is_interrupted (name, wait) =
    catching_break (fun () ->
        let sender = Thread.create interrupt () in
        check_raises name Sys.Break wait;
        Thread.join sender;
        (* It is raised once. *)
        Pool.run pool (fun () -> Task.await (Task.async Domain.cpu_relax));
        Thread.delay 0.001)
  in
  let blocks () = Task.blocking (fun () -> Unix.sleepf 1.) in
  let indices = List.init 40 Fun.id and wait _ = never () in
  let waits =
    [
      ("scope", fun () -> Task.scope (fun s -> ignore (Task.fork s never)));
      ("scope within a loop", fun () ->
        Muster.parallel_for ~start:1 ~finish:8 (fun _ -> Task.scope (fun _ -> never ())));
      ("all", fun () -> ignore (Task.all [ never; blocks ]));
      ("first", fun () -> Task.first [ never; never ]);
      ("both", fun () -> ignore (Muster.both never never));
      ("right of both", fun () -> ignore (Muster.both ignore never));
      ("for", fun () -> Muster.parallel_for ~start:1 ~finish:8 wait);
      ("reduce", fun () ->
        Muster.parallel_reduce ~start:1 ~finish:8 ~combine:Fun.const ~init:() wait);
      ("for within a scope", fun () ->
        Task.scope (fun _ -> Muster.parallel_for ~start:1 ~finish:8 wait));
      ("both within a scope", fun () -> Task.scope (fun _ -> ignore (Muster.both never never)));
      ("List.iter", fun () -> Muster.Parallel.List.iter wait indices);
      ("Array.iter", fun () -> Muster.Parallel.Array.iter wait (Array.of_list indices));
    ] [@@ocamlformat "disable"]
  in
  List.iter (fun (name, wait) -> is_interrupted (name, fun () -> Pool.run pool wait)) waits;
  List.iter (fun (name, wait) -> is_interrupted (name ^ ", from outside", wait)) waits;
  is_usable pool

(* Calls with two functions that run at the same time, where there are two workers. The others of a
   scan or a sort take long enough for it to be shared. *)
let calls_of_two =
  let open Muster.Parallel in
  let n = 1_100 in
  let either left right i = if i = 0 then left () else right () in
  let by_half left right a b =
    burn 2e-5;
    if Int.max a b < n / 2 then left () else if Int.min a b >= n / 2 then right ();
    Int.compare a b
  and at_quarters left right a b =
    burn 2e-5;
    if b = n / 4 then left () else if b = 3 * n / 4 then right ();
    a + b
  in
  [
    ("both", fun f g -> ignore (Muster.both f g));
    ("for", fun f g -> Muster.parallel_for ~grain:1 ~start:0 ~finish:1 (either f g));
    ("reduce", fun f g ->
      Muster.parallel_reduce ~grain:1 ~start:0 ~finish:1 ~combine:Fun.const ~init:() (either f g));
    ("scan", fun f g -> ignore (Array.scan (at_quarters f g) (Stdlib.Array.init n Fun.id)));
    ("sort", fun f g -> Array.sort (by_half f g) (Stdlib.Array.init n Fun.id));
    ("Array.map", fun f g -> ignore (Array.map (either f g) [| 0; 1 |]));
    ("List.map", fun f g -> ignore (List.map (either f g) [ 0; 1 ]));
    ("Seq.iter", fun f g -> Seq.iter (either f g) (Stdlib.List.to_seq [ 0; 1 ]));
    ("all", fun f g -> ignore (Task.all [ f; g ]));
    ("first", fun f g -> Task.first [ f; g ]);
    ("map ~max", fun f g -> ignore (Task.map ~max:2 (either f g) [ 0; 1 ]));
    ("with_map", fun f g ->
      Task.with_map ~window:2 (either f g) (Stdlib.List.to_seq [ 0; 1 ]) (Stdlib.Seq.iter Fun.id));
    ("scope", fun f g ->
      Task.scope (fun s ->
          ignore (Task.fork s g);
          f ()));
    ("both within a scope", fun f g -> Task.scope (fun _ -> ignore (Muster.both f g)));
    ("both in time", fun f g -> Task.with_deadline 60. (fun () -> ignore (Muster.both f g)));
  ] [@@ocamlformat "disable"]

(* Where flips or a busy machine leave one worker, the other function may not begin before this one
   ends. *)
let until_begun begun =
  let give_up = Unix.gettimeofday () +. if flipped then 0.05 else 1. in
  wait_until (fun () -> Atomic.get begun || Unix.gettimeofday () > give_up)

(* It strikes the right one of two functions. The left one has failed, so the other is in vain; or it
   waits for ever. Where the only worker runs the left one, that gives up. *)
let strikes_the_right_one ~left pool =
  let check (name, call) =
    let begun = Atomic.make false and go_on = Atomic.make false in
    let f () =
      until_begun begun;
      Atomic.set go_on true;
      if Atomic.get begun then left () else raise Sys.Break
    and g () =
      Atomic.set begun true;
      wait_until (fun () -> Atomic.get go_on);
      Unix.sleepf 0.005;
      raise Sys.Break
    in
    check_raises name Sys.Break (fun () -> Pool.run pool (fun () -> call f g))
  in
  List.iter check calls_of_two;
  is_usable pool

(* The first has struck the left function. The right one goes on, although it was cancelled. Where
   the only worker runs the left one, that gives up. *)
let a_second_one pool =
  let check (name, call) =
    let begun = Atomic.make false and over = Muster.Latch.create 1 in
    let is_over () = Muster.Latch.count over = 0 in
    let until condition = wait_until (fun () -> condition () || is_over ()) in
    let f () =
      until_begun begun;
      raise Sys.Break
    and g () =
      Atomic.set begun true;
      try Muster.Latch.await (Muster.Latch.create 1)
      with Task.Cancelled -> Muster.Latch.await over
    and interrupt () =
      ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
      until (fun () -> Atomic.get begun);
      Unix.sleepf 0.05;
      if not (is_over ()) then Unix.kill (Unix.getpid ()) Sys.sigint;
      let give_up = Unix.gettimeofday () +. 5. in
      until (fun () -> Unix.gettimeofday () > give_up);
      if not (is_over ()) then Muster.Latch.count_down over
    in
    catching_break (fun () ->
        let sender = Thread.create interrupt () in
        check_raises name Sys.Break (fun () -> Pool.run pool (fun () -> call f g));
        if is_over () then failf "%s waits after a second Ctrl-C" name;
        Muster.Latch.count_down over;
        Thread.join sender)
  in
  List.iter check calls_of_two;
  is_usable pool

(* What a second one ended counts no more for the fiber's next calls: the first one waits again. *)
let waits_again pool =
  let check (name, call) =
    let begun = Atomic.make false and ended = Atomic.make false in
    let f () =
      until_begun begun;
      raise Sys.Break
    and g () =
      Atomic.set begun true;
      Unix.sleepf 0.05;
      Atomic.set ended true
    in
    let twice () =
      Muster_core.Fiber.give_up ();
      check_raises name Sys.Break (fun () -> call f g)
    in
    Pool.run pool twice;
    if Atomic.get begun && not (Atomic.get ended) then failf "%s does not wait for its tasks" name
  in
  List.iter check calls_of_two;
  is_usable pool

(* It strikes the caller's thread, which sleeps while another worker goes on with the caller's
   function. *)
let goes_on_elsewhere pool =
  let here = Domain.self () in
  let sender = ref (Thread.self ()) in
  let rec go_elsewhere () =
    let begun = Atomic.make false in
    let task =
      Task.async (fun () ->
          Atomic.set begun true;
          Unix.sleepf 0.005)
    in
    wait_until (fun () -> Atomic.get begun);
    Task.await task;
    if Domain.self () = here && not flipped then go_elsewhere ()
  in
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Unix.sleepf 0.02;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let computes look () =
    go_elsewhere ();
    sender := Thread.create interrupt ();
    while true do
      look ()
    done
  in
  let check name look =
    check_raises name Sys.Break (fun () -> Pool.run pool (computes look));
    Thread.join !sender
  in
  catching_break (fun () ->
      check "check" Task.check;
      check "both" (fun () -> ignore (Muster.both ignore ignore)));
  is_usable pool

(* It strikes a blocking call for which nobody waits any more. *)
let strikes_a_call_left_behind pool =
  let begun = Atomic.make false and go_on = Atomic.make false in
  let blocks () =
    Task.blocking (fun () ->
        Atomic.set begun true;
        wait_until (fun () -> Atomic.get go_on);
        raise Sys.Break)
  and has_begun () = wait_until (fun () -> Atomic.get begun) in
  let never () =
    Atomic.set go_on true;
    Muster.Latch.await (Muster.Latch.create 1)
  in
  catching_break (fun () ->
      Pool.run pool (fun () -> Task.first [ blocks; has_begun ]);
      check_raises "the caller's wait" Sys.Break (fun () -> Pool.run pool never);
      Atomic.set begun false;
      Atomic.set go_on false;
      Task.first [ blocks; has_begun ];
      check_raises "outside" Sys.Break never);
  is_usable pool

(* It strikes a task that was cancelled, and that nobody awaits. *)
let strikes_a_cancelled_task pool =
  let reported = Atomic.make 0 and never () = Muster.Latch.await (Muster.Latch.create 1) in
  Task.set_uncaught_handler (fun _ _ -> Atomic.incr reported);
  let cancel () =
    let begun = Muster.Latch.create 1 in
    let struck () =
      Muster.Latch.count_down begun;
      try never () with Task.Cancelled -> raise Sys.Break
    in
    let task = Task.async struck in
    Muster.Latch.await begun;
    Task.cancel task;
    never ()
  in
  check_raises "the caller's wait" Sys.Break (fun () -> Pool.run pool cancel);
  is_usable pool;
  Gc.full_major ();
  is_usable pool;
  check_int "reports" 0 (Atomic.get reported)

(* Code that handles Ctrl-C goes on as before, and may be interrupted again. *)
let handled_within pool =
  let never () = Muster.Latch.await (Muster.Latch.create 1) in
  let interrupt () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigint ]);
    Unix.sleepf 0.05;
    Unix.kill (Unix.getpid ()) Sys.sigint
  in
  let handles _ =
    let sender = Thread.create interrupt () in
    (match Muster.both never never with
    | (), () -> failwith "not interrupted"
    | exception Sys.Break -> ());
    check_int "goes on" 610 (fib 15);
    ignore (Task.all [ ignore; Task.check ]);
    Thread.join sender
  in
  catching_break (fun () -> Pool.run pool (fun () -> List.iter handles [ 1; 2; 3 ]));
  is_usable pool

(* The caller's share ends at once, so that it waits when the interrupt comes. *)
let interrupted_region pool team =
  let running = Atomic.make 0 in
  (* Not [incr] and [decr], which look for signals. *)
  let add n = ignore (Atomic.fetch_and_add running n) in
  let body worker =
    if worker > 0 then begin
      add 1;
      match Unix.sleepf 0.06 with
      | () -> add (-1)
      | exception exn ->
        add (-1);
        raise exn
    end
  in
  let left () = Atomic.get running in
  check_int "still running" 0 (interrupted_within (fun () -> team pool body) ~state:left)

let ctrl_c_while_the_caller_waits pool =
  let for_n pool body = Team.for_n pool (Pool.size pool) (fun ~worker _ -> body worker) in
  for _ = 1 to 10 do
    interrupted_region pool Team.broadcast;
    interrupted_region pool for_n
  done;
  is_usable pool

(* {2 Between two steps of the library's} *)

exception Strike

(* Calls [strike] every so many seconds, in a signal's handler, while [f] runs. *)
let with_strikes seconds strike f =
  let before = Sys.signal Sys.sigalrm (Signal_handle (fun _ -> strike ())) in
  let every it_interval =
    ignore (Unix.setitimer ITIMER_REAL { it_interval; it_value = it_interval })
  in
  every seconds;
  Fun.protect f ~finally:(fun () ->
      every 0.;
      Sys.set_signal Sys.sigalrm before)

let without_strikes f x =
  ignore (Thread.sigmask SIG_BLOCK [ Sys.sigalrm ]);
  f x

(* The handler itself brings what the caller waits for: so the wait has ended when it raises. *)
let break_after_a_grant wait =
  let c = Muster.Chan.bounded 1 and struck = Atomic.make false in
  let strike () =
    if not (Atomic.exchange struck true) then begin
      ignore (Muster.Chan.try_send c 1);
      raise Sys.Break
    end
  in
  with_strikes 0.02 strike (fun () ->
      wait (fun () ->
          let before = Thread.sigmask SIG_BLOCK [] in
          check_int "received" 1 (Muster.Chan.recv c);
          check_equal "blocked signals" before (Thread.sigmask SIG_BLOCK []);
          check_raises "at the next wait" Sys.Break (fun () ->
              Muster.Chan.recv (Muster.Chan.bounded 0))))

let break_after_a_grant pool =
  break_after_a_grant (fun f -> f ());
  break_after_a_grant (fun f -> Team.for_slices pool 1 (fun ~worker:_ ~start:_ ~count:_ -> f ()));
  is_usable pool

(* The handler runs in a worker that has nothing to do, if there is one: the exception comes to the
   thread that waits, though that is in no pool and has blocked the signal. *)
let strikes_a_worker_at_rest pool =
  let struck = Atomic.make false and chan = Muster.Chan.unbounded () in
  let strike () =
    Atomic.set struck true;
    raise Strike
  in
  let end_the_wait () =
    Unix.sleepf 0.5;
    Muster.Chan.send chan ()
  in
  let wait () =
    match with_strikes 0.02 strike (fun () -> Muster.Chan.recv chan) with
    | () ->
      let again () = Muster.Chan.recv (Muster.Chan.bounded 0) in
      if Atomic.get struck then check_raises "at the next wait" Strike again
    | exception Strike -> ()
  in
  Pool.run pool (fun () -> ignore (Task.all [ (fun () -> burn 0.01); (fun () -> burn 0.01) ]));
  let before = Thread.sigmask SIG_BLOCK [ Sys.sigalrm ] in
  let thread = Thread.create end_the_wait () in
  Fun.protect wait ~finally:(fun () ->
      (* Drops the strike that may be pending. *)
      Sys.set_signal Sys.sigalrm Signal_ignore;
      ignore (Thread.sigmask SIG_SETMASK before);
      Sys.set_signal Sys.sigalrm Signal_default);
  Thread.join thread

(* The caller waits for a scope's task on top of its stack, and is struck there. *)
let strike_in_a_cancelled_scope () =
  let go = Atomic.make false and over = Atomic.make false and armed = Atomic.make false in
  let task =
    without_strikes (fun () ->
        Atomic.set go true;
        wait_until (fun () -> Atomic.get over))
  in
  let code s =
    ignore (Task.fork s task);
    wait_until (fun () -> Atomic.get go);
    Task.cancel_scope s;
    Atomic.set armed true
  in
  let strike () =
    if Atomic.exchange armed false then begin
      ignore
        (Thread.create
           (without_strikes (fun () ->
                Unix.sleepf 0.02;
                Atomic.set over true))
           ());
      raise Strike
    end
  in
  with_strikes 0.01 strike (fun () -> check_raises "scope" Strike (fun () -> Task.scope code));
  ignore (Muster.both ignore ignore);
  Task.await (Task.async ignore)

let strike_in_a_cancelled_scope pool =
  for _ = 1 to 3 do
    Team.for_slices pool 1 (fun ~worker:_ ~start:_ ~count:_ -> strike_in_a_cancelled_scope ())
  done;
  is_usable pool

(* A handler forks, wherever it comes. The scope's own stop is no news to it. *)
let forks_in_a_failed_scope pool =
  let code ~by_code s =
    for i = 1 to 8 do
      ignore (Task.fork s (fun () -> if i = 4 && not by_code then raise Exit))
    done;
    if by_code then raise Exit
  in
  let fail () =
    for round = 1 to 10_000 do
      let by_code = round land 1 = 0 in
      check_raises "scope" Exit (fun () -> Task.scope (code ~by_code))
    done
  in
  let fork () = ignore (Muster.both ignore ignore) in
  with_strikes 5e-5 fork (fun () -> Pool.run pool fail);
  is_usable pool

(* Later callers pay for a place that looks absent. One strike a round: where two come while a place is put back, the
   second is let through. *)
let strikes_in_nested_runs () =
  let open Muster_core in
  let outer = Pool.create ~domains:2 ~oversubscribe:true () in
  let inner = Pool.create ~domains:2 ~oversubscribe:true () in
  let again () = Pool.run outer (fun () -> ignore (Sys.opaque_identity (ref 0))) in
  let nested () =
    Pool.run outer (fun () ->
        Pool.run inner (fun () ->
            for _ = 1 to 20 do
              again ()
            done))
  in
  let armed = Atomic.make false and left = ref 0 in
  let stop = Unix.gettimeofday () +. if flipped then 1. else 2. in
  with_strikes 0.0002
    (fun () -> if Atomic.exchange armed false then raise Strike)
    (fun () ->
      while Unix.gettimeofday () < stop do
        (try
           Atomic.set armed true;
           nested ()
         with Strike -> ());
        Atomic.set armed false;
        let is_away (pool : Pool.t) = Atomic.get (Muster_core.Place.workers pool).(0).away in
        if is_away outer || is_away inner then incr left
      done);
  Pool.close inner;
  Pool.close outer;
  check_int "left absent" 0 !left

(* Were one counted as searching who is not, nobody would be woken for work. *)
let strikes_at_rest () =
  let open Muster_core in
  let pool = Pool.create ~domains:3 ~oversubscribe:true () in
  let armed = Atomic.make false in
  let work () =
    Atomic.set armed true;
    let task = Task.async (fun () -> Unix.sleepf 0.0004) in
    for _ = 1 to 10 do
      ignore (Fork.both (fun () -> Unix.sleepf 0.0001) ignore)
    done;
    Task.await task
  in
  let stop = Unix.gettimeofday () +. if flipped then 1. else 3. in
  Task.set_uncaught_handler (fun _ _ -> ());
  with_strikes 0.0003
    (fun () -> if Atomic.get armed then raise Strike)
    (fun () ->
      while Unix.gettimeofday () < stop do
        (try Pool.run pool work with Strike -> ());
        Atomic.set armed false
      done);
  wait_until (fun () -> Atomic.get pool.searching = 0)

(* The start is cut short: the watchdog comes all the same at the next call. *)
let strikes_as_the_watchdog_starts () =
  let open Muster_core in
  let is_gone () = not (Atomic.get Place.is_watched) in
  wait_until is_gone;
  let before = Sys.signal Sys.sigusr1 (Signal_handle (fun _ -> raise Strike)) in
  check_raises "the start" Strike (fun () ->
      receive ();
      Sleep.watch ();
      ignore (Sys.opaque_identity (ref 0)));
  Sys.set_signal Sys.sigusr1 before;
  wait_until is_gone

(* What waits on top of a sleep announces itself anew: were both counted, nobody would be hired for work. *)
let handler_waits_on_a_sleep pool =
  let is_it (p : Muster_core.Place.pool) = p.name = "sleeps" in
  let core = List.find is_it (Atomic.get Muster_core.Place.open_pools) in
  let begun = Atomic.make 0 and waits = Atomic.make false and waited = Atomic.make false in
  let doze_after flag seconds () =
    ignore (Thread.sigmask SIG_BLOCK [ Sys.sigalrm ]);
    Atomic.incr begun;
    wait_until (fun () -> Atomic.get flag);
    Unix.sleepf seconds;
    ignore (Thread.sigmask SIG_UNBLOCK [ Sys.sigalrm ])
  in
  let handled = ref 0 in
  let sleeps_twice () =
    let long = Task.async (doze_after waited 0.2) and short = Task.async (doze_after waits 0.1) in
    wait_until (fun () ->
        Task.check ();
        Atomic.get begun = 2);
    let wait _ =
      incr handled;
      Atomic.set waits true;
      Task.await short;
      Atomic.set waited true
    in
    Sys.set_signal Sys.sigalrm (Signal_handle wait);
    ignore (Unix.setitimer ITIMER_REAL { it_value = 0.02; it_interval = 0. });
    Task.await long
  in
  Pool.run pool sleeps_twice;
  Sys.set_signal Sys.sigalrm Signal_default;
  check_int "handled" 1 !handled;
  wait_until (fun () -> Atomic.get core.residents = 0);
  check_int "sleepers" 0 (Muster_core.Parking.sleepers core.parking);
  let is_begun_by_another () =
    let flag = Atomic.make false in
    let task = Task.async (fun () -> Atomic.set flag true) in
    wait_until (fun () -> Atomic.get flag);
    Task.await task
  in
  Pool.run pool is_begun_by_another

let handler_waits () =
  let pool = Pool.create ~name:"sleeps" ~domains:3 ~oversubscribe:true () in
  Fun.protect ~finally:(fun () -> Pool.close pool) (fun () -> handler_waits_on_a_sleep pool)

(* In the domain of a resident that is about to leave. *)
let alarms_of_the_collector () =
  Task.set_uncaught_handler (fun _ _ -> ());
  let here = Domain.self () and stop = Atomic.make false in
  let collect () =
    let rec go_on () =
      try
        while not (Atomic.get stop) do
          Gc.full_major ()
        done
      with Strike -> go_on ()
    in
    go_on ()
  in
  let collector = Domain.spawn collect in
  let rec firmly f = try f () with Strike -> firmly f in
  let sets_an_alarm () =
    let armed = Atomic.make true in
    let alarm () = if Domain.self () <> here && Atomic.exchange armed false then raise Strike in
    ignore (Gc.create_alarm alarm)
  in
  let round () =
    let pool = Pool.create ~domains:2 ~oversubscribe:true () in
    (* An alarm, of an earlier round too, may end the task before it has set its own. *)
    let work () =
      let task = Task.async sets_an_alarm in
      wait_until (fun () -> Task.is_done task)
    in
    (try Pool.run pool work with Strike -> ());
    firmly (fun () -> Pool.close pool)
  in
  let enough = Unix.gettimeofday () +. 10. in
  for _ = 1 to if flipped then 10 else 40 do
    if Unix.gettimeofday () < enough then firmly round
  done;
  Atomic.set stop true;
  Domain.join collector

let () =
  Alcotest.run "interrupts"
    [
      ( "from anywhere",
        [
          case "Stack_overflow is raised through every call" (on_each_count stack_overflow);
          case "Out_of_memory is raised through every call" (on_each_count out_of_memory);
          case "Sys.Break is raised through every call" (on_each_count break_raised);
          case "Ctrl-C while all workers are busy" (on_each_count ctrl_c_while_busy);
          case "Ctrl-C while the caller of a team call waits"
            (on_pools [ 2; 3 ] ctrl_c_while_the_caller_waits);
          case "an exception that strikes a worker at rest comes to a thread that waits"
            (on_each_count strikes_a_worker_at_rest);
          case "Ctrl-C just after the event that the caller waits for"
            (on_each_count break_after_a_grant);
          case "Ctrl-C while a caller awaits a task that fails later" interrupted_await;
          case "Ctrl-C cancels the tasks that the caller waits for"
            (on_each_count cancels_what_it_waits_for);
          case "Ctrl-C while the caller's function goes on elsewhere"
            (on_pools [ 2; 3 ] goes_on_elsewhere);
          case "a second Ctrl-C ends the wait for code that goes on" (on_pools [ 2; 3 ] a_second_one);
          case "and the next call waits again" (on_pools [ 2; 3 ] waits_again);
          case "Ctrl-C in a function right of one that has failed"
            (on_pools [ 2; 3 ] (strikes_the_right_one ~left:(fun () -> raise Exit)));
          case "Ctrl-C in a function right of one that waits"
            (on_pools [ 2; 3 ]
               (strikes_the_right_one ~left:(fun () ->
                    Muster.Latch.await (Muster.Latch.create 1))));
          case "Ctrl-C in a blocking call that a cancelled task has left"
            (on_each_count strikes_a_call_left_behind);
          case "Ctrl-C in a task that was cancelled" (on_each_count strikes_a_cancelled_task);
          case "code that handles Ctrl-C goes on" (on_each_count handled_within);
          case "Ctrl-C while a cancelled scope waits for its tasks"
            (on_pools [ 2; 3 ] strike_in_a_cancelled_scope);
          case "a handler forks in a scope that has failed"
            (on_pools [ 2; 3 ] forks_in_a_failed_scope);
          case "Ctrl-C while a worker looks for work" strikes_at_rest;
          case "Ctrl-C in a pool's call within another pool's" strikes_in_nested_runs;
          case "an exception strikes as the watchdog starts" strikes_as_the_watchdog_starts;
          case "a signal handler waits in a thread that sleeps" handler_waits;
          case "an alarm of the collector raises in a domain that is about to end"
            alarms_of_the_collector;
        ] );
    ]
