(* Parallel loops.

   A range is run in chunks that last about a [quantum]. Between two chunks the worker looks
   whether its deque is empty, that is whether the half it handed out last has been stolen,
   and if so hands out half of what remains (lazy splitting: Tzannes, Caragea, Barua and
   Vishkin, PPoPP 2010). No timer, and no clock inside a chunk.

   Lazy splitting looks once a chunk, which is too seldom where a chunk is one long iteration: what lies behind it
   would wait for it. So coarse iterations are all handed out before the first one begins, by halves: the
   largest are stolen first.

   What an iteration costs is remembered per loop body (Site), so a loop too short to share
   runs as a plain loop from its second time on, and one that is worth it is shared before its
   first iteration. A wrong memory costs time, never an answer, and mends itself: a plain loop
   whose first iteration takes too long is shared after it. *)

open Muster_core

(* The least work, and the least for which a sleeping worker is woken. On a machine whose CPUs are
   far from each other (a virtual one, where a wake takes 20 us) a loop of 10 us of which one
   iteration is half ran 1.2 times as long when it was shared, one of 50 us after a pause 1.35. *)
let worth = Machine.ticks_of_us 12
let worth_waking = Machine.ticks_of_us 60
let quantum = Machine.ticks_of_us 8
let invalid fn fmt = Printf.ksprintf (fun s -> invalid_arg ("Muster." ^ fn ^ ": " ^ s)) fmt

let check_grain fn = function
  | Some grain when grain < 1 -> invalid fn "grain = %d is less than 1" grain
  | _ -> ()

(* Iterations after the first; ranges may be as wide as the ints. *)
let[@inline] span lo hi =
  let d = hi - lo in
  if d < 0 then max_int else d

(* {2 Ranges that are swept in any order} *)

type job = {
  run : int -> int -> unit;  (** a chunk, bounds included; it keeps its exceptions *)
  stopped : int -> bool;  (** whether the result is already known left of this index *)
  fail : int -> Outcome.failure -> unit;
  code : int;
  grain : int;
  spent : int Atomic.t;  (** ticks, in ... *)
  swept : int Atomic.t;  (** ... so many iterations, by all strands that are through *)
}

(* Of one strand's chunks. Two workers that add to the job's after each chunk take its cache line from each
   other, and what lies beside it: that was 2 to 3 % of an n-body. *)
type tally = { mutable ticks : int; mutable iterations : int }

let job ~run ~stopped ~fail ~code ~grain =
  { run; stopped; fail; code; grain; spent = Atomic.make 0; swept = Atomic.make 0 }

(* A large grain makes long chunks, which must still notice that they have become needless. *)
let block = 4096

let rec run_chunk job lo hi =
  if span lo hi < block then job.run lo hi
  else if not (job.stopped lo) then begin
    job.run lo (lo + block - 1);
    run_chunk job (lo + block) hi
  end

let measured job mine lo hi =
  let since = Machine.ticks () in
  run_chunk job lo hi;
  let ticks = Machine.ticks () - since and iterations = span lo hi + 1 in
  mine.ticks <- mine.ticks + ticks;
  mine.iterations <- mine.iterations + iterations;
  if Site.cost job.code = Site.unknown then Site.learn job.code ~ticks ~iterations
  else Site.cost_of ~ticks ~iterations

(* Chunks grow, from one iteration: what is remembered, and the cost of a short one, may be poor guesses for the
   rest. *)
let growth = 16

let next_chunk job cost last =
  let fitting = if cost = Site.unknown then 1 else (quantum lsl Site.shift) / Int.max 1 cost in
  Int.max job.grain (Int.min fitting (growth * last))

let is_divisible job lo hi rest = rest >= worth && span lo hi - job.grain >= job.grain - 1

(* What a coarse iteration lasts at least, as does a chunk of the least length or a leaf; of unknown ones, all may be. *)
let coarse = 4 * quantum
let is_coarse cost n = cost = Site.unknown || Site.estimate cost n >= coarse

(* Of unknown cost, so few that one counts. *)
let few = 1024

(* Whether to hand out half of what is left. [whole]: this is a part of a coarse loop that was handed out, and nothing
   of it has begun.

   Only one loop's parts are in a deque. A loop inside an iteration whose siblings are there keeps its own to
   itself until these are stolen: if it handed them out, too, loops in loops without end would offer thieves
   something to begin at each level, each of which has to overflow its stack before the level above can fail. *)
let may_offer (w : Place.t) ~whole =
  Place.owned w && (whole || not (Place.has_offered w)) && not (Place.alone w)

(* Of unknown parts one is enough: who takes it and finds more wakes others. *)
let is_worth_waking rest cost ~whole = rest >= worth_waking && not (whole && cost = Site.unknown)

(* The half that was handed out may still be there: is anybody awake to take it? *)
let remind (w : Place.t) rest = if rest >= worth_waking then Publish.wake_for_work w.pool

