(* Locks, latches, tables and the like: what each of their statements about order says is visible. As in
   test_litmus.ml, the accesses in question are plain, and message passing (MP) and store buffering
   (SB) mean the same. *)

open Muster
open Rounds

let data = ref 0
and cells = [| 0; 0; 0 |]

let all_are round = Stdlib.Array.for_all (fun cell -> cell = round) cells

(* {2 One at a time} *)

(* Nobody else is inside, and what was done there before is seen: no step is lost. *)
let alone ~enter ~leave () =
  let count = ref 0 and last = ref (-1) in
  let party me _ =
    enter ();
    let now = !count in
    last := me;
    count := now + 1;
    let nobody_else = !last = me in
    leave ();
    check "nobody else" nobody_else
  in
  race 3_000 (Stdlib.List.init 3 party);
  check "none lost" (!count = 3 * times 3_000)

(* The same for tasks that hold it across a wait, so that they may go on elsewhere. *)
let alone_in_tasks ~enter ~leave =
  let count = ref 0 in
  in_task 2 500 (fun round ->
      let before = !count in
      let section () =
        enter ();
        let now = !count in
        if round land 1 = 0 then Task.await (Task.async ignore);
        count := now + 1;
        leave ()
      in
      ignore (Task.all (Stdlib.List.init 4 (fun _ -> section)));
      check "none lost" (!count = before + 4))

(* Of two who each write in a section of their own and read in the next, one sees the other. *)
let sb ~enter ~leave () =
  let seen = [| -1; -1 |] in
  let side i round =
    enter ();
    cells.(i) <- round;
    leave ();
    enter ();
    seen.(i) <- cells.(1 - i);
    leave ()
  in
  let after round = check "one sees the other" (seen.(0) = round || seen.(1) = round) in
  race 5_000 ~after [ side 0; side 1 ]

let mutex = Mutex.create ()
let lock () = Mutex.lock mutex
let unlock () = Mutex.unlock mutex
let try_lock () = relax_until (fun () -> Mutex.try_lock mutex)

let protected () =
  let count = ref 0 in
  let party _ = Mutex.protect mutex (fun () -> incr count) in
  race 3_000 [ party; party; party ];
  check "none lost" (!count = 3 * times 3_000)

let permit = Semaphore.make 1
let acquire () = Semaphore.acquire permit
let release () = Semaphore.release permit
let try_acquire () = relax_until (fun () -> Semaphore.try_acquire permit)
let rwlock = Rwlock.create ()
let lock_write () = Rwlock.lock_write rwlock
let unlock_write () = Rwlock.unlock_write rwlock
let try_lock_write () = relax_until (fun () -> Rwlock.try_lock_write rwlock)

let permitted () =
  let count = ref 0 in
  let party _ = Semaphore.with_permit permit (fun () -> incr count) in
  race 3_000 [ party; party; party ];
  check "none lost" (!count = 3 * times 3_000)

(* {2 Conditions} *)

(* The signal alone: what it brings was written after the mutex had been let go. *)
let condition ~tell ~waiters () =
  let mutex = Mutex.create () and condition = Condition.create () in
  let asleep = ref 0 in
  let wait round =
    Mutex.protect mutex (fun () ->
        incr asleep;
        Condition.wait condition mutex;
        check "signalled, so written" (!data = round))
  in
  let signal round =
    relax_until (fun () -> Mutex.protect mutex (fun () -> !asleep = waiters));
    data := round;
    tell condition
  in
  let before _ = asleep := 0 in
  race 3_000 ~before (signal :: Stdlib.List.init waiters (fun _ -> wait))

(* {2 Semaphores, barriers, latches} *)

let handed_over ~take () =
  let permits = Semaphore.make 0 in
  let give round =
    data := round;
    Semaphore.release permits
  in
  let get round =
    take permits;
    check "taken, so written" (!data = round)
  in
  race 10_000 [ give; get ]

let poll permits = relax_until (fun () -> Semaphore.try_acquire permits)

(* A ring of two cells: the third acquire of [room] comes after the first release, so a cell is
   written again when what it had was read. *)
