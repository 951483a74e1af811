(* Bad arguments of channels and locks. Most are calls at the wrong moment: of who does not hold the
   lock, or holds it already, or comes after the end. *)

open Bad_case
open Muster

let invalid_number fn what bound f =
  let bad n =
    invalid (Printf.sprintf "%s (%d)" fn n)
      (fun () -> f n)
      (Printf.sprintf "%s: %s = %d is less than %d" fn what n bound)
  in
  List.map bad [ bound - 1; min_int ]

(* {2 Channels} *)

let closed () =
  let c = Chan.bounded 1 in
  Chan.close c;
  c

let after_close =
  let ended call f = raises call f Chan.Closed in
  let select case = Chan.(ignore (select [ case (closed ()) ])) in
  [
    ended "Chan.send closed" (fun () -> Chan.send (closed ()) 1);
    ended "Chan.try_send closed" (fun () -> ignore (Chan.try_send (closed ()) 1));
    ended "Chan.recv closed" (fun () -> Chan.recv (closed ()));
    ended "Chan.try_recv closed" (fun () -> ignore (Chan.try_recv (closed ())));
    ended "Chan.select [recv_case closed f]" (fun () -> select (fun c -> Chan.recv_case c ignore));
    ended "Chan.recv_case closed f" (fun () ->
        ignore (Chan.try_select [ Chan.recv_case (closed ()) ignore ]));
    ended "Chan.send_case closed 1 f" (fun () -> select (fun c -> Chan.send_case c 1 ignore));
    fine "Chan.recv_opt_case closed f" None (fun () ->
        Chan.select [ Chan.recv_opt_case (closed ()) Fun.id ]);
    fine "Chan.recv_opt closed" None (fun () -> Chan.recv_opt (closed ()));
    fine "Chan.iter f closed" () (fun () -> Chan.iter ignore (closed ()));
    fine "Chan.to_seq closed" [] (fun () -> Stdlib.List.of_seq (Chan.to_seq (closed ())));
    fine "Chan.length closed" 0 (fun () -> Chan.length (closed ()));
    fine "Chan.close, twice" true (fun () ->
        let c = closed () in
        Chan.close c;
        Chan.is_closed c);
  ]

let chan =
  {
    title = "Chan";
    rows =
      invalid_number "Chan.bounded" "capacity" 0 (fun n -> ignore (Chan.bounded n))
      @ [
          invalid "Chan.select []" (fun () -> Chan.select []) "Chan.select: empty list";
          fine "Chan.try_select []" None (fun () -> Chan.try_select []);
          invalid "Chan.after nan f"
            (fun () -> ignore (Chan.after nan ignore))
            "Chan.after: seconds = nan is no time";
          fine "Chan.after (-1.) f" 1 (fun () -> Chan.(select [ after (-1.) (fun () -> 1) ]));
          fine "Chan.bounded max_int" 1 (fun () ->
              let c = Chan.bounded max_int in
              Chan.send c 1;
              Chan.recv c);
        ]
      @ after_close;
    harmless = [ "Chan.unbounded"; "Chan.is_closed" ];
  }

(* {2 Mutexes} *)

let mutex () =
  let m = Mutex.create () in
  Mutex.lock m;
  m

let in_mutex fn what = Printf.sprintf "Mutex.%s: the mutex is %s" fn what
let mine = "already locked by this task or thread"
let another's = "locked by another task or thread"

