(* [since] is the time at which the worker's present stay, or its present idleness, began.

   {v absent: 0 --turn_busy--> busy: now --turn_idle--> idle: -now --turn_busy--> busy v}

   [leave] makes it 0 again. [busy] and [idle] have the time before that. It stays 0 until times are
   measured. *)

type wait = { call : string; mutable times : int; mutable ticks : int }

type t = {
  mutable tasks : int;
  mutable forks : int;
  mutable steals : int;
  mutable parks : int;
  mutable regions : int;
  mutable heap : int;
  mutable busy : int;
  mutable idle : int;
  mutable since : int;
  mutable waits : wait list;
}

let make () =
  Compat.padded
    {
      tasks = 0;
      forks = 0;
      steals = 0;
      parks = 0;
      regions = 0;
      heap = 0;
      busy = 0;
      idle = 0;
      since = 0;
      waits = [];
    }

let copy t = { t with waits = List.map (fun wait -> { wait with call = wait.call }) t.waits }
let[@inline] add_task t = t.tasks <- t.tasks + 1
let[@inline] add_fork t = t.forks <- t.forks + 1
let add_steal t = t.steals <- t.steals + 1
let add_park t = t.parks <- t.parks + 1
let add_region t = t.regions <- t.regions + 1
let note_heap t = t.heap <- Heap.words ()

(* {2 Time} *)

(* To read the clock would make an empty call from outside a quarter longer. So nobody does before
   somebody has asked for the figures. *)
let are_timed = Compat.padded (Atomic.make false)
let start_timing () = if not (Atomic.get are_timed) then Atomic.set are_timed true

let settle t now =
  if t.since > 0 then t.busy <- t.busy + (now - t.since)
  else if t.since < 0 then t.idle <- t.idle + (now + t.since)

let[@inline never] turn_now t ~idle =
  let now = Machine.ticks () in
  settle t now;
  t.since <- (if idle then -now else now)

let[@inline] turn t ~idle = if Atomic.get are_timed then turn_now t ~idle
let[@inline] turn_busy t = turn t ~idle:false
let[@inline] turn_idle t = turn t ~idle:true

let[@inline never] leave_now t =
  settle t (Machine.ticks ());
  t.since <- 0

let[@inline] leave t = if t.since <> 0 then leave_now t

let until now t =
  let t = { t with since = t.since } in
  settle t now;
  (t.busy, t.idle)

(* {2 Waits} *)

let cpu = "a CPU"

let rec wait_of t call = function
  | wait :: _ when String.equal wait.call call -> wait
  | _ :: waits -> wait_of t call waits
  | [] ->
    let wait = { call; times = 0; ticks = 0 } in
    t.waits <- wait :: t.waits;
    wait

let add_wait t call span =
  let wait = wait_of t call t.waits in
  wait.times <- wait.times + 1;
  wait.ticks <- wait.ticks + span

let add_cpu_wait t ~ns = add_wait t cpu (Machine.ticks_of_us (ns / 1000))
let begin_wait () = if Atomic.get are_timed then Machine.ticks () else 0
let end_wait t call since = add_wait t call (if since = 0 then 0 else Machine.ticks () - since)
