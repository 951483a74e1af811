(* Locks, conditions, semaphores, barriers, latches, lazy values and tables: what they guard is plain. They
   are held by domains outside all pools and by tasks that wait with them, and some that wait are
   cancelled. *)

module Task = Muster.Task
open Rounds
open Muster

let count = ref 0

(* [section] does one step for each party. *)
let steps ?(parties = 3) n section () =
  count := 0;
  race n (List.init parties (fun _ _ -> section ()));
  check "none lost" (!count = parties * times n)

(* Four tasks, two workers: each holds it across a wait, now and then. *)
let tasks n section =
  in_task 2 n (fun round ->
      count := 0;
      let wait () = if round land 3 = 0 then Task.await (Task.async ignore) else loiter round in
      ignore (Task.all (List.init 4 (fun _ () -> section wait)));
      check "none lost" (!count = 4))

(* Of four tasks two are cancelled, wherever they are; [section] is all or nothing. *)
let cancelled n section =
  in_task 2 n (fun round ->
      count := 0;
      let all = List.init 4 (fun _ -> Task.async (fun () -> section (fun () -> loiter round))) in
      loiter (round * 5);
      List.iteri (fun i task -> if i land 1 = 1 then Task.cancel task) all;
      let ended task =
        try
          Task.await task;
          1
        with Task.Cancelled -> 0
      in
      let returned = List.fold_left (fun n task -> n + ended task) 0 all in
      check "as many as went in" (!count >= returned && returned >= 2 && !count <= 4))

let guarded ~enter ~leave wait =
  enter ();
  let now = !count in
  Fun.protect wait ~finally:(fun () ->
      count := now + 1;
      leave ())

(* {2 Mutex} *)

let mutex = Mutex.create ()
let lock () = Mutex.lock mutex
let unlock () = Mutex.unlock mutex
let locked = guarded ~enter:lock ~leave:unlock

let tried () =
  relax_until (fun () -> Mutex.try_lock mutex);
  incr count;
  unlock ()

(* Tasks of several pools get their numbers at the same time. *)
let numbered () =
  let party _ =
    let latch = Latch.create 1 and own = Mutex.create () in
    let body () =
      Mutex.protect own ignore;
      Latch.count_down latch
    in
    Muster.Pool.with_ ~domains:1 (fun _ ->
        let task = Task.async body in
        Latch.await latch;
        Task.await task)
  in
  race 60 [ party; party; party ]

(* {2 Condition} *)

(* A queue of one place, by hand. *)
let bounded_buffer () =
  let mutex = Mutex.create () and changed = Condition.create () in
  let place = ref None and got = ref 0 in
  let rec until ready =
    if not (ready ()) then begin
      Condition.wait changed mutex;
      until ready
    end
  in
  let put _ =
    Mutex.protect mutex (fun () ->
        until (fun () -> !place = None);
        place := Some (ref 1);
        Condition.broadcast changed)
  in
  let take _ =
    Mutex.protect mutex (fun () ->
        until (fun () -> !place <> None);
        got := !got + !(Option.get !place);
        place := None;
        Condition.broadcast changed)
  in
  race 500 [ put; put; take; take ];
  check "each once" (!got = 2 * times 500)

(* Who signals need not hold the mutex. *)
let signalled_without () =
  let mutex = Mutex.create () and changed = Condition.create () in
  let ready = ref 0 in
  let give _ =
    Mutex.protect mutex (fun () -> incr ready);
    Condition.signal changed
  in
  let take _ =
    Mutex.protect mutex (fun () ->
        while !ready = 0 do
          Condition.wait changed mutex
        done;
        decr ready)
  in
  race 500 [ give; take; give; take ];
  check "each once" (!ready = 0)

(* A signal is not lost on who is cancelled. *)
let condition_cancelled =
  let mutex = Mutex.create () and told = Condition.create () in
  let ready = ref 0 in
  in_task 2 400 (fun round ->
      ready := 0;
      let wait () =
        Mutex.protect mutex (fun () ->
            while !ready = 0 do
              Condition.wait told mutex
            done;
            decr ready)
      in
      let tasks = Array.init 3 (fun _ -> Task.async wait) in
      loiter round;
      Task.cancel tasks.(0);
      for _ = 1 to 3 do
        Mutex.protect mutex (fun () -> incr ready);
        Condition.signal told
      done;
      let ended task =
        try
          Task.await task;
          1
        with Task.Cancelled -> 0
      in
      let passed = Array.fold_left (fun n task -> n + ended task) 0 tasks in
      check "the others go on" (passed >= 2))