let mutexes =
  {
    title = "Mutex";
    rows =
      [
        invalid "Mutex.lock, held by the caller"
          (fun () -> Mutex.lock (mutex ()))
          (in_mutex "lock" mine);
        invalid "Mutex.protect, held by the caller"
          (fun () -> Mutex.protect (mutex ()) ignore)
          (in_mutex "protect" mine);
        invalid "Mutex.unlock, held by nobody"
          (fun () -> Mutex.unlock (Mutex.create ()))
          (in_mutex "unlock" "not locked");
        invalid "Mutex.unlock, twice"
          (fun () ->
            let m = mutex () in
            Mutex.unlock m;
            Mutex.unlock m)
          (in_mutex "unlock" "not locked");
        invalid "Mutex.unlock, held by another thread"
          (fun () ->
            let m = mutex () in
            in_thread (fun () -> Mutex.unlock m))
          (in_mutex "unlock" another's);
        invalid "Mutex.unlock, held by another task"
          (fun () ->
            let m = Mutex.create () in
            Task.await (Task.async (fun () -> Mutex.lock m));
            in_thread (fun () -> Mutex.unlock m))
          (in_mutex "unlock" another's);
        invalid "Mutex.protect, unlocked by the function"
          (fun () ->
            let m = Mutex.create () in
            Mutex.protect m (fun () -> Mutex.unlock m))
          (in_mutex "protect" "not locked");
        invalid "Mutex.protect, given to another thread by the function"
          (fun () ->
            let m = Mutex.create () in
            Mutex.protect m (fun () ->
                Mutex.unlock m;
                in_thread (fun () -> Mutex.lock m)))
          (in_mutex "protect" another's);
        fine "Mutex.try_lock, held by the caller" false (fun () -> Mutex.try_lock (mutex ()));
        fine "Mutex.unlock, after the exception" true (fun () ->
            let m = mutex () in
            let refused =
              in_thread (fun () ->
                  try
                    Mutex.unlock m;
                    false
                  with Invalid_argument _ -> true)
            in
            Mutex.unlock m;
            refused);
      ];
    harmless = [ "Mutex.create" ];
  }

let conditions =
  let message = "Condition.wait: the mutex is not locked by this task or thread" in
  {
    title = "Condition";
    rows =
      [
        invalid "Condition.wait c m, with m held by nobody"
          (fun () -> Condition.wait (Condition.create ()) (Mutex.create ()))
          message;
        invalid "Condition.wait c m, with m held by another thread"
          (fun () ->
            let m = mutex () in
            in_thread (fun () -> Condition.wait (Condition.create ()) m))
          message;
        fine "Condition.signal, with nobody waiting" () (fun () ->
            Condition.signal (Condition.create ()));
        fine "Condition.broadcast, with nobody waiting" () (fun () ->
            Condition.broadcast (Condition.create ()));
      ];
    harmless = [ "Condition.create" ];
  }

(* {2 Counters} *)

let semaphores =
  {
    title = "Semaphore";
    rows =
      invalid_number "Semaphore.make" "permits" 0 (fun n -> ignore (Semaphore.make n))
      @ [
          invalid "Semaphore.release, beyond max_int"
            (fun () -> Semaphore.release (Semaphore.make max_int))
            "Semaphore.release: there are max_int permits already";
          invalid "Semaphore.with_permit, back beyond max_int"
            (fun () ->
              let s = Semaphore.make max_int in
              Semaphore.with_permit s (fun () -> Semaphore.release s))
            "Semaphore.with_permit: there are max_int permits already";
          fine "Semaphore.release, never acquired" 1 (fun () ->
              let s = Semaphore.make 0 in
              Semaphore.release s;
              Semaphore.get_value s);
        ];
    harmless = [ "Semaphore.acquire"; "Semaphore.try_acquire"; "Semaphore.get_value" ];
  }

let barriers =
  {
    title = "Barrier";
    rows =
      invalid_number "Barrier.create" "parties" 1 (fun n -> ignore (Barrier.create n))
      @ [ fine "Barrier.await, one party" () (fun () -> Barrier.(await (create 1))) ];
    harmless = [ "Barrier.parties"; "Barrier.waiting" ];
  }

let latches =
  {
    title = "Latch";
    rows =
      invalid_number "Latch.create" "count" 0 (fun n -> ignore (Latch.create n))
      @ [
          invalid "Latch.count_down, open"
            (fun () -> Latch.(count_down (create 0)))
            "Latch.count_down: the count is 0 already";
          fine "Latch.await, open" () (fun () -> Latch.(await (create 0)));
        ];
    harmless = [ "Latch.count" ];
  }

(* {2 Readers and writers} *)

let written () =
  let l = Rwlock.create () in
  Rwlock.lock_write l;
  l

let read () =
  let l = Rwlock.create () in
  Rwlock.lock_read l;
  l

let in_rwlock fn what = Printf.sprintf "Rwlock.%s: the lock is %s" fn what

let rwlocks =
  let writer fn f =
    invalid
      (Printf.sprintf "Rwlock.%s, of the writer" fn)
      (fun () -> f (written ()))
      (in_rwlock fn "already locked for writing by this task or thread")
  in
  let unlock call fn f what = invalid ("Rwlock." ^ fn ^ ", " ^ call) f (in_rwlock fn what) in
  let not_read = "not locked for reading" and not_written = "not locked for writing" in
  let another's = "locked for writing by another task or thread" in
  {
    title = "Rwlock";
    rows =
      [
        writer "lock_read" Rwlock.lock_read;
        writer "lock_write" Rwlock.lock_write;
        writer "protect_read" (fun l -> Rwlock.protect_read l ignore);
        writer "protect_write" (fun l -> Rwlock.protect_write l ignore);
        unlock "nobody reads" "unlock_read" (fun () -> Rwlock.(unlock_read (create ()))) not_read;
        unlock "of the writer" "unlock_read" (fun () -> Rwlock.unlock_read (written ())) not_read;
        unlock "nobody writes" "unlock_write"
          (fun () -> Rwlock.(unlock_write (create ())))
          not_written;
        unlock "of a reader" "unlock_write" (fun () -> Rwlock.unlock_write (read ())) not_written;
        unlock "of another thread" "unlock_write"
          (fun () ->
            let l = written () in
            in_thread (fun () -> Rwlock.unlock_write l))
          another's;
        unlock "unlocked by the function" "protect_read"
          (fun () ->
            let l = Rwlock.create () in
            Rwlock.(protect_read l (fun () -> unlock_read l)))
          not_read;
        unlock "unlocked by the function" "protect_write"
          (fun () ->
            let l = Rwlock.create () in
            Rwlock.(protect_write l (fun () -> unlock_write l)))
          not_written;
        unlock "given to another thread by the function" "protect_write"
          (fun () ->
            let l = Rwlock.create () in
            let give () =
              Rwlock.unlock_write l;
              in_thread (fun () -> Rwlock.lock_write l)
            in
            Rwlock.protect_write l give)
          another's;
        fine "Rwlock.try_lock_read, of the writer" false (fun () ->
            Rwlock.try_lock_read (written ()));
        fine "Rwlock.try_lock_write, of the writer" false (fun () ->
            Rwlock.try_lock_write (written ()));
        fine "Rwlock.try_lock_write, of a reader" false (fun () -> Rwlock.try_lock_write (read ()));
      ];
    harmless = [ "Rwlock.create" ];
  }

(* {2 Lazy values} *)

let forces_itself () =
  let it = ref (Lazy.from_val 0) in
  it := Lazy.from_fun (fun () -> 1 + Lazy.force !it);
  ignore (Lazy.force !it)

let lazies =
  {
    title = "Lazy";
    rows =
      [
        raises "Lazy.force, in its own computation" forces_itself Lazy.Undefined;
        fine "Lazy.is_val, of a computation that failed" false (fun () ->
            let l = Lazy.from_fun (fun () -> raise Exit) in
            (try Lazy.force l with Exit -> ());
            Lazy.is_val l);
      ];
    harmless = [ "Lazy.from_fun"; "Lazy.from_val"; "Lazy.map"; "Lazy.map_val" ];
  }

(* {2 Tables} *)

let tables_of_tasks =
  let same fn = Printf.sprintf "Table.%s: the function of a key asks for the same key" fn in
  let within fn call =
    let f t = Table.find_or_add t 1 (fun key -> call t; key) in
    invalid
      (Printf.sprintf "Table.%s key, in the function of key" fn)
      (fun () -> ignore (f (Table.create ())))
      (same fn)
  in
  let memo key = Table.memo (fun f n -> f (1 - n)) key in
  let function_as_key () =
    let t = Table.create ~hash:(fun _ -> 0) () in
    Table.replace t (fun x -> x + 1) 1;
    ignore (Table.find_opt t (fun x -> x + 2))
  in
  let odd_hash () =
    let t = Table.create ~hash:(fun _ -> min_int) () in
    Table.replace t 1 2;
    Table.find_opt t 1
  in
  {
    title = "Table";
    rows =
      [
        within "find_or_add" (fun t -> ignore (Table.find_or_add t 1 Fun.id));
        within "update" (fun t -> Table.update t 1 Fun.id);
        within "replace" (fun t -> Table.replace t 1 1);
        within "remove" (fun t -> Table.remove t 1);
        invalid "Table.memo f, of a cycle" (fun () -> ignore (memo 0)) (same "memo");
        raises "Table.find_opt t f, of functions as keys" function_as_key
          (Invalid_argument "compare: functional value");
        fine "Table.create ~hash:(fun _ -> min_int)" (Some 2) odd_hash;
      ];
    harmless = [ "Table.mem"; "Table.length"; "Table.iter"; "Table.fold" ];
  }

let tables =
  [
    chan; mutexes; conditions; semaphores; barriers; latches; rwlocks; lazies; tables_of_tasks;
  ] [@@ocamlformat "disable"]
