(* Cancellation: scopes, deadlines, [Task.cancel] and what stops where. *)

open Harness
open Muster
module List = Stdlib.List

exception Failed of int

let in_pool = run_on
let sizes = [ 1; 2; 3; 8 ]
let on_all f () = List.iter (fun domains -> in_pool domains f) sizes
let is_cancelled f = match f () with _ -> false | exception Task.Cancelled -> true
let check_cancelled what f = check_bool what true (is_cancelled f)

(* Runs [f] until it is cancelled; tells whether it began. *)
let endless began f () =
  Atomic.set began true;
  let rec again () =
    f ();
    again ()
  in
  again ()

let until flag =
  while not (Atomic.get flag) do
    Unix.sleepf 0.0005
  done

(* A second task beside one that runs: in a pool that is short of workers it begins when there may be more of
   them again, and somebody looks. *)
let look_until flag =
  while not (Atomic.get flag) do
    Unix.sleepf 0.0005;
    Task.check ()
  done

(* {2 Task.cancel} *)

let spin n =
  for _ = 1 to n do
    ignore (Sys.opaque_identity n)
  done

(* The hook tells that the task was cancelled before it ended: so no value comes. Where the two have one CPU, each
   round takes some ms. *)
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
      spin (i land 31)
    in
    let t = Task.async body in
    while not (Atomic.get began) do
      Domain.cpu_relax ()
    done;
    Atomic.set go true;
    spin (i / 32 land 63);
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

let rec fib n =
  if n < 2 then n
  else
    let a, b = both (fun () -> fib (n - 1)) (fun () -> fib (n - 2)) in
    a + b

let steps =
  [
    ("check", Task.check);
    ("fork", fun () -> ignore (both ignore ignore));
    ("a fork that is quiet", fun () -> ignore (fib 25));
    ("async", fun () -> ignore (Task.async ignore));
    ("await", fun () -> Task.await (Task.async ignore));
    ( "await of what is done",
      let t = Task.async ignore in
      fun () -> Task.await t );
    ( "chunk",
      fun () -> parallel_for ~start:1 ~finish:max_int (fun _ -> ignore (Sys.opaque_identity 1)) );
    ( "chunk of a reduction",
      fun () ->
        ignore (parallel_reduce ~start:1 ~finish:max_int ~combine:( + ) ~init:0 (fun i -> i)) );
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

let wakes_who_waits () =
  in_pool 3 (fun () ->
      let go = Atomic.make false and began = Atomic.make false in
      let blocked = Atomic.make false in
      let blocker =
        Task.async (fun () ->
            Atomic.set blocked true;
            until go)
      in
      until blocked;
      let t =
        Task.async (fun () ->
            Atomic.set began true;
            Task.await blocker)
      in
      look_until began;
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t);
      check_bool "still blocked" false (Atomic.get go);
      Atomic.set go true;
      Task.await blocker)

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

(* What a task waited for came first: then it is cancelled, and goes on. [wait c] is a part of it. *)
let cancelled_after_its_event wait =
  let c = Chan.unbounded () and began = ref false in
  let t =
    Task.async (fun () ->
        began := true;
        wait c)
  in
  while not !began do
    try Task.with_deadline 0.001 (fun () -> ignore (Task.await t))
    with Task.Deadline_exceeded -> ()
  done;
  Chan.send c 42;
  Task.cancel t;
  t

(* On one worker the task goes on after the cancel for certain. *)
let value_is_kept () =
  let check name wait = check_int name 42 (Task.await (cancelled_after_its_event wait)) in
  in_pool 1 (fun () ->
      check "recv" Chan.recv;
      check "select" (fun c -> Chan.(select [ recv_case c Fun.id ]));
      check "with a deadline" (fun c -> Task.with_deadline 60. (fun () -> Chan.recv c));
      check "in a branch" (fun c -> snd (Muster.both ignore (fun () -> Chan.recv c))))

(* So is that of one whose event has come, though nobody granted it before it was cancelled, as may be in a meeting of
   a [Barrier]: by a deadline, too, for it was not told. *)
let value_is_kept_of_who_counts () =
  let come _ =
    Muster_core.Waiter.wait_or_leave ignore ~leave:(fun () -> true);
    42
  in
  let come_and_go_on c =
    let v = come c in
    Task.check ();
    v
  in
  in_pool 1 (fun () ->
      check_int "cancel" 42 (Task.await (cancelled_after_its_event come));
      check_int "deadline" 42 (Task.with_deadline 0.005 come);
      check_cancelled "told later" (fun () ->
          ignore (Task.await (cancelled_after_its_event come_and_go_on)));
      check_raises "told later, deadline" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.005 come_and_go_on))

(* No longer when it was told. *)
let told_after_its_event () =
  let received = ref 0 in
  let receive_and_go_on c =
    received := Chan.recv c;
    try Task.check () with Task.Cancelled -> ()
  in
  in_pool 1 (fun () ->
      let t = cancelled_after_its_event receive_and_go_on in
      check_cancelled "await" (fun () -> Task.await t);
      check_int "received" 42 !received)

(* {2 Who awaits a task that waits}

   It is told at once, and the other goes on, on however few workers. *)

(* Something to wait for, and what ends it. *)
let latch () =
  let latch = Latch.create 1 in
  ((fun () -> Latch.await latch), fun () -> Latch.count_down latch)

let in_another_way through () =
  let wait, end_it = latch () in
  ((fun () -> through wait), end_it)

let message () =
  let c = Chan.unbounded () in
  ((fun () -> Chan.recv c), Chan.send c)

let receiver () =
  let c = Chan.bounded 0 in
  ((fun () -> Chan.send c ()), fun () -> Chan.recv c)

let choice () =
  let c = Chan.unbounded () in
  ((fun () -> Chan.(select [ recv_case c ignore ])), Chan.send c)

let permit () =
  let s = Semaphore.make 0 in
  ((fun () -> Semaphore.acquire s), fun () -> Semaphore.release s)

let lock () =
  let m = Mutex.create () in
  Mutex.lock m;
  ((fun () -> Mutex.protect m ignore), fun () -> Mutex.unlock m)

let reader () =
  let l = Rwlock.create () in
  Rwlock.lock_read l;
  ((fun () -> Rwlock.protect_write l ignore), fun () -> Rwlock.unlock_read l)

let meeting () =
  let b = Barrier.create 2 in
  ((fun () -> ignore (Barrier.await b)), fun () -> ignore (Barrier.await b))