let two_permits ~take =
  let room = Semaphore.make 2 and full = Semaphore.make 0 and ring = [| 0; 0 |] in
  let produce round =
    for i = 0 to 3 do
      take room;
      ring.(i land 1) <- (4 * round) + i;
      Semaphore.release full
    done
  in
  let consume round =
    for i = 0 to 3 do
      take full;
      let content = ring.(i land 1) in
      Semaphore.release room;
      check "not yet written again" (content = (4 * round) + i)
    done
  in
  (produce, consume)

let two_permits_of ~take () =
  let produce, consume = two_permits ~take in
  race 3_000 [ produce; consume ]

let two_permits_of_tasks =
  let produce, consume = two_permits ~take:Semaphore.acquire in
  in_task 2 500 (fun round ->
      let producer = Task.async (fun () -> produce round) in
      consume round;
      Task.await producer)

(* All have come, so all have written; all have left the second time, so all have read. *)
let meet barrier i round =
  cells.(i) <- round;
  Barrier.await barrier;
  check "met, so written" (all_are round);
  Barrier.await barrier

let barrier () =
  let barrier = Barrier.create 3 in
  race 2_000 (Stdlib.List.init 3 (meet barrier))

let barrier_of_tasks =
  let barrier = Barrier.create 3 in
  in_task 2 500 (fun round ->
      ignore (Task.all (Stdlib.List.init 3 (fun i () -> meet barrier i round))))

let latch ~wait () =
  let latch = ref (Latch.create 2) in
  let before _ = latch := Latch.create 2 in
  let count i round =
    cells.(i) <- round;
    Latch.count_down !latch
  in
  let look round =
    wait !latch;
    check "open, so written" (cells.(0) = round && cells.(1) = round)
  in
  race 5_000 ~before [ look; count 0; count 1 ]

let latch_zero latch = relax_until (fun () -> Latch.count latch = 0)

(* {2 Readers and writers} *)

let readers ~enter () =
  let cells = [| 0; 0; 0 |] in
  let write round =
    lock_write ();
    for i = 0 to 2 do
      cells.(i) <- round
    done;
    unlock_write ()
  in
  (* Several of them at the same time; a whole write or none. *)
  let read _ =
    enter ();
    let first = cells.(0) in
    let whole = Stdlib.Array.for_all (fun cell -> cell = first) cells in
    Rwlock.unlock_read rwlock;
    check "one write's" whole
  in
  race 3_000 [ write; read; read ]

let lock_read () = Rwlock.lock_read rwlock

let locked f =
  lock_read ();
  f ();
  Rwlock.unlock_read rwlock

let protected_read f = Rwlock.protect_read rwlock f

let read_and_raise f =
  match
    Rwlock.protect_read rwlock (fun () ->
        f ();
        raise Exit)
  with
  | () -> check "raises" false
  | exception Exit -> ()

(* What a writer did is seen by readers after it. *)
let protected_readers () =
  let cells = [| 0; 0; 0 |] in
  let write round = Rwlock.protect_write rwlock (fun () -> Stdlib.Array.fill cells 0 3 round) in
  let read _ =
    let whole () = Stdlib.Array.for_all (fun cell -> cell = cells.(0)) cells in
    check "one write's" (Rwlock.protect_read rwlock whole)
  in
  race 3_000 [ write; read; read ]

let try_lock_read () = relax_until (fun () -> Rwlock.try_lock_read rwlock)

(* What a reader did is seen by the writer after it. Some readers yield while they hold the lock, since the
   writer may have to run on the same CPU. *)
let reader_before_writer ~reading () =
  let told = Atomic.make 0 in
  let hold round = if round land 7 = 0 then relax_until ~turns:104 (fun () -> false) in
  let read i round =
    reading (fun () ->
        Atomic.incr told;
        hold round;
        cells.(i) <- round)
  in
  let write round =
    relax_until (fun () -> Atomic.get told = 2);
    Rwlock.protect_write rwlock (fun () ->
        check "let go, so written" (cells.(0) = round && cells.(1) = round))
  in
  race 3_000 ~before:(fun _ -> Atomic.set told 0) [ write; read 0; read 1 ]

(* {2 Lazy values} *)

(* The function sees what its maker did, in any forcing party, and all see what it did. *)
let forced ~force ~parties () =
  let given = ref 0 in
  let make round =
    given := round;
    Lazy.from_fun (fun () ->
        data := !given;
        ref round)
  in
  let it = ref (make 0) in
  let before round = it := make round in
  let look round = check "forced, so computed" (!(force !it) = round && !data = round) in
  race 5_000 ~before (Stdlib.List.init parties (fun _ -> look))