let look_up_between_chunks () =
  let w = Context.place () in
  if Place.owned w then begin
    Run.look_up_if_due w;
    Context.check_at (Context.place_after w)
  end
  else Context.check_if_any ()

(* [last]: the length of the chunk before. *)
let rec sweep job lo hi cost last ~whole =
  let mine = { ticks = 0; iterations = 0 } in
  let cost = if cost = Site.unknown then Site.cost job.code else cost in
  sweep_on job mine lo hi cost last ~whole;
  ignore (Atomic.fetch_and_add job.spent mine.ticks);
  ignore (Atomic.fetch_and_add job.swept mine.iterations)

and sweep_on job mine lo hi cost last ~whole =
  if not (job.stopped lo) then
    match look_up_between_chunks () with
    | exception exn -> job.fail lo (Outcome.caught exn)
    | () -> sweep_at job mine (Context.place ()) lo hi cost last ~whole

and sweep_at job mine w lo hi cost last ~whole =
  let rest = Site.estimate cost (span lo hi + 1) in
  if not (Place.owned w) then step job mine lo hi cost last
  else begin
    Run.serve w;
    let coarse = is_coarse cost job.grain && (cost <> Site.unknown || span lo hi < few) in
    let whole = whole && coarse in
    if is_divisible job lo hi rest && may_offer w ~whole then
      split job mine w lo hi cost last rest ~coarse ~whole
    else begin
      remind w rest;
      step job mine lo hi cost last
    end
  end

and split job mine w lo hi cost last rest ~coarse ~whole =
  let mid = lo + (span lo hi / 2) in
  let left () =
    let rest = Site.estimate cost (span lo mid + 1) in
    if coarse && is_divisible job lo mid rest then
      split job mine w lo mid cost last rest ~coarse ~whole:true
    else step job mine lo mid cost last
  in
  let right () = sweep job (mid + 1) hi cost last ~whole:coarse in
  ignore (Fork.both_offered w ~wake:(is_worth_waking rest cost ~whole) left right)

(* One chunk, then the rest. *)
and step job mine lo hi cost last =
  let chunk = next_chunk job cost last in
  if span lo hi < chunk then ignore (measured job mine lo hi)
  else begin
    let next = lo + chunk in
    let cost = measured job mine lo (next - 1) in
    sweep_on job mine next hi cost chunk ~whole:false
  end

(* {2 Rows of loops}

   Of many short loops, one after the other, none is worth a wake-up, but all of them are. So if those that have begun in a
   [window] are, somebody is woken, who stays awake between them. *)

type row = { mutable since : int; mutable work : int }

let row = Compat.slot (fun () -> Compat.padded { since = 0; work = 0 })
let window = 2 * worth_waking

let wake_for_row (w : Place.t) rest =
  if rest < worth_waking && Parking.sleepers w.pool.parking > 0 && not (Place.alone w) then begin
    let row = Compat.get row and now = Machine.ticks () in
    if now - row.since > window then begin
      row.since <- now;
      row.work <- 0
    end;
    row.work <- row.work + rest;
    if row.work >= worth_waking then begin
      row.work <- 0;
      Publish.wake_for_work w.pool
    end
  end

(* What is remembered is what all chunks took: one of them may have had a long iteration. *)
let share job lo hi cost =
  Pool.with_current
    ~in_place:(fun () -> sweep job lo hi cost 0 ~whole:false)
    (fun w ->
      wake_for_row w (Site.estimate cost (span lo hi + 1));
      sweep job lo hi cost 0 ~whole:false;
      let iterations = Atomic.get job.swept in
      if iterations > 0 then ignore (Site.learn job.code ~ticks:(Atomic.get job.spent) ~iterations))

(* {2 So short that the clock is felt} *)

let tiny = worth / 8

(* So few that each may be a job of its own; these are tried, whatever is remembered. *)
let is_handful n = n > 1 && n < Site.sample
let is_tiny cost n = Site.estimate cost n < tiny && (not (is_handful n)) && Site.is_trusted ()

(* {2 for} *)

(* Four calls a turn, as around short iterations the loop itself is felt: 100 of them take 60 ns less. *)
let[@inline] each lo hi f =
  let i = ref lo in
  while hi - !i >= 4 do
    let j = !i in
    f j;
    f (j + 1);
    f (j + 2);
    f (j + 3);
    i := j + 4
  done;
  for j = !i to hi do
    f j
  done

(* No other chunk has an index between its bounds, so either of them tells which event is leftmost. *)
let keep_failure failures f lo hi =
  try each lo hi f with exn -> Leftmost.note failures lo (Outcome.caught exn)

(* [run] with a place for the exceptions of chunks, of which the leftmost is raised at the end. *)
let keeping run =
  let failures = Leftmost.create () in
  Context.raising (fun () -> Leftmost.get failures) (fun () -> run failures)