let signal () =
  let m = Mutex.create () and c = Condition.create () and is_set = ref false in
  let wait () =
    Mutex.protect m (fun () ->
        while not !is_set do
          Condition.wait c m
        done)
  and set () =
    Mutex.protect m (fun () ->
        is_set := true;
        Condition.broadcast c)
  in
  (wait, set)

let forced () =
  let wait, end_it = latch () in
  let l = Lazy.from_fun wait in
  ((fun () -> Lazy.force l), end_it)

let blocking () =
  let from, into = Unix.pipe ~cloexec:true () in
  let wait () = Task.blocking (fun () -> ignore (Unix.read from (Bytes.create 1) 0 1))
  and end_it () = ignore (Unix.write_substring into "!" 0 1) in
  (wait, end_it)

let awaited wait = Task.await (Task.async wait)

let events =
  [
    ("a latch", latch);
    ("a message", message);
    ("a receiver", receiver);
    ("a choice", choice);
    ("a permit", permit);
    ("a lock", lock);
    ("a reader", reader);
    ("a meeting", meeting);
    ("a signal", signal);
    ("a lazy value", forced);
    ("a call that blocks", blocking);
    ("a task", in_another_way awaited);
    ("a task's task", in_another_way (fun wait -> awaited (fun () -> awaited wait)));
    ("the tasks of a scope", in_another_way (fun f -> Task.(scope (fun s -> ignore (fork s f)))));
    ("all tasks", in_another_way (fun wait -> ignore (Task.all [ wait; ignore ])));
    ("a branch", in_another_way (fun wait -> ignore (both ignore wait)));
    ( "an iteration",
      in_another_way (fun wait -> parallel_for ~start:1 ~finish:8 (fun i -> if i = 5 then wait ()))
    );
  ]

(* Lets others run, if there is one worker: whose deadline that is waits with its task alone. *)
let see began t =
  while not (Atomic.get began) do
    try Task.with_deadline 0.001 (fun () -> ignore (Task.await t))
    with Task.Deadline_exceeded -> ()
  done

(* By turns what it waits for is there already. *)
let told_beside event domains () =
  in_pool domains @@ fun () ->
  for round = 1 to 12 do
    let wait, end_it = event () and began = Atomic.make false in
    let other =
      Task.async (fun () ->
          Atomic.set began true;
          wait ();
          42)
    in
    let through () = awaited (fun () -> Task.await other) in
    let t = Task.async (fun () -> if round mod 4 < 2 then Task.await other else through ()) in
    if round land 1 = 0 then begin
      end_it ();
      check_int "the awaiting one's" 42 (Task.await t)
    end
    else begin
      see began t;
      Task.cancel t;
      check_cancelled "the awaiting one" (fun () -> Task.await t);
      end_it ()
    end;
    check_int "the other's" 42 (Task.await other)
  done

(* The awaiting task has started the other itself. *)
let spawn f =
  let started = Atomic.make 0 in
  Task.async (fun () ->
      Atomic.incr started;
      f ())

let told_beside_its_own event domains () =
  in_pool domains @@ fun () ->
  for _ = 1 to 12 do
    let wait, end_it = event () and began = Atomic.make false in
    let waits () =
      Atomic.set began true;
      wait ()
    in
    check_int "quick ones" 55 (awaited (fun () -> Task.await (spawn (fun () -> fib 10))));
    let t = Task.async (fun () -> Task.await (spawn waits)) in
    see began t;
    Task.cancel t;
    check_cancelled "await" (fun () -> Task.await t);
    end_it ()
  done

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

let hooks () =
  let fired = Atomic.make 0 in
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let hook () = Atomic.incr fired in
      let quiet = Task.async (fun () -> Task.on_cancel hook) in
      Task.await quiet;
      Task.cancel quiet;
      check_int "after the end" 0 (Atomic.get fired);
      let work () =
        Task.on_cancel hook;
        Task.on_cancel hook;
        endless began Task.check ()
      in
      let t = Task.async work in
      until began;
      Task.cancel t;
      Task.cancel t;
      check_int "at once" 2 (Atomic.get fired);
      check_cancelled "await" (fun () -> Task.await t);
      check_int "once each" 2 (Atomic.get fired))

(* What was started in a scope is cancelled with it, also if it only looks when the scope's task has ended, and
   however. *)
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

