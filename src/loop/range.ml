type 'a job = {
  body : int -> int -> 'a option;
  first : ('a, Outcome.failure) result Leftmost.t;
  code : int;
  grain : int;
  spent : int Atomic.t;  (** ticks of all chunks, by the fibers that are through *)
  swept : int Atomic.t;  (** iterations of these chunks *)
}

let span = Adaptive.span

(* Of one fiber's chunks. Two workers that add to the job's after each chunk take its cache line
   from each other, and its neighbours in memory: that was 2 to 3 % of an n-body. *)
type tally = {
  mutable ticks : int;
  mutable iterations : int;
  latest : int Atomic.t;  (** the cost of the chunk before; a thief of a half reads it, too *)
}

(* The state of one loop's chunks. *)
type guess = {
  cost : int;  (** of an iteration, as in Site *)
  last : int;  (** the length of the chunk before; 0: none *)
  whole : bool;  (** a part of a coarse loop that was handed out, and has not begun *)
}

let fail job lo exn =
  let failure = Fiber.caught exn in
  Leftmost.note job.first (Outcome.index_of failure lo) (Error failure)

let failure job = match Leftmost.get job.first with Some (Error it) -> Some it | _ -> None

(* No other chunk has an index between its bounds, so its first one tells which event is
   leftmost. *)
let run job lo hi =
  match job.body lo hi with
  | None -> ()
  | Some v -> Leftmost.note job.first lo (Ok v)
  | exception exn -> fail job lo exn

let measured job mine lo hi =
  let since = Machine.ticks () in
  run job lo hi;
  let ticks = Machine.ticks () - since and iterations = span lo hi + 1 in
  mine.ticks <- mine.ticks + ticks;
  mine.iterations <- mine.iterations + iterations;
  let cost =
    if Site.cost job.code = Site.unknown then Site.learn job.code ~ticks ~iterations
    else Site.cost_of ~ticks ~iterations
  in
  Atomic.set mine.latest cost;
  cost

let next_chunk { cost; last; _ } =
  let fitting = Site.fitting Tuning.chunk cost in
  Int.max 1 (Int.min fitting (Tuning.growth * last))

let is_divisible job lo hi rest =
  rest >= Tuning.min_shared && span lo hi - job.grain >= job.grain - 1

(* Of unknown iterations, all may be. *)
let is_coarse cost n = cost = Site.unknown || Site.estimate cost n >= Tuning.coarse

let are_all_offered job cost lo hi =
  is_coarse cost job.grain && (cost <> Site.unknown || span lo hi < Tuning.few_unknown)

(* Only one loop's parts are in a deque. A loop inside an iteration whose siblings are there keeps
   its own to itself until these are stolen. *)
let may_offer (w : Place.t) ~whole =
  Place.owned w && (whole || not (Place.has_offered w)) && not (Place.alone w)

(* Of unknown parts one is enough: the worker that takes it and finds more wakes others. *)
let is_worth_waking rest cost ~whole =
  rest >= Tuning.min_waking && not (whole && cost = Site.unknown)

(* The half that was handed out may still be there: is anybody awake to take it? *)
let remind (w : Place.t) rest = if rest >= Tuning.min_waking then Sleep.wake_for_work w.pool

let rec sweep job guess lo hi =
  let cost = if guess.cost = Site.unknown then Site.cost job.code else guess.cost in
  let mine = { ticks = 0; iterations = 0; latest = Atomic.make cost } in
  sweep_on job mine { guess with cost } lo hi;
  ignore (Atomic.fetch_and_add job.spent mine.ticks);
  ignore (Atomic.fetch_and_add job.swept mine.iterations)

and sweep_on job mine guess lo hi =
  if not (Leftmost.stops job.first lo) then
    match Adaptive.checkpoint () with
    | exception exn -> fail job lo exn
    | () -> sweep_at job mine (Fiber.place ()) guess lo hi

and sweep_at job mine w guess lo hi =
  if not (Place.owned w) then step job mine guess lo hi
  else begin
    Run.serve w;
    let { cost; whole; _ } = guess in
    let rest = Site.estimate cost (span lo hi + 1) in
    let whole = whole && are_all_offered job cost lo hi in
    if is_divisible job lo hi rest && may_offer w ~whole then
      split job mine w { guess with whole } lo hi
    else begin
      remind w rest;
      step job mine guess lo hi
    end
  end

(* Coarse iterations are all handed out before the first begins. But they may have turned cheap when
   the right half begins: if one iteration of many waited for a lock, the rest was cut into forks of
   one iteration each. *)
and split job mine w guess lo hi =
  let mid = lo + (span lo hi / 2) and { cost; whole; _ } = guess in
  let rest = Site.estimate cost (span lo hi + 1) in
  let all = are_all_offered job cost lo hi in
  let guess = { guess with whole = all } in
  let left () =
    Publish.hush w ~few:0;
    if all && is_divisible job lo mid (Site.estimate cost (span lo mid + 1)) then
      split job mine w guess lo mid
    else step job mine guess lo mid;
    if Leftmost.stops job.first (mid + 1) then
      Fork.skip (failure job)
  in
  let right () = sweep job { guess with cost = Atomic.get mine.latest } (mid + 1) hi in
  let wake = is_worth_waking rest cost ~whole in
  try ignore (Fork.both_offered ~code:job.code w ~wake left right) with
  | Promise.Skipped -> ()
  | Sys.Break as exn -> fail job lo exn

(* One chunk, then the rest. *)
and step job mine guess lo hi =
  let chunk = next_chunk guess in
  if span lo hi < chunk then ignore (measured job mine lo hi)
  else begin
    let next = lo + chunk in
    let cost = measured job mine lo (next - 1) in
    sweep_on job mine { cost; last = chunk; whole = false } next hi
  end

(* {2 Rows of loops}

   Of many short loops, one after the other, none is worth a wake-up, but all of them are. So if
   those that have begun in a window are, a worker is woken, and stays awake between them. *)

type row = { mutable since : int; mutable work : int }

let row = Compat.(slot (fun () -> padded { since = 0; work = 0 }))

let wake_for_row (w : Place.t) rest =
  if
    rest < Tuning.min_waking
    && Parking.sleepers w.pool.parking > 0
    && not (Place.alone w)
  then begin
    let row = Compat.get row and now = Machine.ticks () in
    if now - row.since > Tuning.window then begin
      row.since <- now;
      row.work <- 0
    end;
    row.work <- row.work + rest;
    if row.work >= Tuning.min_waking then begin
      row.work <- 0;
      Sleep.wake_for_work w.pool
    end
  end

(* The time of all chunks is remembered: one of them may have had a long iteration. *)
let share ~code ~grain body first lo hi =
  let job = { body; first; code; grain; spent = Atomic.make 0; swept = Atomic.make 0 } in
  let cost = Site.cost code in
  Pool.with_branches (fun w ->
      wake_for_row w (Site.estimate cost (span lo hi + 1));
      sweep job { cost; last = 0; whole = false } lo hi;
      let iterations = Atomic.get job.swept in
      if iterations > 0 then ignore (Site.learn code ~ticks:(Atomic.get job.spent) ~iterations))
