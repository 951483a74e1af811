(* Cancelling a task that waits, for each kind of event and in each call. *)

open Harness
open Muster
open Cancelling
module List = Stdlib.List

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

(* What a task waited for came first: then it is cancelled, and goes on. [wait c] is a part of it.
   *)
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

(* So is that of one whose event has come, though nobody granted it before it was cancelled, as may
   be in a meeting of a [Barrier]: by a deadline, too, for it was not told. *)
let value_is_kept_of_who_counts () =
  let come _ =
    Muster_core.(Waiter.wait_or_leave (Event.make "a test")) ignore ~leave:(fun () -> true);
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

let awaited wait = Task.await (Task.async wait)

let events =
  let through = Waits.through in
  Waits.all
  @ [
      ("a task", through awaited);
      ("a task's task", through (fun wait -> awaited (fun () -> awaited wait)));
      ("the tasks of a scope", through (fun f -> Task.(scope (fun s -> ignore (fork s f)))));
      ("all tasks", through (fun wait -> ignore (Task.all [ wait; ignore ])));
      ("a branch", through (fun wait -> ignore (both ignore wait)));
      ( "an iteration",
        through (fun wait -> parallel_for ~start:1 ~finish:8 (fun i -> if i = 5 then wait ()))
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

(* A task that is cancelled as a call fails, and handles the failure, is told at its next
   checkpoint. *)
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

(* The elements, and what is done to them so slowly that others look whether the task is cancelled
   before all is over. [look] sees each second argument. *)
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
    ("a list's scan", slowly (fun op -> ignore (Muster.Parallel.List.scan op list)));
    ("a list's fold", slowly (fun op -> ignore (Muster.Parallel.List.fold op 0 list)));
    ("a sequence's fold", slowly (fun op -> ignore (Muster.Parallel.Seq.fold op 0 (List.to_seq list))));
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
      fun fail ->
        ignore (Parallel.Array.map (fun first -> if first then fail ()) [| true; false |]) );
    ("a scope", fun fail -> Task.scope (fun _ -> fail ()));
    ("a task of a scope", fun fail -> Task.scope (fun s -> ignore (Task.fork s fail)));
    ("with_deadline", fun fail -> Task.with_deadline 60. fail);
    ( "another pool",
      fun fail -> with_domains 2 (fun pool -> Pool.run pool (fun () -> ignore (both fail ignore)))
    );
  ]

(* A function that waits and is told is called again for what lies left, or with what it made
   before: it is told there, too. [k]: after so many calls. *)
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
    Muster.Parallel.Array.sort cmp (Array.copy halves)
  in
  let reading at wait =
    let force x =
      if x = at then wait ();
      x
    in
    Muster.Parallel.Seq.(iter (fun _ -> wait ()) (map force (List.to_seq list)))
  in
  List.map waiting slow_reductions
  @ [
      ("a merge", (n + (n / 5), last_merge));
      ("reading", (0, reading 10));
      ("reading the second", (0, reading 1));
    ]

(* A scope's waits are told one after the other. Nothing that is done by who has been told before, a
   hook here, goes to one that is yet to be told. *)
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
    | () -> Alcotest.fail "a meeting with a party that left"
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

let () =
  let beside (name, event) domains =
    let case name f = case (Printf.sprintf "%s, %d domains" name domains) f in
    [
      case name (told_beside event domains);
      case (name ^ ", its own") (told_beside_its_own event domains);
    ]
  in
  Alcotest.run "cancelled waits"
    [
      ( "cancelled after the failure of",
        List.map
          (fun (name, step) -> case name (told_after_a_failure step))
          (failing_calls @ failing_reductions) );
      ( "cancelled wherever it waits in",
        List.map
          (fun (name, call) -> Harness.case ~seconds:10 name (told_wherever_it_waits call))
          waiting_calls );
      ( "cancelled while it awaits a task that waits for",
        List.concat_map (fun event -> List.concat_map (beside event) [ 1; 2 ]) events );
      ( "waits",
        [
          case "a task that waits is woken" wakes_who_waits;
          case "a message that came before the cancel is kept" value_is_kept;
          case "a meeting that was complete before the cancel is kept" value_is_kept_of_who_counts;
          case "a task that was cancelled before its message raises" told_after_its_event;
          case "a task that was cancelled before its wait raises there" told_before_the_waits;
        ] );
    ]