(* A task that an outsider's await begins, as its pool is closing, is a part of that pool, and can be cancelled. *)
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

(* A task that gets a function which cancels it. *)
let await_cancelled body =
  let self = Atomic.make None in
  let cancel_it () = Option.iter Task.cancel (Atomic.get self) in
  let t =
    Task.async (fun () ->
        wait_until (fun () -> Option.is_some (Atomic.get self));
        body cancel_it)
  in
  Atomic.set self (Some t);
  check_cancelled "await" (fun () -> Task.await t)

(* A task that is cancelled as a call fails, and handles the failure, is told at its next checkpoint. *)
let told_after_a_failure step () =
  in_pool 2 (fun () ->
      let told = ref false in
      await_cancelled (fun cancel_it ->
          let fail () =
            cancel_it ();
            raise (Failed 1)
          in
          check_raises "the failure" (Failed 1) (fun () -> step fail);
          told := is_cancelled Task.check);
      check_bool "told" true !told)

(* The elements, and what is done to them so slowly that others look whether the task is cancelled before all is
   over. [look] sees each second argument. *)
let elements = Array.init 1_100 Fun.id
let list = Array.to_list elements

let slowly reduce look =
  reduce (fun x y ->
      burn 1e-5;
      look y;
      max x y)

let slow_reductions =
  [
    ("a scan", slowly (fun op -> ignore (Muster.parallel_scan op elements)));
    ("a list's scan", slowly (fun op -> ignore (Muster.List.scan op list)));
    ("a list's fold", slowly (fun op -> ignore (Muster.List.fold op 0 list)));
    ("a sequence's fold", slowly (fun op -> ignore (Muster.Seq.fold op 0 (List.to_seq list))));
  ]

let failing_reductions =
  let failing (name, reduce) = (name, fun fail -> reduce (fun y -> if y = 310 then fail ())) in
  List.map failing slow_reductions

let failing_calls =
  [
    ("both", fun fail -> ignore (both fail ignore));
    ("the right of both", fun fail -> ignore (both ignore fail));
    ("a loop", fun fail -> parallel_for ~start:1 ~finish:4 (fun i -> if i = 1 then fail ()));
    ( "a collection",
      fun fail -> ignore (Array.map (fun first -> if first then fail ()) [| true; false |]) );
    ("a scope", fun fail -> Task.scope (fun _ -> fail ()));
    ("a task of a scope", fun fail -> Task.scope (fun s -> ignore (Task.fork s fail)));
    ("with_deadline", fun fail -> Task.with_deadline 60. fail);
    ( "another pool",
      fun fail -> with_domains 2 (fun pool -> Pool.run pool (fun () -> ignore (both fail ignore)))
    );
  ]

(* A function that waits and is told is called again for what lies left, or with what it made before: it
   is told there, too. [k]: after so many calls. *)
let told_wherever_it_waits (k, call) () =
  in_pool 2 (fun () ->
      let calls = Atomic.make 0 and never = Latch.create 1 in
      await_cancelled (fun cancel_it ->
          call (fun () ->
              if Atomic.fetch_and_add calls 1 >= k then begin
                cancel_it ();
                Latch.await never
              end)))

let waiting_calls =
  let waiting (name, reduce) = (name, (300, fun wait -> reduce (fun _ -> wait ()))) in
  let n = 20_000 in
  let halves = Array.init n (fun i -> if i < n / 2 then 2 * i else (2 * (i - (n / 2))) + 1) in
  let last_merge wait =
    let cmp x y =
      wait ();
      Int.compare x y
    in
    Muster.Array.sort cmp (Array.copy halves)
  in
  let reading at wait =
    let force x =
      if x = at then wait ();
      x
    in
    Muster.Seq.(iter (fun _ -> wait ()) (map force (List.to_seq list)))
  in
  List.map waiting slow_reductions
  @ [
      ("a merge", (n + (n / 5), last_merge));
      ("reading", (0, reading 10));
      ("reading the second", (0, reading 1));
    ]

(* Of what the code that cleans up begins, nothing is cancelled. *)
let hook_of_who_was_told () =
  in_pool 1 (fun () ->
      let fired = Atomic.make 0 in
      let work () =
        try Task.check () with Task.Cancelled -> Task.on_cancel (fun () -> Atomic.incr fired)
      in
      let c = Chan.bounded 1 in
      let t =
        Task.async (fun () ->
            Task.cancel (Chan.recv c);
            work ())
      in
      Chan.send c t;
      check_cancelled "await" (fun () -> Task.await t);
      check_int "not called" 0 (Atomic.get fired))

(* What hooks may do in the midst of what was cancelled: looks at its own cancellation, and waits. *)
let checkpoints =
  let unit () = () in
  [
    ("check", Task.check);
    ("both", fun () -> ignore (both unit unit));
    ("parallel_for", fun () -> parallel_for ~grain:1 ~start:1 ~finish:100 ignore);
    ("await", fun () -> Task.await (Task.async unit));
    ("a scope", fun () -> Task.scope (fun s -> Task.await (Task.fork s unit)));
    ("send", fun () -> Chan.send (Chan.unbounded ()) ());
    ("map", fun () -> ignore (Array.map succ (Stdlib.Array.make 5_000 0)));
    ("yields", fun () -> Task.blocking unit);
  ]

(* The [Cancelled] is the body's, whoever tells the hook. *)
let hooks_take_nothing () =
  let tries = [ 1; 2; 3 ] in
  let in_a_scope hook =
    Task.scope (fun s ->
        Task.on_cancel hook;
        Task.cancel_scope s;
        endless (Atomic.make false) Task.check ())
  and late hook =
    match
      Task.with_deadline 0.01 (fun () ->
          Task.on_cancel hook;
          endless (Atomic.make false) Task.check ())
    with
    | () -> ()
    | exception Task.Deadline_exceeded -> raise Task.Cancelled
  and already hook =
    Task.scope (fun s ->
        Task.cancel_scope s;
        Task.on_cancel hook;
        Task.check ())
  in
  let check domains (name, act) (way, f) =
    let done_ = Atomic.make 0 in
    let hook () =
      act ();
      Atomic.incr done_
    in
    in_pool domains (fun () -> check_cancelled (name ^ ", " ^ way) (fun () -> f hook));
    check_int (name ^ ", " ^ way ^ ", to its end") 1 (Atomic.get done_)
  in
  let ways = [ ("in a scope", in_a_scope); ("deadline", late); ("already", already) ] in
  List.iter
    (fun domains ->
      List.iter (fun checkpoint -> List.iter (check domains checkpoint) ways) checkpoints)
    tries

let handlers_take_nothing () =
  let called = Atomic.make 0 in
  Task.set_uncaught_handler (fun _ _ ->
      Task.check ();
      Atomic.incr called);
  List.iter
    (fun domains ->
      in_pool domains (fun () ->
          check_cancelled "told" (fun () ->
              Task.scope (fun s ->
                  Task.on_cancel (fun () -> raise Exit);
                  Task.cancel_scope s;
                  Task.check ()))))
    [ 1; 2; 3 ];
  check_int "called" 3 (Atomic.get called)

(* The strand beneath holds the lock that the hook wants: it is told, lets go, and the hook goes on. *)
let hook_waits_for_a_lock () =
  List.iter
    (fun domains ->
      let counted = Atomic.make 0 in
      in_pool domains (fun () ->
          let m = Mutex.create () in
          check_cancelled "told" (fun () ->
              Task.scope (fun s ->
                  Mutex.protect m (fun () ->
                      Task.on_cancel (fun () -> Mutex.protect m (fun () -> Atomic.incr counted));
                      Task.cancel_scope s;
                      check_int "not yet" 0 (Atomic.get counted);
                      Task.check ()))));
      check_int "afterwards" 1 (Atomic.get counted))
    [ 1; 2; 3 ]

let hook_is_interrupted () =
  in_pool 2 (fun () ->
      let others = Atomic.make 0 and began = Atomic.make false in
      let count () = Atomic.incr others in
      let work () =
        Task.on_cancel count;
        Task.on_cancel (fun () -> raise Sys.Break);
        Task.on_cancel count;
        endless began Task.check ()
      in
      let t = Task.async work in
      until began;
      check_raises "who cancels" Sys.Break (fun () -> Task.cancel t);
      check_int "the others" 2 (Atomic.get others);
      check_cancelled "await" (fun () -> Task.await t))

(* A task of a scope may notice that this was stopped, and end, before who stops the scope comes to it. *)
let hooks_of_the_quick () =
  in_pool 3 (fun () ->
      let called = Atomic.make 0 and made = Atomic.make 0 and again = Atomic.make 0 in
      let rounds = 2_000 in
      for _ = 1 to rounds do
        check_cancelled "scope" (fun () ->
            Task.scope (fun s ->
                let began = Atomic.make false in
                let quick () =
                  let mine = Atomic.make false in
                  Task.on_cancel (fun () ->
                      Atomic.incr (if Atomic.exchange mine true then again else called));
                  Atomic.incr made;
                  endless began Task.check ()
                in
                ignore (Task.fork s quick);
                until began;
                Task.cancel_scope s))
      done;
      check_int "tasks" rounds (Atomic.get made);
      check_int "hooks" rounds (Atomic.get called);
      check_int "twice" 0 (Atomic.get again))

(* A scope's waits are told one after the other. Nothing that is done by who has been told before, a hook here,
   goes to one that is yet to be told. *)
let told_before_the_waits () =
  let check what wait event =
    let ended = ref "" in
    let work () =
      match wait () with
      | () -> ended := "went on"
      | exception Task.Cancelled -> ended := "cancelled"
      | exception Chan.Closed -> ended := "closed"
    in
    let waits begun () =
      Latch.count_down begun;
      work ()
    in
    in_pool 1 (fun () ->
        check_cancelled what (fun () ->
            Task.scope (fun s ->
                Task.on_cancel event;
                let begun = Latch.create 1 in
                ignore (Task.fork s (waits begun));
                Latch.await begun;
                Task.cancel_scope s)));
    check_equal what "cancelled" !ended
  in
  let full = Chan.bounded 1 and c = Chan.bounded 0 and closed = Chan.bounded 0 in
  Chan.send full 0;
  check "recv" (fun () -> Chan.recv c) (fun () -> check_bool "sent" false (Chan.try_send c ()));
  check "send" (fun () -> Chan.send c ()) (fun () -> check_bool "got" true (Chan.try_recv c = None));
  check "a full channel" (fun () -> Chan.send full 1) (fun () -> check_int "got" 0 (Chan.recv full));
  check_int "empty" 0 (Chan.length full);
  check "close" (fun () -> Chan.recv closed) (fun () -> Chan.close closed);
  let both = [ Chan.send_case c () ignore; Chan.recv_case c ignore ] in
  check "select"
    (fun () -> Chan.select both)
    (fun () -> check_bool "selected" true (Chan.try_select both = None));
  let m = Mutex.create () and signalled = Condition.create () in
  let comes = Atomic.make false and told = Atomic.make false in
  let outside () =
    Mutex.protect m (fun () ->
        Atomic.set comes true;
        Condition.wait signalled m);
    Atomic.set told true
  in
  let other = ref None in
  check "signal"
    (fun () ->
      Mutex.protect m (fun () ->
          other := Some (Thread.create outside ());
          Condition.wait signalled m))
    (fun () ->
      until comes;
      Mutex.protect m ignore;
      Condition.signal signalled);
  Option.iter Thread.join !other;
  check_bool "another one" true (Atomic.get told);
  let barrier = Barrier.create 2 in
  let alone () =
    match Task.with_deadline 0.01 (fun () -> Barrier.await barrier) with
    | () -> Alcotest.fail "a meeting with one who left"
    | exception Task.Deadline_exceeded -> ()
  in
  check "barrier" (fun () -> Barrier.await barrier) alone;
  let semaphore = Semaphore.make 0 in
  check "semaphore" (fun () -> Semaphore.acquire semaphore) (fun () -> Semaphore.release semaphore);
  check_int "permits" 1 (Semaphore.get_value semaphore);
  let lock = Rwlock.create () in
  Rwlock.lock_read lock;
  check "write" (fun () -> Rwlock.lock_write lock) (fun () -> Rwlock.unlock_read lock);
  check_bool "free" true (Rwlock.try_lock_write lock)

(* The same where several are told at once, and two stop it: what the second one does then comes after. *)
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
          if Chan.try_send c () then Alcotest.fail "sent to one who is cancelled"
        in
        ignore (both stops stops);
        check_cancelled "await" (fun () -> Task.await t)
      done)

(* Ctrl-C that strikes who stops a scope, as it fails or has its first result: a hook's is no different. *)
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

(* What a task starts in a scope is a part of it, and awaits the task, which goes on after the scope. *)
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

(* Each starts the next one in a scope of its own, which ends soon: what it is a part of must not grow. *)
let chain_of_scopes () =
  let live () =
    Gc.full_major ();
    (Gc.stat ()).live_words
  in
  let check name within =
    in_pool 2 (fun () ->
        let grown = Atomic.make None in
        let rec serve before n =
          if n = 0 then Atomic.set grown (Some (live () - before))
          else
            within (fun () ->
                ignore
                  (Task.async (fun () ->
                       Task.check ();
                       serve before (n - 1))))
        in
        (try serve (live ()) 5_000 with Failure _ -> ());
        wait_until (fun () -> Atomic.get grown <> None);
        let words = Option.get (Atomic.get grown) in
        if words > 100_000 then failf "%s: %d words are left behind" name words)
  in
  check "scope" (fun f -> Task.scope (fun _ -> f ()));
  Task.set_uncaught_handler (fun _ _ -> ());
  check "scope, then a failure" (fun f ->
      Task.scope (fun _ -> f ());
      failwith "after the scope");
  check "with_deadline" (fun f -> Task.with_deadline 1e6 f);
  check "all" (fun f -> ignore (Task.all [ f; ignore ]))

(* The task's worker is the only one that has time: when it was told, in its own share of the loop, it
   must not go on to the other's. *)
let told_in_a_chunk () =
  Pool.with_ ~domains:2 ~oversubscribe:true (fun pool ->
      Pool.run pool (fun () ->
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
          check_int "calls" 1 (Atomic.get calls)))

(* {2 Scopes} *)

let ends_last () =
  on_all
    (fun () ->
      let ended = Atomic.make 0 in
      let v =
        Task.scope (fun s ->
            for _ = 1 to 20 do
              ignore
                (Task.fork s (fun () ->
                     Unix.sleepf 0.0005;
                     ignore (Task.fork s (fun () -> Atomic.incr ended));
                     Atomic.incr ended))
            done;
            42)
      in
      check_int "value" 42 v;
      check_int "ended" 40 (Atomic.get ended))
    ()

let results () =
  on_all
    (fun () ->
      let sum =
        Task.scope (fun s ->
            let ts = List.init 10 (fun i -> Task.fork s (fun () -> i)) in
            List.fold_left (fun sum t -> sum + Task.await t) 0 ts)
      in
      check_int "sum" 45 sum)
    ()

let first_failure_cancels () =
  on_all
    (fun () ->
      let others = Atomic.make 0 and began = Atomic.make false in
      let other () =
        try endless began Task.check ()
        with Task.Cancelled as exn ->
          Atomic.incr others;
          raise exn
      in
      check_raises "scope" (Failed 1) (fun () ->
          Task.scope (fun s ->
              if Pool.size (Pool.default ()) > 1 then ignore (Task.fork s other);
              Task.await (Task.fork s (fun () -> raise (Failed 1))))))
    ()

let body_is_cancelled () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      check_raises "scope" (Failed 1) (fun () ->
          Task.scope (fun s ->
              ignore
                (Task.fork s (fun () ->
                     until began;
                     raise (Failed 1)));
              endless began Task.check ())))

let body_fails () =
  on_all
    (fun () ->
      let ran = Atomic.make 0 in
      check_raises "scope" (Failed 2) (fun () ->
          Task.scope (fun s ->
              for _ = 1 to 10 do
                ignore
                  (Task.fork s (fun () ->
                       Atomic.incr ran;
                       Task.check ()))
              done;
              raise (Failed 2)));
      check_bool "at most 10" true (Atomic.get ran <= 10))
    ()

let backtrace () =
  Printexc.record_backtrace true;
  let[@inline never] origin () = raise (Failed 3) in
  in_pool 2 (fun () ->
      match Task.scope (fun s -> ignore (Task.fork s (fun () -> origin ()))) with
      | () -> Alcotest.fail "no exception"
      | exception Failed 3 ->
        let trace = Printexc.get_backtrace () in
        check_bool "backtrace" true (contains trace ~sub:"test_cancel.ml"))

let cancelled_task_is_no_failure () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let v =
        Task.scope (fun s ->
            let t = Task.fork s (endless began Task.check) in
            until began;
            Task.cancel t;
            7)
      in
      check_int "value" 7 v)

let nested () =
  in_pool 2 (fun () ->
      let inner = Atomic.make false and began = Atomic.make false in
      let work () =
        Fun.protect ~finally:(fun () -> Atomic.set inner true) (endless began Task.check)
      in
      let t = Task.async (fun () -> Task.scope (fun s -> Task.await (Task.fork s work))) in
      until began;
      Task.cancel t;
      check_cancelled "await" (fun () -> Task.await t);
      check_bool "inner task ended" true (Atomic.get inner))

let asyncs_within () =
  in_pool 3 (fun () ->
      let began = Atomic.make false and ended = Atomic.make false in
      check_raises "scope" Exit (fun () ->
          Task.scope (fun _ ->
              let work () =
                Fun.protect ~finally:(fun () -> Atomic.set ended true) (endless began Task.check)
              in
              ignore (Task.async work);
              until began;
              raise Exit));
      until ended)

let cancel_many () =
  let ran = Atomic.make 0 and since = ref 0. in
  check_raises "scope" Exit (fun () ->
      Task.scope (fun s ->
          for _ = 1 to 100_000 do
            ignore (Task.fork s (fun () -> Atomic.incr ran))
          done;
          since := Unix.gettimeofday ();
          raise Exit));
  let ms = 1000. *. (Unix.gettimeofday () -. !since) in
  check_int "ran" 0 (Atomic.get ran);
  ms

(* A busy machine may delay some of the tries. *)
let many_queued () =
  in_pool 1 (fun () ->
      let rec quick tries =
        let ms = cancel_many () in
        if ms >= 50. then if tries > 1 then quick (tries - 1) else failf "took %.1f ms" ms
      in
      quick 10)

let fork_after_the_end () =
  in_pool 1 (fun () ->
      let escaped = Task.scope Fun.id in
      check_invalid ~mentions:[ "Muster.Task.fork"; "ended" ] "fork" (fun () ->
          ignore (Task.fork escaped ignore)))

(* None of two that come at the same time is let in by the other. *)
let forks_after_the_end () =
  in_pool 1 (fun () ->
      let escaped = Task.scope Fun.id in
      let rec refused n =
        n = 0
        ||
        match Task.fork escaped ignore with
        | _ -> false
        | exception Invalid_argument _ -> refused (n - 1)
      in
      let other = Domain.spawn (fun () -> refused 100_000) in
      let mine = refused 100_000 in
      check_bool "refused" true (Domain.join other && mine))

let cancel_scope () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      check_cancelled "scope" (fun () ->
          Task.scope (fun s ->
              let t = Task.fork s (endless began Task.check) in
              until began;
              Task.cancel_scope s;
              Task.await t)))