(* {2 Semaphore} *)

let permit = Semaphore.make 1
let acquire () = Semaphore.acquire permit
let release () = Semaphore.release permit
let with_permit = guarded ~enter:acquire ~leave:release

let tried_permit () =
  relax_until (fun () -> Semaphore.try_acquire permit);
  incr count;
  release ()

(* {2 Barrier} *)

let barrier () =
  let barrier = Barrier.create 3 and cells = [| 0; 0; 0 |] in
  let party i round =
    for turn = 0 to 1 do
      cells.(i) <- (2 * round) + turn;
      Barrier.await barrier;
      check "all came" (Array.for_all (fun cell -> cell = (2 * round) + turn) cells);
      Barrier.await barrier
    done
  in
  race 1_000 (List.init 3 party)

let barrier_cancelled =
  let cells = [| 0; 0; 0; 0 |] in
  in_task 2 400 (fun round ->
      let barrier = Barrier.create 3 in
      let come i () =
        cells.(i) <- round;
        Barrier.await barrier
      in
      let gone = Task.async (come 0) in
      loiter round;
      Task.cancel gone;
      (match Task.await gone with
      | () -> check "no value" false
      | exception Task.Cancelled -> check "nobody waits" (Barrier.waiting barrier = 0));
      let all_came i () =
        come i ();
        check "all came" (cells.(1) = round && cells.(2) = round && cells.(3) = round)
      in
      ignore (Task.all (List.init 3 (fun i -> all_came (i + 1)))))

(* {2 Latch} *)

let latch () =
  let latch = ref (Latch.create 3) and cells = [| 0; 0; 0 |] in
  let before _ = latch := Latch.create 3 in
  let party i round =
    cells.(i) <- round;
    Latch.count_down !latch;
    if i > 0 then Latch.await !latch else relax_until (fun () -> Latch.count !latch = 0);
    check "all counted" (Array.for_all (fun cell -> cell = round) cells)
  in
  race 3_000 ~before (List.init 3 party)

let latch_of_tasks =
  in_task 2 400 (fun round ->
      let latch = Latch.create 2 and data = ref 0 in
      let wait () =
        Latch.await latch;
        check "open" (!data = round)
      in
      let tasks = Array.init 3 (fun _ -> Task.async wait) in
      loiter round;
      Task.cancel tasks.(round mod 3);
      data := round;
      let count () = Latch.count_down latch in
      ignore (Muster.both count count);
      Array.iter (fun task -> try Task.await task with Task.Cancelled -> ()) tasks)

(* {2 Rwlock} *)

let rwlock = Rwlock.create ()
let lock_write () = Rwlock.lock_write rwlock
let unlock_write () = Rwlock.unlock_write rwlock
let written = guarded ~enter:lock_write ~leave:unlock_write

let tried_write () =
  relax_until (fun () -> Rwlock.try_lock_write rwlock);
  incr count;
  unlock_write ()

let readers_and_writers () =
  let a = ref 0 and b = ref 0 in
  let write _ =
    Rwlock.protect_write rwlock (fun () ->
        incr a;
        incr b)
  in
  let read _ = Rwlock.protect_read rwlock (fun () -> check "a whole write" (!a = !b)) in
  let try_read _ =
    relax_until (fun () -> Rwlock.try_lock_read rwlock);
    let whole = !a = !b in
    Rwlock.unlock_read rwlock;
    check "a whole write" whole
  in
  race 1_500 [ write; read; write; try_read ]

let rwlock_of_tasks =
  let a = ref 0 and b = ref 0 in
  in_task 2 400 (fun round ->
      let write () =
        Rwlock.protect_write rwlock (fun () ->
            incr a;
            loiter round;
            incr b)
      in
      let read () = Rwlock.protect_read rwlock (fun () -> check "a whole write" (!a = !b)) in
      let tasks = List.map Task.async [ read; write; read; write; read ] in
      loiter (3 * round);
      (* Nothing of a section is a checkpoint: it is done or not begun. *)
      List.iteri (fun i task -> if i land 1 = round land 1 then Task.cancel task) tasks;
      List.iter (fun task -> try Task.await task with Task.Cancelled -> ()) tasks)

