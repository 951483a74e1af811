(* Programs that hang, or wait much. The tests find the places by the remarks. *)

open Common
module Chan = Muster.Chan

let never () =
  Chan.recv (Chan.unbounded () : unit Chan.t) (* receives *);
  ignore (Sys.opaque_identity ())

(* Two tasks that take two locks, each in its own order. *)
let locks_in_two_orders () =
  let a = Muster.Mutex.create () and b = Muster.Mutex.create () in
  let locked = Muster.Barrier.create 2 in
  let take first second () =
    Muster.Mutex.lock first;
    Muster.Barrier.await locked;
    Muster.Mutex.lock second (* waits for a mutex *);
    Muster.Mutex.unlock first
  in
  let one = Task.async (take a b) (* the first of two *) in
  let other = Task.async (take b a) (* the second of two *) in
  (one, other)

let await task =
  Task.await task (* awaits *);
  ignore (Sys.opaque_identity ())

let at_latch latch =
  Muster.Latch.await latch (* at a latch *);
  ignore (Sys.opaque_identity ())

let in_scope () =
  Task.scope (fun s -> ignore (Task.fork s never (* in a scope *))) (* a scope's end *);
  ignore (Sys.opaque_identity ())

let many () =
  let one, other = locks_in_two_orders () in
  let awaits = Task.async (fun () -> await one) (* an awaiter *) in
  let receives = Task.async never (* a receiver *) in
  let latch = Muster.Latch.create 1 in
  let waits = Task.async (fun () -> at_latch latch) (* waits at a latch *) in
  let opens = Task.async in_scope (* opens a scope *) in
  [ opens; other; awaits; receives; waits ]

(* So many waits are known, if any are. *)
let say_when_all_wait n =
  while Muster_core.Waiting.(is_on && List.length (report ()) < n) do
    Unix.sleepf 0.01
  done;
  say "hangs"

let hangs () =
  let lock = Muster.Mutex.create () and held = Muster.Latch.create 1 in
  let holds () =
    Muster.Mutex.lock lock;
    Muster.Latch.count_down held;
    never ()
  in
  ignore (Thread.create holds ());
  Muster.Latch.await held;
  let wants = Task.async (fun () -> Muster.Mutex.lock lock) in
  let starts = Task.async (fun () -> Task.iter ~max:1 never [ () ]) in
  let tasks = many () in
  ignore (Thread.create say_when_all_wait 12);
  List.iter Task.await (wants :: starts :: tasks)

(* The thread of the program is stuck in a wait of the stdlib's. *)
let hangs_in_join () =
  let d = Domain.spawn (fun () -> Pool.run (Pool.default ()) never) in
  say_when_all_wait 1;
  Domain.join d

(* No call of the task is left on its stack, where those of its awaiter come next. *)
let hangs_in_tail () =
  ignore (Thread.create say_when_all_wait 2);
  with_pool 1 (fun pool ->
      Pool.run pool (fun () ->
          let latch = Muster.Latch.create 1 in
          await (Task.async (fun () -> Muster.Latch.await latch)) (* in tail position *)))

(* Workers that came before the first call of [Pool.stats], which starts their clocks. *)
let counts_from_the_first () =
  with_pool 1 (fun pool ->
      works pool;
      let before = Pool.stats pool in
      works pool;
      let spent = Pool.diff ~since:before (Pool.stats pool) in
      let ran = List.fold_left (fun n (w : Pool.worker) -> n + w.ran) 0 in
      assert (ran before.each_worker = before.tasks && ran spent.each_worker = spent.tasks))

let handles_quit () =
  let came = Atomic.make false in
  Sys.set_signal Sys.sigquit (Signal_handle (fun _ -> Atomic.set came true));
  works (Pool.default ());
  say "waits";
  until came

let works_twice () =
  with_pool 2 works;
  works (Pool.default ());
  ignore (Pool.create ~name:"idle" ~domains:1 ());
  say "works"

(* Waits that end in every way. *)
let waits_often () =
  let give_up () =
    try Task.with_deadline 0.0001 never with Task.Deadline_exceeded -> ()
  in
  let some () =
    let a = Chan.bounded 0 in
    let sends = Task.async (fun () -> List.iter (Chan.send a) [ 1; 2; 3 ]) in
    for i = 1 to 3 do
      assert (Chan.recv a = i)
    done;
    Task.await sends;
    give_up ()
  in
  let kept () = List.length (Muster_core.Waiting.report ()) in
  with_pool 2 (fun pool ->
      Pool.run pool (fun () ->
          for _ = 1 to 2_000 do
            some ()
          done));
  if kept () > 0 then failwith (Printf.sprintf "%d waits are kept" (kept ()))

let programs =
  [
    ("hangs", hangs);
    ("hangs-in-join", hangs_in_join);
    ("hangs-in-tail", hangs_in_tail);
    ("counts-from-the-first", counts_from_the_first);
    ("handles-quit", handles_quit);
    ("works-twice", works_twice);
    ("waits-often", waits_often);
  ]
