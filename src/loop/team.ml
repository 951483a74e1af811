(* A call with nothing to do refuses a closed pool, too, and is a checkpoint. *)
let check_call fn pool n =
  if n < 0 then Caller.invalid fn "n = %d is negative" n;
  if n = 0 then begin
    if Caller.is_late pool then Caller.refuse fn pool ();
    Fiber.check ()
  end

(* A fiber of another scheduler leaves the region to the pool. *)
let how ~to_the_end : Caller.how =
  if to_the_end || not (Fiber.is_elsewhere ()) then Plainly else Anywhere

let with_worker fn pool = Caller.with_worker (how ~to_the_end:false) (Refuse fn) pool

let broadcast pool f =
  with_worker "Team.broadcast" pool (fun w ->
      Region.run w ~revoke:false ~workers:(Pool.size w.pool) f)

let slices fn pool n f =
  check_call fn pool n;
  let size = Pool.size pool in
  let workers = Int.min n size in
  let share worker =
    let start, count = Slices.slice n size worker in
    f ~worker ~start ~count
  in
  if n > 0 then with_worker fn pool (fun w -> Region.run w ~revoke:true ~workers share)

let for_slices pool n f = slices "Team.for_slices" pool n f

let chunk_of body ~worker lo hi =
  for i = lo to hi do
    body ~worker i
  done

type sweep = {
  chunk : worker:int -> int -> int -> unit;  (** bounds included *)
  failures : Outcome.failure Leftmost.t;
  me : Promise.any;  (** the caller's *)
}

(* Of the exceptions of chunks the leftmost is raised at the end. *)
let sweeping chunk run =
  let t = { chunk; failures = Leftmost.create (); me = Fiber.get () } in
  Fiber.raising (fun () -> Leftmost.get t.failures) (fun () -> run t)

let keep t ~worker lo hi =
  try t.chunk ~worker lo hi
  with exn ->
    let failure = Outcome.caught exn in
    Leftmost.note t.failures (Outcome.index_of failure lo) failure

(* A body that was told of a cancellation has left its fiber as one that cleans up, in which no
   check raises. The part to the left of it need not be looked at: the call raises in any case. *)
let is_over t =
  match Leftmost.get t.failures with
  | None -> false
  | Some _ -> Promise.is_stopped t.me

(* A slice may be long, and become needless, or be cancelled. A block grows until it lasts a chunk,
   and shrinks where it lasts longer. The region has looked just before the first. *)

let rec sweep_blocks t ~worker ~block from count =
  if count > 0 && not (Leftmost.stops t.failures from || is_over t) then begin
    if block <> Tuning.first_block then Fiber.check ();
    let now = Int.min block count and since = Machine.ticks () in
    keep t ~worker from (from + now - 1);
    let took = Machine.ticks () - since in
    let block = if took < Tuning.chunk then 2 * block else Int.max 1 (block / 2) in
    sweep_blocks t ~worker ~block (from + now) (count - now)
  end

let sweep_slice t ~worker ~start ~count =
  sweep_blocks t ~worker ~block:Tuning.first_block start count

let for_n pool n f = sweeping (chunk_of f) (fun t -> slices "Team.for_n" pool n (sweep_slice t))

(* {2 Dynamic}

   A loop too short to gain from other workers stays with the caller (Adaptive); once the rest turns
   out to be worth it, the rest is given to the whole pool. *)

type loop = {
  n : int;
  chunk : worker:int -> int -> int -> unit;  (** bounds included *)
  code : int;
  most : int;  (** workers that may take part *)
  to_the_end : bool;  (** see Region *)
}

let min_shared (pool : Pool.t) =
  Tuning.min_region + (Tuning.min_region_waking * Parking.sleepers pool.parking)

(* The first index that is left. *)
let run_alone (w : Place.t) loop =
  let left = ref 0 in
  Region.alone w (fun worker ->
      let go k m =
        loop.chunk ~worker k (k + m - 1);
        true
      in
      left := Adaptive.alone ~min_rest:(min_shared w.pool) loop.code ~n:loop.n go);
  if !left = loop.n then Counts.add_region w.own.counts;
  !left

let unit_for loop ~from ~size cost =
  if cost = Site.unknown then 1
  else
    let short = Site.fitting Tuning.min_stolen cost in
    Int.max 1 (Int.min short ((loop.n - from) / (size * Tuning.units_each)))

(* The worker that runs the first chunk measures for all; that others steal meanwhile is not its
   cost. *)
let rec sweep_shared t code ~from slices worker =
  let start, count = Slices.take slices worker in
  if count > 0 then begin
    Fiber.check ();
    let sweep () = sweep_slice t ~worker ~start ~count in
    if start = from then Site.timed code Site.unknown ~iterations:count sweep else sweep ();
    if not (is_over t) then sweep_shared t code ~from slices worker
  end

let run_shared (w : Place.t) (loop : loop) ~from cost =
  let size = Int.min loop.most (Pool.size w.pool) in
  let slices = Slices.create ~from ~n:loop.n ~size ~unit:(unit_for loop ~from ~size cost) in
  let workers = Int.min (loop.n - from) size in
  sweeping loop.chunk (fun t ->
      Region.run w ~to_the_end:loop.to_the_end ~revoke:true ~workers
        (sweep_shared t loop.code ~from slices))

let run_dynamic closed pool loop =
  Caller.with_worker (how ~to_the_end:loop.to_the_end) closed pool (fun w ->
      let cost = Site.cost loop.code in
      if Site.estimate cost loop.n >= min_shared pool then run_shared w loop ~from:0 cost
      else
        let from = run_alone w loop in
        if from < loop.n then run_shared w loop ~from Site.unknown)

let for_n_dynamic pool n body =
  let fn = "Team.for_n_dynamic" in
  check_call fn pool n;
  if n > 0 then
    let code = Machine.code_of body in
    run_dynamic (Refuse fn) pool
      { n; chunk = chunk_of body; code; most = max_int; to_the_end = false }