(* {2 Lazy} *)

let forced () =
  let it = ref (Lazy.from_val (ref 0)) and runs = ref 0 in
  let before round =
    it :=
      Lazy.from_fun (fun () ->
          incr runs;
          ref round)
  in
  let force round = check "this round's" (!(Lazy.force !it) = round) in
  let look round =
    relax_until (fun () -> Lazy.is_val !it);
    check "once a round" (!runs = round + 1);
    force round
  in
  race 3_000 ~before [ force; force; look ]

(* Who computes is cancelled, perhaps; then another one computes. *)
let lazy_cancelled =
  in_task 2 400 (fun round ->
      let runs = ref 0 in
      let compute () =
        incr runs;
        loiter round;
        Task.check ();
        ref round
      in
      let it = Lazy.from_fun compute in
      let tasks = Array.init 3 (fun _ -> Task.async (fun () -> !(Lazy.force it))) in
      loiter (5 * round);
      Task.cancel tasks.(0);
      let ended task =
        match Task.await task with v -> v = round | exception Task.Cancelled -> true
      in
      check "all got it" (Array.for_all ended tasks);
      check "computed" (!(Lazy.force it) = round && !runs >= 1 && !runs <= 3))

exception Failed of int ref

let lazy_raises () =
  let it = ref (Lazy.from_val ()) in
  let before round = it := Lazy.from_fun (fun () -> raise (Failed (ref round))) in
  let force round =
    match Lazy.force !it with
    | () -> check "raises" false
    | exception Failed content -> check "the content" (!content = round)
  in
  race 2_000 ~before [ force; force; force ]

(* {2 Table} *)

let table = ref (Table.create ())
let fresh_table _ = table := Table.create ()

(* Each party has keys of its own, too, so that shards grow beside lookups. *)
let table_grows () =
  let add me _ =
    for i = 0 to 99 do
      let value = Table.find_or_add !table i ref in
      check "shared" (!value = i);
      Table.replace !table ((100 * me) + i) (ref i);
      check "seen" (!(Option.get (Table.find_opt !table ((100 * me) + i))) = i)
    done
  in
  let after _ = check "all there" (Table.length !table = 400) in
  race 300 ~before:fresh_table ~after [ add 1; add 2; add 3 ]

(* The functions of one key run one after the other. *)
let table_updated wait =
  Table.update !table 1 (fun n ->
      let now = !count in
      wait ();
      count := now + 1;
      n)

let () =
  let none = ignore in
  main
    [
      case "mutex: domains" (steps 1_500 (fun () -> locked none));
      case "mutex: domains that try" (steps 1_500 tried);
      case "mutex: tasks" (tasks 400 locked);
      case "mutex: cancelled" (cancelled 400 locked);
      case "fiber: three pools" numbered;
      case "condition: a bounded buffer" bounded_buffer;
      case "condition: signalled without the mutex" signalled_without;
      case "condition: cancelled" condition_cancelled;
      case "semaphore: domains" (steps 1_500 (fun () -> with_permit none));
      case "semaphore: domains that try" (steps 1_500 tried_permit);
      case "semaphore: tasks" (tasks 400 with_permit);
      case "semaphore: cancelled" (cancelled 400 with_permit);
      case "barrier: domains" barrier;
      case "barrier: cancelled" barrier_cancelled;
      case "latch: domains" latch;
      case "latch: tasks, cancelled" latch_of_tasks;
      case "rwlock: writers" (steps 1_500 (fun () -> written none));
      case "rwlock: writers that try" (steps 1_500 tried_write);
      case "rwlock: readers and writers" readers_and_writers;
      case "rwlock: tasks" (tasks 400 written);
      case "rwlock: cancelled writers" (cancelled 400 written);
      case "rwlock: tasks, cancelled" rwlock_of_tasks;
      case "lazy: domains" forced;
      case "lazy: cancelled" lazy_cancelled;
      case "lazy: raises" lazy_raises;
      case "table: grows" table_grows;
      case "table: updates" (steps 1_500 (fun () -> table_updated none));
      case "table: tasks" (tasks 400 table_updated);
    ]