let from_anywhere () =
  check_int "outside every pool" 3 (Task.scope (fun s -> Task.await (Task.fork s (fun () -> 3))));
  let in_thread = ref 0 in
  let th =
    Thread.create
      (fun () -> in_thread := Task.scope (fun s -> Task.await (Task.fork s (fun () -> 4))))
      ()
  in
  Thread.join th;
  check_int "in a systhread" 4 !in_thread;
  let d = Domain.spawn (fun () -> Task.scope (fun s -> Task.await (Task.fork s (fun () -> 5)))) in
  check_int "in another domain" 5 (Domain.join d)

(* {2 Deadlines} *)

let deadline_passes () =
  on_all
    (fun () ->
      let since = Unix.gettimeofday () in
      check_raises "endless" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              while true do
                Task.check ()
              done));
      check_bool "not before" true (Unix.gettimeofday () -. since >= 0.02))
    ()

let deadline_of_children () =
  on_all
    (fun () ->
      check_raises "awaits an endless task" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              Task.await
                (Task.async (fun () ->
                     while true do
                       Task.check ()
                     done))));
      check_raises "an endless loop" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () -> parallel_for ~start:0 ~finish:max_int ignore));
      check_raises "forks" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              while true do
                ignore (fib 22)
              done)))
    ()

