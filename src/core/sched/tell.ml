module P = Place

(* The test is inlined, the rest is not. *)

let[@inline never] emit_busy (w : P.t) =
  Trace.emit
    (Busy { pool = w.pool.settings.number; worker = w.index; thread = Trace.thread () })

let[@inline] busy (w : P.t) =
  Counts.turn_busy w.own.counts;
  if Trace.is_on () then emit_busy w

let[@inline] idle (w : P.t) event =
  Counts.turn_idle w.own.counts;
  if Trace.is_on () then Trace.emit event

let[@inline] steal (victim : P.t) =
  if Trace.is_on () then Trace.emit (Steal { victim = victim.index })

let[@inline] counts (w : P.t) =
  P.publish_counts w;
  if Trace.is_on () then
    let { Counts.tasks; forks; steals; _ } = w.own.counts in
    Trace.emit (Counts { tasks; forks; steals })

let[@inline] budget (w : P.t) ~lent =
  if Trace.is_on () then Trace.emit (Budget { size = Atomic.get w.pool.size; lent })

(* The last look's figures hold for the same thread only. *)
let arrive (w : P.t) =
  Cpu_wait.arrive w.own.cpu_wait (Machine.thread_id ());
  busy w

(* May be done twice. *)
let leave (w : P.t) =
  Counts.leave w.own.counts;
  counts w;
  if Trace.is_on () then Trace.emit Leave

(* {2 Tasks} *)

(* That of the innermost fiber here which runs one. *)
let rec current (fiber : Slot.fiber) =
  if fiber.traced <> 0 || fiber.beneath == fiber then fiber.traced else current fiber.beneath

let fork (w : P.t) ~code = Trace.task ~parent:(current w.own.fiber) ~code ~place:Waiting.place_here

(* A task that has moved to Eio's loop ends at nobody's place, which belongs to no thread. *)
let note (w : P.t) task = if w != P.nobody then w.own.fiber.traced <- task

let start (w : P.t) task =
  let before = w.own.fiber.traced in
  note w task;
  if Trace.is_on () then Trace.emit (Begin { task });
  before

let finish (w : P.t) task ~back =
  note w back;
  if Trace.is_on () then Trace.emit (End { task; back = current w.own.fiber })

(* {2 Waits} *)

(* To look for the place takes as long as a short wait. *)
let places = 16

let[@inline never] wait_now (w : P.t) { Event.call; _ } =
  let since = Trace.now () in
  let name = if since land (places - 1) = 0 then Trace.name (Waiting.place_here ()) else 0 in
  Trace.emit (Wait { task = w.own.fiber.traced; reason = Trace.name call; name });
  since

let[@inline] wait w event =
  if Trace.is_on () && Trace.takes_wait () then wait_now w event else 0

let[@inline never] resume_now (w : P.t) { Event.call; _ } since =
  let ns = Trace.now () - since in
  Trace.emit (Resume { task = w.own.fiber.traced; reason = Trace.name call; ns })

let[@inline] resume w event since = if since <> 0 then resume_now w event since

let[@inline never] joined_now { Event.call; _ } =
  let tell (w : P.t) =
    Trace.emit (Resume { task = current w.own.fiber; reason = Trace.name call; ns = 0 })
  in
  Option.iter tell (P.owned_place ())

let[@inline] joined event = if Trace.is_on () && Trace.takes_wait () then joined_now event

let[@inline never] spin_now f =
  let since = Trace.now () in
  let has_it = f () in
  Trace.emit (Spin { ns = Trace.now () - since });
  has_it

let[@inline] spin f = if Trace.is_on () && Trace.takes_wait () then spin_now f else f ()
let a_moment = 1_000_000

let[@inline never] alone_now ticks =
  let ns = int_of_float (1e9 *. Machine.seconds_of_ticks ticks) in
  if ns >= a_moment then Trace.emit (Alone { ns; site = Trace.name (Waiting.place_here ()) })

let[@inline] alone ticks = if Trace.is_on () then alone_now ticks
let[@inline] region workers = if Trace.is_on () then Trace.emit (Region { workers })
let[@inline] region_end () = if Trace.is_on () then Trace.emit Region_end

let[@inline] job (w : P.t) ~queued =
  if Trace.is_on () then Trace.emit (Job { task = w.own.fiber.traced; queued })
