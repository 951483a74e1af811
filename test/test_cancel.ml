(* Task.cancel and Task.check: where a cancelled task ends, and what it leaves. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

let turn n =
  for _ = 1 to n do
    ignore (Sys.opaque_identity n)
  done

(* The hook tells that the task was cancelled before it ended: so no value comes. Where the two have
   one CPU, each round takes some ms. *)
let at_the_very_end () =
  in_pool 2 @@ fun () ->
  let race i =
    let began = Atomic.make false and go = Atomic.make false and hooked = Atomic.make false in
    let body () =
      Task.on_cancel (fun () -> Atomic.set hooked true);
      Atomic.set began true;
      while not (Atomic.get go) do
        Domain.cpu_relax ()
      done;
      turn (i land 31)
    in
    let t = Task.async body in
    while not (Atomic.get began) do
      Domain.cpu_relax ()
    done;
    Atomic.set go true;
    turn (i / 32 land 63);
    Task.cancel t;
    let was_hooked = Atomic.get hooked in
    let cancelled = is_cancelled (fun () -> Task.await t) in
    if was_hooked && not cancelled then failf "round %d: a value after the hook" i
  in
  let from = Unix.gettimeofday () in
  let rec rounds i =
    if i <= 5_000 && Unix.gettimeofday () -. from < 10. then begin
      race i;
      rounds (i + 1)
    end
  in
  rounds 1

let before_it_begins () =
  in_pool 1 (fun () ->
      let ran = ref false in
      let t = Task.async (fun () -> ran := true) in
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t);
      check_bool "ran" false !ran)

(* The task runs on another worker; it stops at its next step of that kind. *)
let stops_at step () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let t = Task.async (endless began step) in
      until began;
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t))

let steps =
  [
    ("check", Task.check);
    ("fork", fun () -> ignore (both ignore ignore));
    ("a fork that is quiet", fun () -> ignore (fib 25));
    ("async", fun () -> ignore (Task.async ignore));
    ("await", fun () -> Task.await (Task.async ignore));
    ( "await of a task that has ended",
      let t = Task.async ignore in
      fun () -> Task.await t );
    ( "chunk",
      fun () -> parallel_for ~start:1 ~finish:max_int (fun _ -> ignore (Sys.opaque_identity 1)) );
    ( "chunk of a reduction",
      fun () ->
        ignore (parallel_reduce ~start:1 ~finish:max_int ~combine:( + ) ~init:0 (fun i -> i)) );
    ( "part of a range",
      fun () ->
        parallel_for_range ~grain:1000 ~start:1 ~finish:max_int (fun ~start:_ ~finish:_ -> ()) );
    ( "chunk of pairs",
      fun () -> parallel_for2 ~start:(1, 1) ~finish:(1 lsl 40, 100) (fun _ _ -> ()) );
    ( "chunk with a state",
      fun () ->
        parallel_for_init ~start:1 ~finish:max_int ~init:ignore (fun () _ ->
            ignore (Sys.opaque_identity 1)) );
    ("chunk of a search", fun () -> ignore (parallel_find ~start:1 ~finish:max_int (fun _ -> None)));
    ("all", fun () -> ignore (Task.all [ ignore; ignore ]));
    ("first", fun () -> ignore (Task.first [ ignore; ignore ]));
    ("scope", fun () -> Task.scope (fun _ -> ()));
    ("region", fun () -> Team.for_n (Pool.default ()) 10 (fun ~worker:_ _ -> ()));
  ]

(* A pool of one worker has nobody who could cancel while the task runs, but the task. *)
let stops_itself step () =
  in_pool 1 (fun () ->
      let self = Atomic.make None in
      let t =
        Task.async (fun () ->
            Task.cancel (Option.get (Atomic.get self));
            while true do
              step ()
            done)
      in
      Atomic.set self (Some t);
      check_cancelled "await" (fun () -> Task.await t))

let value_is_dropped () =
  in_pool 2 (fun () ->
      let began = Atomic.make false and go = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            until go;
            42)
      in
      until began;
      Task.cancel t;
      Atomic.set go true;
      check_cancelled "await" (fun () -> ignore (Task.await t)))

let exception_is_not () =
  in_pool 2 (fun () ->
      let began = Atomic.make false and go = Atomic.make false in
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            until go;
            raise (Failed 1))
      in
      until began;
      Task.cancel t;
      Atomic.set go true;
      check_raises "await" (Failed 1) (fun () -> Task.await t))