(* Nobody runs: only a sleeper can notice. *)
let deadline_of_sleepers () =
  in_pool 2 (fun () ->
      let go = Atomic.make false and began = Atomic.make false in
      let blocker =
        Task.async (fun () ->
            Atomic.set began true;
            until go)
      in
      until began;
      check_raises "waits" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () -> Task.await blocker));
      Atomic.set go true;
      Task.await blocker)

(* Begun by a task that waits, and nobody else is in the pool: its domains would end meanwhile. *)
let deadline_of_nobody_here domains () =
  let noticed = Atomic.make false in
  let waits () =
    try Task.with_deadline 0.4 (fun () -> ignore (Chan.recv (Chan.bounded 0)))
    with Task.Deadline_exceeded -> Atomic.set noticed true
  in
  let start pool = Pool.run pool (fun () -> ignore (Task.async waits)) in
  let wait_for_it () =
    let limit = Unix.gettimeofday () +. 10. in
    while not (Atomic.get noticed || Unix.gettimeofday () > limit) do
      Unix.sleepf 0.01
    done
  in
  with_domains domains (fun pool ->
      start pool;
      wait_for_it ());
  check_bool "noticed" true (Atomic.exchange noticed false);
  with_domains domains start;
  check_bool "noticed by close" true (Atomic.get noticed)

