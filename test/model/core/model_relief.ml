(* The last resort: all residents are blocked in a way that the pool does not see, no domain can be
   had, and a task lies in the inbox. A visitor that waits in the pool takes it, or a thread that waits
   outside comes in and does it; where storage shows another thread of its domain, its place is found by its owner.
   Time passes for who sleeps with a limit ([Machine.naps]). *)

open Place

type t = {
  pool : pool;
  task : unit Promise.t;
  mutable runs : int;
  beat : int Atomic.t;  (** so that others may come in between *)
  mutable lost : bool;  (** a thread did not find its own place *)
}

(* The resident in place 1 is none of the processes: it is blocked for good. *)
let blocked = -1

let make ~extra () =
  let pool = World.pool 2 ~extra ~calls:false ~serve_inbox:Caller.serve_inbox in
  Atomic.set (workers pool).(1).owner blocked;
  for i = pool.regulars to Array.length (workers pool) - 1 do
    Atomic.set (workers pool).(i).owner 0
  done;
  let run = ref ignore in
  let t =
    {
      pool;
      task = Promise.make pool.home (fun () -> !run ());
      runs = 0;
      beat = Atomic.make 0;
      lost = false;
    }
  in
  (run :=
     fun () ->
       Atomic.incr t.beat;
       t.runs <- t.runs + 1);
  t

let no_visitor t = Atomic.set (workers t.pool).(0).owner 0

(* {2 Parties} *)

let sends t () = Publish.send t.pool (Promise.any t.task)
let waits_outside t () = Caller.wait t.task

let sends_and_waits t () =
  sends t ();
  waits_outside t ()

let waits_inside t = World.at t.pool 0 (fun w -> Caller.wait_as w t.task)

let look t w =
  match owned_place () with Some found when found == w -> () | Some _ | None -> t.lost <- true

(* The visitor, whose place storage shows. It is process 0. *)
let stays t () = look t (workers t.pool).(0)

let leaves t () =
  stays t ();
  Caller.leave { w = (workers t.pool).(0); outer = None; shown = nobody }

(* A call of a thread that storage may not show, as [Caller.with_worker] begins and ends it. *)
let calls t () =
  match Caller.try_enter t.pool with
  | None -> t.lost <- true
  | Some visit ->
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

(* {2 Models} *)

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

(* Two rounds of ten naps: when the first began, the task may not have been there. *)
let late = 22

(* Time passes for the [waiters], who nap [free] times at most before there is a task. *)
let model ?(extra = 0) ?(free = 3) ?(late = late) ?(one_domain = []) ?(waiters = [])
    ?(visitor = false) ?(stays = false) ?runs name parties =
  let start () =
    let t = make ~extra () in
    if not visitor then no_visitor t;
    let is_something () = not (Inbox.is_empty t.pool.inbox) in
    Machine.naps := List.map (fun who -> Machine.{ who; free; late; is_something }) waiters;
    Compat.one_domain := one_domain;
    if visitor then Compat.set_of 0 here (workers t.pool).(0);
    let verdict () =
      if stays then no_visitor t;
      Model.faults (waits_for_ever waiters :: faults ?runs ~stays t)
    in
    Model.{ processes = parties t; verdict }
  in
  Model.make ("relief: " ^ name) start

let quick =
  [
    model "one waits outside" ~waiters:[ 0 ] (fun t -> [ waits_outside t; sends t ]);
    model "the visitor waits" ~waiters:[ 0 ] ~visitor:true ~stays:true (fun t ->
        [ waits_inside t; sends t ]);
    model "one waits outside, another of its domain leaves" ~waiters:[ 1 ] ~visitor:true ~extra:1
      ~one_domain:[ 0; 1 ] (fun t -> [ leaves t; sends_and_waits t ]);
    model "one comes, another of its domain leaves" ~runs:0 ~visitor:true ~extra:1
      ~one_domain:[ 0; 1 ] (fun t -> [ leaves t; calls t ]);
    model "two come beside a third of their domain" ~runs:0 ~visitor:true ~stays:true ~extra:2
      ~one_domain:[ 0; 1; 2 ] (fun t -> [ ignore; is_unshown t 2; is_unshown t 3 ]);
  ]

let slow =
  [
    model "two wait outside" ~waiters:[ 0; 1 ] ~free:11 ~late:0 (fun t ->
        [ sends_and_waits t; waits_outside t ]);
    model "one waits outside, another calls" ~waiters:[ 0 ] ~extra:1 (fun t ->
        [ sends_and_waits t; calls t ]);
    (* More than 5 million runs. *)
    Model.bounded 1_000_000
      (model "two of one domain come and go" ~runs:0 ~extra:1 ~one_domain:[ 0; 1 ] (fun t ->
           [ calls t; calls t ]));
  ]