let is_val () =
  let it = ref (Lazy.from_val ()) in
  let before round = it := Lazy.from_fun (fun () -> data := round) in
  let force _ = Lazy.force !it in
  let look round =
    relax_until (fun () -> Lazy.is_val !it);
    check "a value, so computed" (!data = round)
  in
  race 5_000 ~before [ force; look ]

exception Failed of int ref

let force_raises () =
  let it = ref (Lazy.from_val ()) in
  let fail round () =
    data := round;
    raise (Failed (ref round))
  in
  let before round = it := Lazy.from_fun (fail round) in
  let force round =
    match Lazy.force !it with
    | () -> check "raises" false
    | exception Failed content -> check "raised, so done" (!content = round && !data = round)
  in
  race 3_000 ~before [ force; force ]

let mapped it = Lazy.force (Lazy.map Fun.id it)
let map_val it = Lazy.force (Lazy.map_val Fun.id it)

(* {2 Tables} *)

let fresh table _ = table := Table.create ()

(* All see what the function did for whoever called it, also by [look]. *)
let added ~look () =
  let table = ref (Table.create ()) in
  let add round =
    let compute _ =
      data := round;
      ref round
    in
    check "added, so computed" (!(Table.find_or_add !table 1 compute) = round && !data = round)
  in
  let see round =
    let seen = ref (look !table) in
    relax_until (fun () ->
        seen := look !table;
        Option.is_some !seen);
    check "seen, so computed" (!(Option.get !seen) = round && !data = round)
  in
  race 5_000 ~before:(fresh table) [ add; add; see ]

let look_by_iter t =
  let seen = ref None in
  Table.iter (fun _ v -> seen := Some v) t;
  !seen

let look_by_mem t = if Table.mem t 1 then Table.find_opt t 1 else None

(* Each update sees what the one before has done. *)
let updated () =
  let table = ref (Table.create ()) and count = ref 0 in
  let step round =
    let add n =
      incr count;
      Some (round + Option.value n ~default:0)
    in
    Table.update !table 1 add
  in
  let before round =
    count := 0;
    fresh table round
  in
  let after _ = check "none lost" (!count = 3) in
  race 3_000 ~before ~after [ step; step; step ]

(* What comes before a [replace] or a [remove] is seen by the function that gets its value. *)
let put ~put ~is_there () =
  let table = ref (Table.create ()) in
  let start round =
    fresh table round;
    Table.replace !table 1 0
  in
  let change round =
    data := round;
    put !table
  in
  let wait round =
    let there = ref false in
    relax_until (fun () ->
        Table.update !table 1 (fun v ->
            there := is_there v;
            v);
        !there);
    check "put, so written" (!data = round)
  in
  race 3_000 ~before:start [ change; wait ]

let replaced = put ~put:(fun t -> Table.replace t 1 7) ~is_there:(fun v -> v = Some 7)
let removed = put ~put:(fun t -> Table.remove t 1) ~is_there:Option.is_none

(* Of two waiters one sees what the function did that raised. *)
let add_raises () =
  let table = ref (Table.create ()) and first = Atomic.make true in
  let before round =
    Atomic.set first true;
    fresh table round
  in
  let add round =
    let compute _ =
      if Atomic.exchange first false then begin
        data := round;
        raise Exit
      end;
      check "after the one that raised" (!data = round);
      0
    in
    match Table.find_or_add !table 1 compute with 0 -> () | _ -> check "0" false | exception Exit -> ()
  in
  race 3_000 ~before [ add; add ]

let memo () =
  let f = ref Fun.id in
  let before round =
    let compute _ _ =
      data := round;
      round
    in
    f := Table.memo compute
  in
  let call round = check "called, so computed" (!f 1 = round && !data = round) in
  race 3_000 ~before [ call; call; call ]