let deadline_kept () =
  on_all
    (fun () ->
      check_int "value" 5 (Task.with_deadline 60. (fun () -> 5));
      check_raises "exception" (Failed 5) (fun () ->
          Task.with_deadline 60. (fun () -> raise (Failed 5)));
      check_int "no limit" 6 (Task.with_deadline infinity (fun () -> 6));
      check_raises "none left" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0. (fun () -> 7));
      check_raises "late" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.001 (fun () -> Unix.sleepf 0.01)))
    ()

let deadlines_nest () =
  on_all
    (fun () ->
      let inner = ref 0 in
      check_raises "the outer passes first" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.02 (fun () ->
              match
                Task.with_deadline 60. (fun () ->
                    while true do
                      Task.check ()
                    done)
              with
              | () -> ()
              | exception Task.Cancelled ->
                inner := 1;
                raise Task.Cancelled
              | exception Task.Deadline_exceeded -> inner := 2));
      check_int "the inner was cancelled" 1 !inner;
      check_int "the inner passes first" 8
        (Task.with_deadline 60. (fun () ->
             match
               Task.with_deadline 0.01 (fun () ->
                   while true do
                     Task.check ()
                   done)
             with
             | () -> 0
             | exception Task.Deadline_exceeded -> fib 6)))
    ()

let busy_until time =
  while Unix.gettimeofday () < time do
    ()
  done

(* A message that was received in time is there, though time is up when the code returns. (On a busy machine it
   may not be received in time.) *)
let obtains receive () =
  let rec obtain () =
    let received = ref false in
    let c = Chan.unbounded () in
    Chan.send c 42;
    let late = Unix.gettimeofday () +. 0.004 in
    let receive_and_dawdle () =
      let message = receive c in
      received := true;
      busy_until late;
      message
    in
    match Task.with_deadline 0.003 receive_and_dawdle with
    | message -> check_int "message" 42 message
    | exception Task.Deadline_exceeded when not !received -> obtain ()
  in
  obtain ();
  on_all obtain ()

(* What need not be waited for was obtained in time, though time is up. *)
let keeps_what_it_has_locked () =
  let keeps name lock is_free =
    let lock_late () =
      busy_until (Unix.gettimeofday () +. 0.004);
      lock ()
    in
    check_bool name true
      (match Task.with_deadline 0.003 lock_late with
      | () -> not (is_free ())
      | exception Task.Deadline_exceeded -> false)
  in
  on_all
    (fun () ->
      let s = Semaphore.make 1 and m = Mutex.create () in
      let reading = Rwlock.create () and writing = Rwlock.create () in
      keeps "permit" (fun () -> Semaphore.acquire s) (fun () -> Semaphore.get_value s = 1);
      keeps "mutex"
        (fun () -> Mutex.lock m)
        (fun () -> match Mutex.unlock m with () -> false | exception Invalid_argument _ -> true);
      keeps "reader" (fun () -> Rwlock.lock_read reading) (fun () -> Rwlock.try_lock_write reading);
      keeps "writer" (fun () -> Rwlock.lock_write writing) (fun () -> Rwlock.try_lock_read writing))
    ()

let ways_to_obtain =
  let other = lazy (Pool.create ~domains:2 ~oversubscribe:true ()) in
  [
    ("recv", Chan.recv);
    ("select", fun c -> Chan.(select [ recv_case c Fun.id ]));
    ("a branch", fun c -> snd (Muster.both ignore (fun () -> Chan.recv c)));
    ("a task", fun c -> Task.await (Task.async (fun () -> Chan.recv c)));
    ("a scope", fun c -> Task.scope (fun _ -> Chan.recv c));
    ("a deadline within", fun c -> Task.with_deadline 60. (fun () -> Chan.recv c));
    ("another pool", fun c -> Pool.run (Stdlib.Lazy.force other) (fun () -> Chan.recv c));
    ( "a loop",
      fun c ->
        let got = Atomic.make 0 in
        Muster.parallel_for ~start:0 ~finish:3 (fun i -> if i = 3 then Atomic.set got (Chan.recv c));
        Atomic.get got );
  ]

(* Messages come at times around the deadline. *)
let loses_no_message domains () =
  in_pool domains (fun () ->
      let n = 400 in
      let c = Chan.unbounded () in
      let sender =
        Task.async (fun () ->
            for i = 1 to n do
              Task.blocking (fun () -> Unix.sleepf (Random.float 0.001));
              Chan.send c i
            done;
            Chan.close c)
      in
      let rec receive got =
        match Task.with_deadline 0.0005 (fun () -> Chan.recv c) with
        | i -> receive (i :: got)
        | exception Task.Deadline_exceeded -> receive got
        | exception Chan.Closed -> List.rev got
      in
      let got = receive [] in
      Task.await sender;
      check_bool "all" true (got = List.init n succ))

let swallowed () =
  on_all
    (fun () ->
      let cut = ref false in
      check_raises "told, and went on" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.002 (fun () ->
              try endless (Atomic.make false) Task.check () with Task.Cancelled -> cut := true));
      check_bool "told" true !cut)
    ()

let bad_deadline () =
  check_invalid ~mentions:[ "Muster.Task.with_deadline"; "nan" ] "nan" (fun () ->
      Task.with_deadline nan ignore)

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

(* The message is on its way to [t] when [t] is cancelled, as all workers are busy; the other task is told when [t] has it. *)
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

(* {2 first} *)

let first_cancels_losers () =
  in_pool 2 (fun () ->
      let began = Atomic.make false in
      let loser () = endless began Task.check () in
      check_int "winner" 1
        (Task.first
           [
             loser;
             (fun () ->
               until began;
               1);
           ]))

(* The winner is not cancelled: no hook of its is called, and what it has started goes on. *)
(* What a loser awaits it may run itself, on its own stack. *)
let first_cancels_what_losers_await () =
  let loser () =
    Task.await (Task.async (fun () -> Latch.await (Latch.create 1)));
    1
  in
  let winner () =
    Task.blocking (fun () -> Unix.sleepf 0.01);
    2
  in
  check_int "winner" 2 (Task.first [ loser; winner; loser ])