let after_the_end () =
  on_all
    (fun () ->
      let t = Task.async (fun () -> 42) in
      check_int "before" 42 (Task.await t);
      Task.cancel t;
      check_int "after" 42 (Task.await t))
    ()

(* What cleans up may fork, wait and loop; it is told once. *)
let cleans_up () =
  let cleaned = Atomic.make 0 in
  let clean () =
    Task.check ();
    Atomic.fetch_and_add cleaned (Task.await (Task.async (fun () -> fib 10))) |> ignore;
    parallel_for ~start:1 ~finish:1000 (fun _ -> Atomic.incr cleaned);
    Task.scope (fun s -> ignore (Task.fork s (fun () -> Atomic.incr cleaned)))
  in
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let work () = endless began Task.check () in
      let t = Task.async (fun () -> Fun.protect work ~finally:clean) in
      until began;
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t));
  check_int "cleaned" (55 + 1000 + 1) (Atomic.get cleaned)

(* Both branches of a fork are told, and the code that joins them cleans up. *)
let cleans_up_after_branches () =
  let cleaned = Atomic.make 0 in
  in_pool 3 (fun () ->
      let began = Atomic.make false and begun = Atomic.make false in
      let t =
        Task.async (fun () ->
            Fun.protect
              (fun () -> both (endless began Task.check) (endless begun Task.check))
              ~finally:(fun () -> Task.await (Task.async (fun () -> Atomic.incr cleaned))))
      in
      until began;
      look_until begun;
      Task.cancel t;
      check_cancelled "await" (fun () -> ignore (Task.await t)));
  check_int "cleaned" 1 (Atomic.get cleaned)

(* What was started in a scope is cancelled with it, also if it only looks when the scope's task has
   ended, and however. *)
let looks_when_all_is_over () =
  in_pool 3 (fun () ->
      let began = Atomic.make false and go = Atomic.make false and over = Atomic.make false in
      let seen = Atomic.make false and started = Atomic.make None in
      let late () =
        Atomic.set began true;
        until over;
        Task.check ()
      in
      let body () =
        try
          Task.scope (fun _ ->
              Atomic.set started (Some (Task.async late));
              look_until began;
              Atomic.set seen true;
              until go)
        with Task.Cancelled -> raise (Failed 1)
      in
      let t = Task.async body in
      until seen;
      Task.cancel t;
      Atomic.set go true;
      check_raises "the task" (Failed 1) (fun () -> Task.await t);
      Atomic.set over true;
      check_cancelled "what it started" (fun () -> Task.await (Option.get (Atomic.get started))))

(* Or when the task was cancelled after the scope. *)
let looks_when_its_task_is_over () =
  in_pool 3 (fun () ->
      let began = Atomic.make false and go = Atomic.make false and over = Atomic.make false in
      let seen = Atomic.make false and started = Atomic.make None in
      let late () =
        Atomic.set began true;
        until over;
        Task.check ()
      in
      let body () =
        Atomic.set started (Some (Task.scope (fun _ -> Task.async late)));
        look_until began;
        Atomic.set seen true;
        until go;
        raise (Failed 1)
      in
      let t = Task.async body in
      until seen;
      Task.cancel t;
      Atomic.set go true;
      check_raises "the task" (Failed 1) (fun () -> Task.await t);
      Atomic.set over true;
      check_cancelled "what it started" (fun () -> Task.await (Option.get (Atomic.get started))))

(* A task that the await of a thread outside begins, as its pool is closing, is a part of that pool, and can
   be cancelled. *)
let awaited_as_its_pool_closes () =
  let pool = Pool.create ~domains:2 ~oversubscribe:true () in
  let start f = Pool.run pool (fun () -> Task.async f) in
  let blocked = Atomic.make false and free = Atomic.make false in
  ignore
    (start (fun () ->
         Atomic.set blocked true;
         until free));
  until blocked;
  let began = Atomic.make false and hooked = Atomic.make false and told = Atomic.make false in
  let closed = Atomic.make false in
  let body () =
    Task.on_cancel (fun () -> Atomic.set hooked true);
    Atomic.set began true;
    until hooked;
    Atomic.set told (is_cancelled Task.check)
  in
  let t = start body in
  let close () =
    Pool.close pool;
    Atomic.set closed true
  in
  let closer = Thread.create close () in
  let is_closing () =
    match Pool.run pool ignore with () -> false | exception Invalid_argument _ -> true
  in
  wait_until is_closing;
  let waiter = Thread.create (fun () -> check_cancelled "await" (fun () -> Task.await t)) () in
  until began;
  Atomic.set free true;
  Unix.sleepf 0.1;
  check_bool "closed before its task has ended" false (Atomic.get closed);
  Task.cancel t;
  check_bool "hook" true (Atomic.get hooked);
  Thread.join waiter;
  Thread.join closer;
  check_bool "told" true (Atomic.get told)

