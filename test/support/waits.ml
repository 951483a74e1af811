open Harness
open Muster

type t = unit -> (unit -> unit) * (unit -> unit)

let latch () =
  let latch = Latch.create 1 in
  ((fun () -> Latch.await latch), fun () -> Latch.count_down latch)

let through f () =
  let wait, end_it = latch () in
  ((fun () -> f wait), end_it)

let message () =
  let c = Chan.unbounded () in
  ((fun () -> Chan.recv c), Chan.send c)

let receiver () =
  let c = Chan.bounded 0 in
  ((fun () -> Chan.send c ()), fun () -> Chan.recv c)

let choice () =
  let c = Chan.unbounded () in
  ((fun () -> Chan.(select [ recv_case c ignore ])), Chan.send c)

let choice_in_time () =
  let c = Chan.unbounded () in
  ((fun () -> Chan.(select [ recv_case c ignore; after 100. ignore ])), Chan.send c)

let resolved () =
  let promise, resolver = Promise.create () in
  ((fun () -> Task.await promise), fun () -> Promise.resolve resolver ())

let any_resolved () =
  let promise, resolver = Promise.create () and never, _ = Promise.create () in
  ((fun () -> Task.any [ never; promise ]), fun () -> Promise.resolve resolver ())

let permit () =
  let s = Semaphore.make 0 in
  ((fun () -> Semaphore.with_permit s ignore), fun () -> Semaphore.release s)

let lock () =
  let m = Mutex.create () and are_over = Latch.create 1 and is_held = Latch.create 1 in
  let hold () =
    Mutex.protect m (fun () ->
        Latch.count_down is_held;
        Latch.await are_over)
  in
  ignore (Task.async hold);
  Latch.await is_held;
  ((fun () -> Mutex.protect m ignore), fun () -> Latch.count_down are_over)

let reader () =
  let l = Rwlock.create () in
  Rwlock.lock_read l;
  ((fun () -> Rwlock.protect_write l ignore), fun () -> Rwlock.unlock_read l)

let meeting () =
  let b = Barrier.create 2 in
  ((fun () -> Barrier.await b), fun () -> Barrier.await b)

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

let entry () =
  let wait, end_it = latch () in
  let t = Table.create () in
  ((fun () -> Table.find_or_add t 1 (fun _ -> wait ())), end_it)

let blocking () =
  let flag = Atomic.make false in
  let wait () = Task.blocking (fun () -> wait_until (fun () -> Atomic.get flag)) in
  (wait, fun () -> Atomic.set flag true)

let all =
  [
    ("a latch", latch);
    ("a message", message);
    ("a receiver", receiver);
    ("a choice", choice);
    ("a choice with a time limit", choice_in_time);
    ("a promise", resolved);
    ("any promise", any_resolved);
    ("a permit", permit);
    ("a lock", lock);
    ("a reader", reader);
    ("a meeting", meeting);
    ("a signal", signal);
    ("a lazy value", forced);
    ("an entry of a table", entry);
    ("a call that blocks", blocking);
  ]
