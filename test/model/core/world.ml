(* A pool whose places are processes of the model: process [i] works in place [i]. *)

open Slot
open Place

let claim w = Atomic.set w.owner (10 + w.index)

(** Residents in places 1 to [residents] (all but place 0 if not given), a caller in place 0,
    [extra] callers in the places after [size]. They are there, or absent, when the processes begin. Without [watch] the
    watchdog is there. Without [calls], calling a worker up takes no step. *)
let pool ?(hire = ignore) ?watch ?(extra = 0) ?(calls = true) ?residents size =
  let residents = Option.value residents ~default:(size - 1) in
  let pool =
    make_pool ~name:"model"
      { number = 0; wanted = Exactly size; minor_heap = None; regulars = size }
  in
  Sleep.help := { hire; watch = Option.value watch ~default:ignore };
  Atomic.set Resident.domains [];
  for _ = 1 to extra do
    add_place pool (workers pool)
  done;
  set_size pool size;
  Atomic.set pool.allowed (size - 1);
  Atomic.set pool.residents residents;
  Atomic.set open_pools [ pool ];
  if watch = None then begin
    Atomic.set is_watched true;
    Atomic.ignore_sharing is_watched
  end
  else Atomic.set is_watched false;
  List.iter Atomic.ignore_sharing [ Load.of_all; pool.history.log ];
  let settle w =
    if not calls then List.iter Atomic.ignore_sharing [ w.look; Compat.first_word w ];
    ignore (Compat.first_word w);
    let is_there = (not w.resident) || w.index <= residents in
    if is_there then begin
      claim w;
      if w.resident then Mailbox.unlock w.mailbox;
      Atomic.ignore_sharing w.on_domain;
      Atomic.set w.on_domain (not w.resident)
    end
  in
  Array.iter settle (workers pool);
  ignore (Compat.first_word nobody);
  pool

(** The calling process works in that place. *)
let at pool i f () =
  let w = (workers pool).(i) in
  Compat.set here w;
  f w

(** One that works for ever: it ends asleep. *)
let resident pool i = at pool i (fun w -> Worker.work w ~on_top:false ~until:(fun () -> false))

(** The same, asleep when the others begin. Call it in [start]. *)
let sleeper pool i =
  Parking.announce pool.parking i;
  at pool i (fun w ->
      ignore (Parking.doze pool.parking i ~limit_ms:(-1));
      Worker.work w ~on_top:false ~until:(fun () -> false))

(** One that serves its mailbox, and does nothing else. It has few steps. *)
let server pool i =
  at pool i (fun w ->
      while true do
        let is_posted () = Mailbox.is_posted w.mailbox in
        if not (is_posted ()) then Atomic.block is_posted;
        Run.serve w
      done)

(** Waits until there is something to steal, and runs it. *)
let steal w =
  let is_something () = Sleep.some_deque_has_work w.pool in
  if not (is_something ()) then Atomic.block is_something;
  let task = Search.steal w in
  if task != none then Run.execute w ~records:false task

(** One that does so, so many times. *)
let thief ?(times = 1) pool i =
  at pool i (fun w ->
      for _ = 1 to times do
        steal w
      done)

(** What holds of a pool that has nothing to do, in which these places' processes sleep. *)
let faults pool ~asleep =
  let is_awake i = not (Atomic.is_blocked i) in
  let is_busy { mailbox; _ } = not (Mailbox.is_idle mailbox || Mailbox.is_gone mailbox) in
  let keeps_job { mailbox; _ } = mailbox.share != (Mailbox.blank ()).share in
  let is_counted place = Atomic.get place.Parking.state = Parking.asleep in
  let counted = List.filter is_counted (Array.to_list (Parking.places pool.parking)) in
  [
    ("a resident is not asleep", List.exists is_awake asleep);
    ("a mailbox is not idle", Array.exists is_busy (workers pool));
    ("a mailbox keeps a job", Array.exists keeps_job (workers pool));
    ("somebody is counted as posting", Atomic.get pool.posting <> 0);
    ("the count of searchers is off", Atomic.get pool.searching <> 0);
    ("the count of sleepers is off", Parking.sleepers pool.parking <> List.length counted);
  ]