(* The same where several are told at once, and two stop it: what the second one does then comes
   after. *)
let told_by_two () =
  in_pool 3 (fun () ->
      for _ = 1 to if flipped then 200 else 2_000 do
        let c = Chan.bounded 0 and begun = Latch.create 1 and go = Atomic.make 0 in
        let t =
          Task.async (fun () ->
              Latch.count_down begun;
              Chan.recv c)
        in
        Latch.await begun;
        let stops () =
          Atomic.incr go;
          for _ = 1 to 200 do
            if Atomic.get go < 2 then Domain.cpu_relax ()
          done;
          Task.cancel t;
          if Chan.try_send c () then Alcotest.fail "sent to a cancelled receiver"
        in
        ignore (both stops stops);
        check_cancelled "await" (fun () -> Task.await t)
      done)

(* Ctrl-C that strikes who stops a scope, as it fails or has its first result: a hook's is no
   different. *)
let struck_as_it_stops () =
  in_pool 2 (fun () ->
      let interrupted what f = check_raises what Sys.Break (fun () -> ignore (f ())) in
      let hook () = Task.on_cancel (fun () -> raise Sys.Break) in
      interrupted "its code failed" (fun () ->
          Task.scope (fun _ ->
              hook ();
              failwith "failed"));
      interrupted "a task failed" (fun () ->
          Task.scope (fun s ->
              hook ();
              ignore (Task.fork s (fun () -> failwith "failed"))));
      interrupted "given up before its deadline" (fun () ->
          Task.with_deadline 60. (fun () ->
              hook ();
              raise Task.Cancelled));
      let began = Atomic.make false and stopped = Atomic.make false in
      let loser () =
        Task.on_cancel (fun () ->
            Atomic.set stopped true;
            raise Sys.Break);
        Atomic.set began true;
        until stopped
      in
      interrupted "first" (fun () -> Task.first [ loser; (fun () -> until began) ]);
      let latch = Muster.Latch.create 1 in
      let struck () =
        Muster.Latch.count_down latch;
        raise Sys.Break
      and succeeds () = try Muster.Latch.await latch with Task.Cancelled -> () in
      interrupted "one of first's" (fun () -> Task.first [ succeeds; struck ]);
      check_int "the next" 42 (Task.scope (fun s -> Task.await (Task.fork s (fun () -> 42)))))

let awaits_itself () =
  let check domains within =
    in_pool domains (fun () ->
        let itself = Atomic.make None in
        let t =
          Task.async (fun () ->
              wait_until (fun () -> Atomic.get itself <> None);
              within (fun () -> Task.await (Option.get (Atomic.get itself))))
        in
        Atomic.set itself (Some t);
        match Task.await t with
        | () -> failf "nothing was raised"
        | exception Invalid_argument text ->
          check_bool text true (String.starts_with ~prefix:"Muster.Task.await: " text))
  in
  let scope f = Task.scope (fun _ -> f ()) and deadline f = Task.with_deadline 1e6 f in
  List.iter
    (fun domains ->
      List.iter (check domains)
        [ (fun f -> f ()); scope; deadline; (fun f -> scope (fun () -> deadline f)) ])
    [ 1; 2; 3 ]

(* What a task starts in a scope is a part of it, and awaits the task, which goes on after the
   scope. *)
let awaits_who_started_it () =
  in_pool 2 (fun () ->
      let itself = Atomic.make None and within = Atomic.make None in
      let t =
        Task.async (fun () ->
            wait_until (fun () -> Atomic.get itself <> None);
            let wait () = Task.await (Option.get (Atomic.get itself)) + 1 in
            Atomic.set within (Some (Task.scope (fun _ -> Task.async wait)));
            41)
      in
      Atomic.set itself (Some t);
      check_int "the task" 41 (Task.await t);
      check_int "who awaited it" 42 (Task.await (Option.get (Atomic.get within))))

(* Each starts the next one in a scope of its own, which ends soon: what it is a part of must not
   grow. *)