(* {2 all} *)

(* The left one comes first, so it is waited for. *)
let all_cancels_what_is_right_of_a_failure () =
  let left = ref false and right = ref "" in
  let waits () =
    match Latch.await (Latch.create 1) with
    | () -> ()
    | exception exn ->
      right := Printexc.to_string exn;
      raise exn
  in
  let slow () =
    Task.blocking (fun () -> Unix.sleepf 0.05);
    left := true
  in
  let fails () =
    Task.blocking (fun () -> Unix.sleepf 0.01);
    raise (Failed 1)
  in
  check_raises "the failure" (Failed 1) (fun () -> Task.all [ slow; fails; waits; waits ]);
  check_bool "the left one has ended" true !left;
  check_bool "the right ones were told" true (!right = "" || contains !right ~sub:"Cancelled")

let first_spares_the_winner () =
  let of_losers = Atomic.make 0 and of_winners = Atomic.make 0 in
  let go = Muster.Latch.create 1 and losers = Muster.Latch.create 2 in
  let loser () =
    Task.on_cancel (fun () -> Atomic.incr of_losers);
    Muster.Latch.count_down losers;
    Muster.Latch.await (Muster.Latch.create 1)
  in
  let winner () =
    Task.on_cancel (fun () -> Atomic.incr of_winners);
    Muster.Latch.await losers;
    Task.async (fun () ->
        Muster.Latch.await go;
        7)
  in
  let lose () =
    loser ();
    winner ()
  in
  let started = Task.first [ lose; winner; lose ] in
  check_int "hooks of losers" 2 (Atomic.get of_losers);
  check_int "of the winner" 0 (Atomic.get of_winners);
  Muster.Latch.count_down go;
  check_int "what the winner has started" 7 (Task.await started)

(* Who has not begun when there is a winner does not begin. *)
let first_begins_no_more () =
  in_pool 1 (fun () ->
      let begun = ref 0 in
      let count i () =
        incr begun;
        i
      in
      check_int "winner" 0 (Task.first (List.init 1000 count));
      check_int "begun" 1 !begun)

let case name f = case ~seconds:30 name f

(* {2 Deadlines among the busy} *)

(* 20 us, in which nothing is allocated. *)
let spin () =
  let until = Unix.gettimeofday () +. 2e-5 in
  while Unix.gettimeofday () < until do
    ()
  done

let rec tree depth leaf =
  if depth = 0 then leaf ()
  else ignore (Muster.both (fun () -> tree (depth - 1) leaf) (fun () -> tree (depth - 1) leaf))

(* Nobody sleeps, checks or collects garbage: the clock is looked at all the same. Of 0.6 s of work hardly
   more is done than the 10 ms allow. *)
let deadline_of_the_busy work pool =
  let steps = Atomic.make 0 in
  let step () =
    Atomic.incr steps;
    spin ()
  in
  Pool.run pool (fun () ->
      check_raises "late" Task.Deadline_exceeded (fun () ->
          Task.with_deadline 0.01 (fun () -> work step)));
  if Atomic.get steps > 15_000 then failf "%d of some 30,000 steps were made" (Atomic.get steps)

let busy_ways =
  [
    ( "awaits",
      fun step ->
        for _ = 1 to 30_000 do
          Task.await (Task.async step)
        done );
    ("Task.all", fun step -> ignore (Task.all (List.init 30_000 (fun _ -> step))));
    ( "short loops",
      fun step ->
        for _ = 1 to 15_000 do
          Muster.parallel_for ~start:1 ~finish:2 (fun _ -> step ())
        done );
    ("both", tree 15);
    ( "a sort",
      fun step ->
        let compare a b =
          step ();
          Int.compare a b
        in
        Muster.Array.sort compare (Array.init 3_000 (fun i -> i * 7919 mod 3001)) );
  ]

let deadlines_of_the_busy =
  let on domains (name, work) =
    let name = Printf.sprintf "passes among the busy, %s, %d domains" name domains in
    case name (fun () -> with_domains domains (deadline_of_the_busy work))
  in
  List.map (on 1) busy_ways @ List.map (on 2) busy_ways

(* The code around a run of another pool is told with it, and its cleaning up may wait. *)
let told_once_across_pools () =
  with_domains 1 @@ fun other ->
  let cleaned = ref false in
  let clean () =
    Task.check ();
    Task.await (Task.async ignore);
    cleaned := true
  in
  let endless () =
    while true do
      Task.check ()
    done
  in
  check_raises "deadline" Task.Deadline_exceeded (fun () ->
      Task.with_deadline 0.02 (fun () ->
          Fun.protect ~finally:clean (fun () -> Pool.run other endless)));
  check_bool "cleaned" true !cleaned

