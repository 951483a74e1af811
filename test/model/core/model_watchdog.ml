(* The watchdog leaves while something comes that it should see: it looks again, or is started again. A task that is stuck
   gets a resident; or, where none can come, a caller of the watchdog's own. That caller may be a thread beside others of its
   domain, whose place is found by its owner. *)

open Slot
open Place

type t = {
  pool : pool;
  task : unit Promise.t;
  mutable runs : int;
  beat : int Atomic.t;  (** so that others may come in between *)
  mutable lost : bool;  (** a thread did not find its own place *)
}

(* The resident in place 1, if there is one, is in none of the processes: it is blocked for good. *)
let blocked = -1

let make ?(hire = ignore) ?(extra = 0) ~residents () =
  let pool = World.pool 2 ~hire ~extra ~residents ~watch:Watchdog.start ~calls:false in
  if residents > 0 then Atomic.set (workers pool).(1).owner blocked;
  for i = pool.settings.regulars to Array.length (workers pool) - 1 do
    Atomic.set (workers pool).(i).owner 0
  done;
  let run = ref ignore in
  let task = Promise.make pool.home (fun () -> !run ()) in
  let t = { pool; task; runs = 0; beat = Atomic.make 0; lost = false } in
  (run :=
     fun () ->
       Atomic.incr t.beat;
       t.runs <- t.runs + 1);
  t

(* {2 It leaves} *)

let leaves (_ : t) () = ignore (Watchdog.leave ())

(* The caller waits for the task in a way that the pool does not see. *)
let offers t = World.at t.pool 0 (fun w -> Publish.offer w ~wake:true (Promise.any t.task))

let sends t () = Publish.send t.pool (Promise.any t.task)
let sleeps i t = World.at t.pool i (fun w -> Worker.search w ~pauses:0 ~until:(fun () -> false))

let leaving ?(residents = 0) name comes =
  let start () =
    let t = make ~residents () in
    Atomic.set t.pool.allowed 0;
    Atomic.set t.pool.promised 1;
    Atomic.set is_watched true;
    let verdict () = Model.faults [ ("nobody watches", not (Atomic.get is_watched)) ] in
    Model.{ processes = [ leaves t; comes t ]; verdict }
  in
  Model.make ("watchdog: it leaves while " ^ name) start

(* {2 It helps} *)

(* Time passes while it looks. *)
let looks t () =
  let is_there () = Sleep.a_task_waits t.pool in
  if not (is_there ()) then Atomic.block is_there;
  let w = Watchdog.new_watch t.pool (Machine.now ()) in
  for _ = 1 to 2 do
    let before = Watchdog.pace () in
    Machine.clock := !Machine.clock + (Watchdog.period_ms * Watchdog.ms);
    Watchdog.look ~before (Watchdog.pace ()) w
  done

let helping name comes =
  let start () =
    let t = make ~hire:Resident.hire_one ~residents:0 () in
    Atomic.set t.pool.allowed 0;
    Atomic.set t.pool.promised 1;
    Atomic.set is_watched true;
    Domain.prepare ~first:2 1;
    let verdict () = Model.faults [ ("the task did not run once", t.runs <> 1) ] in
    Model.{ processes = [ comes t; looks t; Domain.process 0 ]; verdict }
  in
  Model.make ("watchdog: " ^ name) start

(* {2 Its own caller} *)

let no_caller t = Atomic.set (workers t.pool).(0).owner 0
let waits_outside t () = Caller.wait (Event.make "a test") t.task

let sends_and_waits t () =
  sends t ();
  waits_outside t ()

let relieves t () =
  let is_there () = not (Inbox.is_empty t.pool.inbox) in
  if not (is_there ()) then Atomic.block is_there;
  Watchdog.relieve t.pool ()

let look t w =
  match owned_place () with Some found when found == w -> () | Some _ | None -> t.lost <- true

(* The caller, whose place storage shows. It is process 0. *)
let stays t () = look t (workers t.pool).(0)

let leaves_the_pool t () =
  stays t ();
  (let w = (workers t.pool).(0) in
   Caller.leave { w; outer = None; shown = nobody; fiber = w.own.idle })

(* A call of a thread that storage may not show, as [Caller.with_worker] begins and ends it. *)
let calls t () =
  let visit = Caller.enter t.pool in
  look t visit.w;
  Caller.leave visit

(* With fewer steps: its place is not shown. *)
let is_unshown t i () =
  let w = (workers t.pool).(i) in
  Atomic.set w.owner (Machine.thread_id ());
  Atomic.incr unshown;
  look t w;
  Atomic.decr unshown;
  Atomic.set w.owner 0

let faults ?(runs = 1) ~stays t =
  let is_taken w = w.index <> 1 && Atomic.get w.owner <> 0 in
  [
    ("the task did not run once", t.runs <> runs);
    ("it lies in the inbox", not (Inbox.is_empty t.pool.inbox));
    ("a thread did not find its place", t.lost);
    ( "storage shows a place still",
      Compat.get_of 0 here != if stays then (workers t.pool).(0) else nobody );
    ("a place counts as not shown still", Atomic.get unshown <> 0);
    ("a place is taken still", Array.exists is_taken (workers t.pool));
  ]

let waits_for_ever waiters = ("a waiter sleeps for ever", List.exists Atomic.is_blocked waiters)

let model ?(extra = 0) ?(one_domain = []) ?(waiters = []) ?(caller = false) ?(stays = false) ?runs
    name parties =
  let start () =
    let t = make ~extra ~residents:1 () in
    Atomic.set is_watched true;
    Atomic.ignore_sharing is_watched;
    if not caller then no_caller t;
    Compat.one_domain := one_domain;
    if caller then Compat.set_of 0 here (workers t.pool).(0);
    let verdict () =
      if stays then no_caller t;
      Model.faults (waits_for_ever waiters :: faults ?runs ~stays t)
    in
    Model.{ processes = parties t; verdict }
  in
  Model.make ("relief: " ^ name) start

let quick =
  [
    leaving "a task is offered" offers;
    leaving "a task is sent" sends ~residents:1;
    leaving "a dismissed resident goes to sleep" (sleeps 1) ~residents:1;
    helping "a task in a deque is stuck" offers;
    model "one waits outside" ~waiters:[ 0 ] (fun t -> [ sends_and_waits t; relieves t ]);
    model "it comes, another of its domain leaves" ~caller:true ~extra:1 ~one_domain:[ 0; 1 ]
      (fun t ->
        Inbox.push t.pool.inbox (Promise.any t.task);
        [ leaves_the_pool t; relieves t ]);
    model "one comes, another of its domain leaves" ~runs:0 ~caller:true ~extra:1
      ~one_domain:[ 0; 1 ] (fun t -> [ leaves_the_pool t; calls t ]);
    model "two come beside a third of their domain" ~runs:0 ~caller:true ~stays:true ~extra:2
      ~one_domain:[ 0; 1; 2 ] (fun t -> [ ignore; is_unshown t 2; is_unshown t 3 ]);
  ]

let slow =
  [
    model "it comes, another calls" ~waiters:[ 0 ] ~extra:1 (fun t ->
        [ sends_and_waits t; relieves t; calls t ]);
    (* More than 5 million runs. *)
    Model.bounded 1_000_000
      (model "two of one domain come and go" ~runs:0 ~extra:1 ~one_domain:[ 0; 1 ] (fun t ->
           [ calls t; calls t ]));
  ]