(* {2 Store buffering}: of two who each do something and then look, one sees the other's. *)

let looks ~fresh ~act ~look () =
  let them = Stdlib.Array.init 2 (fun _ -> fresh ()) and seen = [| false; false |] in
  let before _ =
    for i = 0 to 1 do
      them.(i) <- fresh ()
    done
  in
  let side i _ =
    act them.(i);
    seen.(i) <- look them.(1 - i)
  in
  let after _ = check "one sees the other" (seen.(0) || seen.(1)) in
  race 5_000 ~before ~after [ side 0; side 1 ]

let latch_sb =
  let look latch = Latch.count latch = 0 in
  looks ~fresh:(fun () -> Latch.create 1) ~act:Latch.count_down ~look

let semaphore_sb =
  looks ~fresh:(fun () -> Semaphore.make 0) ~act:Semaphore.release ~look:Semaphore.try_acquire

let table_sb =
  looks
    ~fresh:(fun () -> Table.create ())
    ~act:(fun t -> ignore (Table.find_or_add t 1 Fun.id))
    ~look:(fun t -> Table.mem t 1)

let lazy_sb = looks ~fresh:(fun () -> Lazy.from_fun ignore) ~act:Lazy.force ~look:Lazy.is_val

let () =
  main
    [
      case "mutex: lock" (alone ~enter:lock ~leave:unlock);
      case "mutex: try_lock" (alone ~enter:try_lock ~leave:unlock);
      case "mutex: tasks, across a wait" (alone_in_tasks ~enter:lock ~leave:unlock);
      case "mutex: protect" protected;
      case "mutex: SB" (sb ~enter:lock ~leave:unlock);
      case "condition: MP, signal" (condition ~tell:Condition.signal ~waiters:1);
      case "condition: MP, broadcast" (condition ~tell:Condition.broadcast ~waiters:2);
      case "semaphore: MP, acquire" (handed_over ~take:Semaphore.acquire);
      case "semaphore: MP, try_acquire" (handed_over ~take:poll);
      case "semaphore: one permit" (alone ~enter:acquire ~leave:release);
      case "semaphore: one permit, try_acquire" (alone ~enter:try_acquire ~leave:release);
      case "semaphore: one permit, tasks" (alone_in_tasks ~enter:acquire ~leave:release);
      case "semaphore: two permits" (two_permits_of ~take:Semaphore.acquire);
      case "semaphore: two permits, try_acquire" (two_permits_of ~take:poll);
      case "semaphore: two permits, tasks" two_permits_of_tasks;
      case "semaphore: with_permit" permitted;
      case "semaphore: SB" semaphore_sb;
      case "barrier: MP, all to all" barrier;
      case "barrier: MP, more tasks than workers" barrier_of_tasks;
      case "latch: MP, await" (latch ~wait:Latch.await);
      case "latch: MP, count" (latch ~wait:latch_zero);
      case "latch: SB" latch_sb;
      case "rwlock: writers" (alone ~enter:lock_write ~leave:unlock_write);
      case "rwlock: writers, try_lock_write" (alone ~enter:try_lock_write ~leave:unlock_write);
      case "rwlock: writers, tasks" (alone_in_tasks ~enter:lock_write ~leave:unlock_write);
      case "rwlock: MP, writer to readers" (readers ~enter:lock_read);
      case "rwlock: MP, writer to try_lock_read" (readers ~enter:try_lock_read);
      case "rwlock: MP, writer to protect_read" protected_readers;
      case "rwlock: MP, readers to writer" (reader_before_writer ~reading:locked);
      case "rwlock: MP, protect_read to writer" (reader_before_writer ~reading:protected_read);
      case "rwlock: MP, protect_read, raises" (reader_before_writer ~reading:read_and_raise);
      case "rwlock: SB" (sb ~enter:lock_write ~leave:unlock_write);
      case "lazy: MP, force" (forced ~force:Lazy.force ~parties:3);
      case "lazy: MP, map" (forced ~force:mapped ~parties:3);
      case "lazy: MP, map_val" (forced ~force:map_val ~parties:2);
      case "lazy: MP, is_val" is_val;
      case "lazy: MP, raises" force_raises;
      case "lazy: SB" lazy_sb;
      case "table: MP, find_or_add and find_opt"
        (added ~look:(fun t -> Table.find_opt t 1));
      case "table: MP, mem" (added ~look:look_by_mem);
      case "table: MP, iter" (added ~look:look_by_iter);
      case "table: MP, raises" add_raises;
      case "table: updates" updated;
      case "table: MP, replace" replaced;
      case "table: MP, remove" removed;
      case "table: MP, memo" memo;
      case "table: SB" table_sb;
    ]