(* So it is where the thread comes back to a pool that it is in already, and awaits a task there. *)
let told_once_back_in_a_pool () =
  with_domains 2 @@ fun pool ->
  with_domains 1 @@ fun other ->
  let told_once where f =
    let cleaned = ref false in
    let clean () =
      Task.check ();
      Task.await (Task.async ignore);
      cleaned := true
    in
    check_raises where Task.Cancelled (fun () ->
        Task.scope (fun scope -> Fun.protect ~finally:clean (fun () -> f scope)));
    check_bool where true !cleaned
  in
  Pool.run pool @@ fun () ->
  let never = Muster.Latch.create 1 in
  let task = Task.async (fun () -> Muster.Latch.await never) in
  Fun.protect ~finally:(fun () -> Muster.Latch.count_down never) @@ fun () ->
  Pool.run other @@ fun () ->
  told_once "await" (fun scope ->
      ignore (Thread.create Task.cancel_scope scope);
      Task.await task);
  told_once "run" (fun scope ->
      Pool.run pool (fun () ->
          Task.cancel_scope scope;
          Task.check ()))

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
      ("scan", fun () -> ignore (parallel_scan ( + ) (Array.sub array 0 n)));
      ("for_n", fun () -> Team.for_n other n (fun ~worker:_ _ -> ()));
      ("for_n_dynamic", fun () -> Team.for_n_dynamic other n (fun ~worker:_ _ -> ()));
      ("for_slices", fun () -> Team.for_slices other n (fun ~worker:_ ~start:_ ~count:_ -> ()));
    ]
  in
  let collections n =
    [
      ("an array's scan", fun () -> ignore (Muster.Array.scan ( + ) (Array.sub array 0 n)));
      ("a list's scan", fun () -> ignore (Muster.List.scan ( + ) (List.init n Fun.id)));
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

(* Both messages are there before either task goes on: [first] takes both, [select] one. *)
let first_drops_what_losers_got () =
  let messages_left waiting receive =
    in_pool 1 (fun () ->
        let a = Chan.unbounded () and b = Chan.unbounded () and begun = ref 0 in
        let t = Task.async (fun () -> receive a b (fun () -> incr begun)) in
        while !begun < waiting do
          try Task.with_deadline 0.001 (fun () -> Task.await t) with Task.Deadline_exceeded -> ()
        done;
        Chan.send a ();
        Chan.send b ();
        Task.await t;
        Chan.length a + Chan.length b)
  in
  let receive_from c begin_ () =
    begin_ ();
    Chan.recv c
  in
  let by_first a b begin_ = Task.first [ receive_from a begin_; receive_from b begin_ ] in
  let by_select a b begin_ =
    begin_ ();
    Chan.(select [ recv_case a Fun.id; recv_case b Fun.id ])
  in
  check_int "first" 0 (messages_left 2 by_first);
  check_int "select" 1 (messages_left 1 by_select)

let () =
  Alcotest.run "cancel"
    [
      ("stops at", List.map (fun (name, step) -> case name (stops_at step)) steps);
      ( "is told after the failure of",
        List.map
          (fun (name, step) -> case name (told_after_a_failure step))
          (failing_calls @ failing_reductions) );
      ( "is told wherever it waits in",
        List.map
          (fun (name, call) -> Harness.case ~seconds:10 name (told_wherever_it_waits call))
          waiting_calls );
      ( "beside one that waits for",
        List.concat_map
          (fun (name, event) ->
            List.concat_map
              (fun domains ->
                let case name f = case (Printf.sprintf "%s, %d domains" name domains) f in
                [
                  case name (told_beside event domains);
                  case (name ^ ", its own") (told_beside_its_own event domains);
                ])
              [ 1; 2 ])
          events );
      ("stops itself at", List.map (fun (name, step) -> case name (stops_itself step)) steps);
      ( "cancel",
        [
          case "a task that has not begun" before_it_begins;
          case "at the very end" at_the_very_end;
          case "a task that waits" wakes_who_waits;
          case "a value that comes later is dropped" value_is_dropped;
          case "an exception that comes later is not" exception_is_not;
          case "a value of what came before is kept" value_is_kept;
          case "so is that of who counts" value_is_kept_of_who_counts;
          case "not if told" told_after_its_event;
          case "a task that has ended" after_the_end;
          case "cleaning up" cleans_up;
          case "cleaning up after branches" cleans_up_after_branches;
          case "short loops" short_loops;
          case "hooks" hooks;
          case "a hook of who was told" hook_of_who_was_told;
          case "hooks take no cancellation" hooks_take_nothing;
          case "nor do handlers" handlers_take_nothing;
          case "a task awaits itself" awaits_itself;
          case "a task awaits who started it" awaits_who_started_it;
          case "scopes in a chain of tasks" chain_of_scopes;
          case "a hook waits for a lock" hook_waits_for_a_lock;
          case "looks when all is over" looks_when_all_is_over;
          case "looks when its task is over" looks_when_its_task_is_over;
          case "awaited as its pool closes" awaited_as_its_pool_closes;
          case "Ctrl-C in a hook" hook_is_interrupted;
          case "hooks of the quick" hooks_of_the_quick;
          case "told before the waits" told_before_the_waits;
          case "stopped by two" told_by_two;
          case "Ctrl-C as a scope stops" struck_as_it_stops;
          case "told in a chunk of a team's loop" told_in_a_chunk;
          case "exceptions have their names" exceptions_have_names;
          case "another task is told" (if flipped then ignore else another_is_told);
          case "another task has got a message" (if flipped then ignore else another_has_got);
        ] );
      ( "scope",
        [
          case "ends after its tasks" ends_last;
          case "results" results;
          case "the first failure cancels the rest" first_failure_cancels;
          case "a failure cancels the scope's code" body_is_cancelled;
          case "the scope's code fails" body_fails;
          case "backtrace" backtrace;
          case "a cancelled task is no failure" cancelled_task_is_no_failure;
          case "cancels the scopes within" nested;
          case "cancels what was started within" asyncs_within;
          case "100,000 queued tasks" many_queued;
          case "fork after the end" fork_after_the_end;
          case "forks after the end, at the same time" forks_after_the_end;
          case "cancel_scope" cancel_scope;
          case "from anywhere" from_anywhere;
        ] );
      ( "deadline",
        [
          case "passes" deadline_passes;
          case "passes for the tasks within" deadline_of_children;
          case "passes while all sleep" deadline_of_sleepers;
          case "passes while nobody is in the pool, 1 domain" (deadline_of_nobody_here 1);
          case "passes while nobody is in the pool, 2 domains" (deadline_of_nobody_here 2);
          case "is kept" deadline_kept;
          case "nests" deadlines_nest;
          case "is no number" bad_deadline;
          case "is told once, across pools" told_once_across_pools;
          case "passes for who goes on" swallowed;
          case "loses no message, 1 domain" (loses_no_message 1);
          case "loses no message, 2 domains" (loses_no_message 2);
          case "is told once, back in a pool" told_once_back_in_a_pool;
          case "keeps what it has locked" keeps_what_it_has_locked;
        ]
        @ deadlines_of_the_busy
        @ List.map
            (fun (name, receive) -> case ("keeps the message of " ^ name) (obtains receive))
            ways_to_obtain );
      ( "first",
        [
          case "cancels the losers" first_cancels_losers;
          case "cancels what losers await, 1 domain" (fun () ->
              in_pool 1 first_cancels_what_losers_await);
          case "cancels what losers await, 3 domains" (fun () ->
              in_pool 3 first_cancels_what_losers_await);
          case "all, 1 domain" (fun () -> in_pool 1 all_cancels_what_is_right_of_a_failure);
          case "all, 3 domains" (fun () -> in_pool 3 all_cancels_what_is_right_of_a_failure);
          case "spares the winner, 1 domain" (fun () -> in_pool 1 first_spares_the_winner);
          case "spares the winner, 3 domains" (fun () -> in_pool 3 first_spares_the_winner);
          case "begins no more" first_begins_no_more;
          case "drops what losers got" first_drops_what_losers_got;
        ] );
    ]