let chain_of_scopes () =
  let live () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let check name within =
    in_pool 2 (fun () ->
        let ended = Atomic.make false and before = live () in
        let rec serve n =
          if n = 0 then Atomic.set ended true
          else
            within (fun () ->
                ignore
                  (Task.async (fun () ->
                       Task.check ();
                       serve (n - 1))))
        in
        (try serve 5_000 with Failure _ -> ());
        wait_until (fun () -> Atomic.get ended);
        (* A failure that nobody awaits is there until it is told: by a worker that finds no task. *)
        let rec left tries =
          Task.blocking (fun () -> Unix.sleepf 0.01);
          let words = live () - before in
          if words > 100_000 && tries > 0 then left (tries - 1) else words
        in
        let words = left 100 in
        if words > 100_000 then failf "%s: %d words are left behind" name words)
  in
  check "scope" (fun f -> Task.scope (fun _ -> f ()));
  Task.set_uncaught_handler (fun _ _ -> ());
  check "scope, then a failure" (fun f ->
      Task.scope (fun _ -> f ());
      failwith "after the scope");
  check "with_deadline" (fun f -> Task.with_deadline 1e6 f);
  check "all" (fun f -> ignore (Task.all [ f; ignore ]))

(* The task's worker is the only one that has time: when it was told, in its own share of the loop,
   it must not go on to the other's. *)
let told_in_a_chunk () =
  Pool.with_ ~domains:2 ~oversubscribe:true (fun pool ->
      let began = Atomic.make false and cancelled = Atomic.make false in
      let ended = Atomic.make false and calls = Atomic.make 0 in
      let body ~worker:_ _ =
        Atomic.incr calls;
        Atomic.set began true;
        until cancelled;
        Task.check ()
      in
      let work () =
        Fun.protect
          (fun () -> Team.for_n_dynamic pool 10_000 body)
          ~finally:(fun () -> Atomic.set ended true)
      in
      let t = Task.async work in
      until began;
      Task.cancel t;
      Atomic.set cancelled true;
      until ended;
      check_cancelled "await" (fun () -> Task.await t);
      check_int "calls" 1 (Atomic.get calls))

(* {2 What another task was told, or has got}

   It is not this one's, though it was started in a scope of this one. *)
let spin_until flag =
  while not (Atomic.get flag) do
    Domain.cpu_relax ()
  done

let send_when_received c v =
  while not (Chan.try_send c v) do
    Unix.sleepf 0.0002
  done

(* The message is on its way to [t] when [t] is cancelled, as all workers are busy; the other task
   is told when [t] has it. *)
let another_is_told () =
  in_pool 3 @@ fun () ->
  for _ = 1 to 10 do
    let flag () = Atomic.make false in
    let c = Chan.bounded 0 and began = flag () and got = flag () and told = flag () in
    let busy = flag () and go = flag () in
    let beside () =
      Atomic.set began true;
      spin_until got;
      try endless (flag ()) Task.check () with Task.Cancelled -> Atomic.set told true
    in
    let t =
      Task.async (fun () ->
          Task.scope (fun _ -> ignore (Task.async beside));
          let v = Chan.recv c in
          Atomic.set got true;
          spin_until told;
          v)
    in
    spin_until began;
    let blocker =
      Task.async (fun () ->
          Atomic.set busy true;
          spin_until go)
    in
    spin_until busy;
    send_when_received c 7;
    Task.cancel t;
    Atomic.set go true;
    Task.await blocker;
    check_int "its message" 7 (Task.await t)
  done

(* [t] has got nothing when it is told, and meets no checkpoint. *)
let another_has_got () =
  in_pool 3 @@ fun () ->
  for _ = 1 to 10 do
    let c = Chan.bounded 0 and got = Atomic.make false in
    let begun = Atomic.make false and go = Atomic.make false in
    let receive () =
      Chan.recv c;
      Atomic.set got true
    in
    let t =
      Task.async (fun () ->
          Task.scope (fun _ -> ignore (Task.async receive));
          Atomic.set begun true;
          spin_until go)
    in
    spin_until begun;
    send_when_received c ();
    Task.cancel t;
    spin_until got;
    Atomic.set go true;
    check_cancelled "no value" (fun () -> Task.await t)
  done

let exceptions_have_names () =
  let check exn name = Stdlib.(check_equal name name (Printexc.to_string exn)) in
  check Task.Cancelled "Muster.Task.Cancelled";
  check Task.Deadline_exceeded "Muster.Task.Deadline_exceeded";
  check Chan.Closed "Muster.Chan.Closed"

(* However little there is to do, and however fast it was before. *)
let short_loops () =
  with_domains 2 @@ fun other ->
  in_pool 1 @@ fun () ->
  let array = Array.init 100 Fun.id in
  let loops n =
    [
      ("for", fun () -> parallel_for ~start:1 ~finish:n ignore);
      ("reduce", fun () -> ignore (parallel_reduce ~start:1 ~finish:n ~combine:( + ) ~init:0 Fun.id));
      ("find", fun () -> ignore (parallel_find ~start:1 ~finish:n (fun _ -> None)));
      ( "for, in parts",
        fun () -> parallel_for_range ~start:1 ~finish:n (fun ~start:_ ~finish:_ -> ()) );
      ("for, of pairs", fun () -> parallel_for2 ~start:(1, 1) ~finish:(1, n) (fun _ _ -> ()));
      ( "for, with a state",
        fun () -> parallel_for_init ~start:1 ~finish:n ~init:ignore (fun () _ -> ()) );
      ("scan", fun () -> ignore (parallel_scan ( + ) (Array.sub array 0 n)));
      ("for_n", fun () -> Team.for_n other n (fun ~worker:_ _ -> ()));
      ("for_n_dynamic", fun () -> Team.for_n_dynamic other n (fun ~worker:_ _ -> ()));
      ("for_slices", fun () -> Team.for_slices other n (fun ~worker:_ ~start:_ ~count:_ -> ()));
    ]
  in
  let collections n =
    [
      ("an array's scan", fun () -> ignore (Muster.Parallel.Array.scan ( + ) (Array.sub array 0 n)));
      ("a sum", fun () -> ignore (Muster.Parallel.Array.sum (Array.make n 0.)));
      ("a list's scan", fun () -> ignore (Muster.Parallel.List.scan ( + ) (List.init n Fun.id)));
    ]
  in
  let check n (name, loop) =
    for _ = 1 to 10 do
      loop ()
    done;
    let told = ref false in
    let cancelled scope =
      Task.cancel_scope scope;
      try loop ()
      with Task.Cancelled as exn ->
        told := true;
        raise exn
    in
    check_cancelled "scope" (fun () -> Task.scope cancelled);
    check_bool (Printf.sprintf "%s of %d" name n) true !told
  in
  List.iter (fun n -> List.iter (check n) (loops n)) [ 0; 1; 2; 10; 100 ];
  List.iter (fun n -> List.iter (check n) (collections n)) [ 2; 10; 100 ]

let () =
  Alcotest.run "cancel"
    [
      ( "a cancelled task ends at",
        List.map (fun (name, step) -> case name (stops_at step)) steps );
      ( "a task that cancels itself ends at",
        List.map (fun (name, step) -> case name (stops_itself step)) steps );
      ( "cancel",
        [
          case "a task that has not begun never runs" before_it_begins;
          case "a cancel that races the task's end calls the hook or keeps the value" at_the_very_end;
          case "a value that comes after the cancel is dropped" value_is_dropped;
          case "an exception that comes after the cancel is kept" exception_is_not;
          case "cancelling a task that has ended does nothing" after_the_end;
          case "a cancelled task may clean up" cleans_up;
          case "a cancelled task may clean up after its branches" cleans_up_after_branches;
          case "a loop of short iterations is cancelled" short_loops;
          case "a task that awaits itself is refused" awaits_itself;
          case "a task in a scope may await the task that opened the scope" awaits_who_started_it;
          case "a long chain of scopes and tasks keeps no memory" chain_of_scopes;
          case "a task of a scope that has ended meets its checkpoint later" looks_when_all_is_over;
          case "a task meets its checkpoint after its scope's task has ended" looks_when_its_task_is_over;
          case "a cancelled task is awaited while its pool closes" awaited_as_its_pool_closes;
          case "two cancels of a task at the same moment" told_by_two;
          case "Ctrl-C while a scope is being cancelled" struck_as_it_stops;
          case "a slice of a team's loop is cancelled" told_in_a_chunk;
          case "exceptions print their public names" exceptions_have_names;
          case "another task is cancelled while a message is on its way"
            (if flipped then ignore else another_is_told);
          case "another task has got its message while one is on its way"
            (if flipped then ignore else another_has_got);
        ] );
    ]