let shared_for ?grain code cost lo hi f =
  let grain = Option.value grain ~default:1 in
  keeping (fun failures ->
      let run = keep_failure failures f and stopped = Leftmost.stops failures in
      share (job ~run ~stopped ~fail:(Leftmost.note failures) ~code ~grain) lo hi cost)

(* What moves a loop from its caller to the pool. *)
let worth_moving = 3 * worth

(* Whether an iteration that took so long has as many left behind it as are worth it. One of many may be long by
   chance, so they count as few. *)
let is_long ticks left = ticks * Int.min left (Site.sample - 1) >= worth_moving

let share_rest ?grain code lo hi f ~iterations ~since =
  let cost = Site.learn code ~ticks:(Machine.ticks () - since) ~iterations in
  shared_for ?grain code cost (lo + iterations) hi f

(* After the first iteration: whether the others, which are as trivial as was remembered, need no clock. *)
let is_over_soon cost left first =
  left < Site.sample && first < tiny
  && Site.estimate cost (left + 1) < tiny
  && not (Site.is_turn_of_few ())

(* What is remembered is tried on the first iteration, as there may be few, and on [Site.sample]: if the rest
   turns out to be worth it, it is shared after all. No division, which costs as much as ten iterations. *)
let plain_for ?grain code cost lo hi f =
  let since = Machine.ticks () and left = span lo hi in
  f lo;
  let first = Machine.ticks () - since in
  if is_long first left then share_rest ?grain code lo hi f ~iterations:1 ~since
  else if is_over_soon cost left first then (if left > 0 then each (lo + 1) hi f)
  else begin
    let sampled = if left < Site.sample then hi else lo + Site.sample - 1 in
    if left > 0 then each (lo + 1) sampled f;
    if sampled < hi && Site.estimate (Machine.ticks () - since) (hi - sampled) >= worth_moving then
      share_rest ?grain code lo hi f ~iterations:Site.sample ~since
    else begin
      if sampled < hi then each (sampled + 1) hi f;
      Site.confirm code cost ~ticks:(Machine.ticks () - since) ~iterations:(left + 1)
    end
  end

let parallel_for ?grain ~start ~finish f =
  check_grain "parallel_for" grain;
  Context.check_if_any ();
  if start <= finish then begin
    let code = Machine.code_of f in
    let cost = Site.cost code in
    if is_tiny cost (span start finish + 1) then each start finish f
    else if Site.estimate cost (span start finish) < worth then
      plain_for ?grain code cost start finish f
    else shared_for ?grain code cost start finish f
  end

(* {2 find} *)

let rec first_from f j hi =
  match f j with None -> if j < hi then first_from f (j + 1) hi else None | found -> found

let keep_first first f lo hi =
  match first_from f lo hi with
  | None -> ()
  | Some v -> Leftmost.note first lo (Ok v)
  | exception exn -> Leftmost.note first lo (Error (Outcome.caught exn))

let failure_of first () =
  match Leftmost.get first with Some (Error failure) -> Some failure | Some (Ok _) | None -> None

let shared_find ?grain code cost lo hi f =
  let first = Leftmost.create () in
  let grain = Option.value grain ~default:1 in
  let run = keep_first first f and stopped = Leftmost.stops first in
  let fail i failure = Leftmost.note first i (Error failure) in
  Context.raising (failure_of first) (fun () ->
      share (job ~run ~stopped ~fail ~code ~grain) lo hi cost);
  Option.bind (Leftmost.get first) Result.to_option

(* As [plain_for]; what ends early tells nothing. *)
let plain_find ?grain code cost lo hi f =
  let since = Machine.ticks () and left = span lo hi in
  let share_rest ~iterations =
    let cost = Site.learn code ~ticks:(Machine.ticks () - since) ~iterations in
    shared_find ?grain code cost (lo + iterations) hi f
  in
  match f lo with
  | Some _ as found -> found
  | None when left = 0 -> None
  | None -> (
    let first = Machine.ticks () - since in
    if is_long first left then share_rest ~iterations:1
    else if is_over_soon cost left first then first_from f (lo + 1) hi
    else
      let sampled = if left < Site.sample then hi else lo + Site.sample - 1 in
      match first_from f (lo + 1) sampled with
      | Some _ as found -> found
      | None
        when sampled < hi && Site.estimate (Machine.ticks () - since) (hi - sampled) >= worth_moving
        ->
        share_rest ~iterations:Site.sample
      | None ->
        let found = if sampled < hi then first_from f (sampled + 1) hi else None in
        if Option.is_none found then
          Site.confirm code cost ~ticks:(Machine.ticks () - since) ~iterations:(left + 1);
        found)

let parallel_find ?grain ~start ~finish f =
  check_grain "parallel_find" grain;
  Context.check_if_any ();
  if start > finish then None
  else
    let code = Machine.code_of f in
    let cost = Site.cost code in
    if is_tiny cost (span start finish + 1) then first_from f start finish
    else if Site.estimate cost (span start finish) < worth then
      plain_find ?grain code cost start finish f
    else shared_find ?grain code cost start finish f
