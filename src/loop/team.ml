(* Fork Union's calls: the whole pool at once, each worker knowing its index. *)

open Muster_core

(* A call with nothing to do refuses a closed pool, too, and is a checkpoint. *)
let check_call fn pool n =
  if n < 0 then invalid_arg (Printf.sprintf "Muster.Team.%s: n = %d is negative" fn n);
  if n = 0 then begin
    Visit.refuse_late ("Team." ^ fn) pool;
    Context.check_if_any ()
  end

(* Where all places of the pool are taken, the caller does every share itself. *)
let shares fn pool ~size n share =
  let workers = Int.min n size in
  let in_place () =
    for worker = 0 to workers - 1 do
      Context.check_if_any ();
      share worker
    done
  in
  Visit.with_worker fn pool ~in_place (fun w -> Region.run w ~revoke:true ~workers share)

(* A broadcast needs a place of its own, and waits for one: between two tries, where it has nothing of the
   pool's, and looks whether it is cancelled. *)
let rec broadcast pool f =
  let is_done =
    Visit.with_worker "Team.broadcast" pool
      ~in_place:(fun () -> false)
      (fun w ->
        Region.run w ~revoke:false ~workers:(Region.size w) f;
        true)
  in
  if not is_done then begin
    ignore Machine.Sleeper.(sleep (create ()) 1);
    Context.check ();
    broadcast pool f
  end

let for_slices pool n f =
  check_call "for_slices" pool n;
  let size = Pool.size pool in
  if n > 0 then
    shares "Team.for_slices" pool ~size n (fun worker ->
        let start, count = Slices.slice n size worker in
        f ~worker ~start ~count)

(* As Loop.each, which would need a closure around the body for each worker, and a call more for each index. *)
let chunk_of body ~worker lo hi =
  let i = ref lo in
  while hi - !i >= 3 do
    let j = !i in
    body ~worker j;
    body ~worker (j + 1);
    body ~worker (j + 2);
    body ~worker (j + 3);
    i := j + 4
  done;
  for j = !i to hi do
    body ~worker j
  done

(* No other chunk has an index between its bounds, so either of them tells which exception is leftmost. *)
let keep failures chunk ~worker lo hi =
  try chunk ~worker lo hi with exn -> Leftmost.note failures lo (Outcome.caught exn)

(* A body that was told of a cancellation has left its strand as one that cleans up, in which no
   check raises. What lies left of it need not be looked at: the call raises in any case. *)
let is_over failures me =
  match Leftmost.get failures with None -> false | Some _ -> Promise.is_stopped me

(* A slice may be long, and become needless, or be cancelled. What is done between two looks grows
   with what has been done, so that neither short iterations feel them nor long ones wait. The region has
   looked just before the first. *)
let first_block = 64
let longest_block = 1024

let rec sweep_slice chunk failures me ~worker ~block from count =
  if count > 0 && not (Leftmost.stops failures from || is_over failures me) then begin
    if block > first_block then Context.check ();
    let now = Int.min block count in
    chunk ~worker from (from + now - 1);
    let block = Int.min longest_block (2 * block) in
    sweep_slice chunk failures me ~worker ~block (from + now) (count - now)
  end

let for_n pool n f =
  check_call "for_n" pool n;
  let size = Pool.size pool in
  if n > 0 then begin
    let me = Context.get () in
    Loop.keeping (fun failures ->
        let chunk = keep failures (chunk_of f) in
        shares "Team.for_n" pool ~size n (fun worker ->
            let start, count = Slices.slice n size worker in
            sweep_slice chunk failures me ~worker ~block:first_block start count))
  end

(* {2 Dynamic}

   A loop too short to gain from other workers stays with the caller. What it remembers of the
   body (Site) may be wrong, so it begins with short chunks and reads the clock after each; once
   the rest turns out to be worth it, the rest is given to the whole pool. *)

type loop = {
  n : int;
  chunk : worker:int -> int -> int -> unit;  (** bounds included *)
  code : int;
  most : int;  (** workers that may take part *)
  to_the_end : bool;  (** see Region *)
}

(* More than a region costs; and a wake-up for each worker that sleeps. *)
let worth_sharing = Machine.ticks_of_us 1
let worth_waking = Machine.ticks_of_us 25
let worth (pool : Pool.t) = worth_sharing + (worth_waking * Parking.sleepers pool.parking)

(* A chunk that takes less is grown: a few cache misses say nothing of the rest. *)
let telling = worth_sharing / 4
let growth = 8

(* What is remembered as short is tried on more than one index, if these are a small part of all. *)
let first_chunk loop cost =
  if cost <> Site.unknown && loop.n >= 4 * Site.sample then Site.sample else 1

(* The first index that is left. No overflow: only ranges whose estimate is short come here, and
   what takes [longest] is worth sharing anyhow. *)
let longest = 1 lsl 31

let rec sweep_alone loop pool ~worker ~chunk from since =
  let next = Int.min loop.n (from + chunk) in
  loop.chunk ~worker from (next - 1);
  if next = loop.n then loop.n
  else
    let now = Machine.ticks () in
    let took = Int.min longest (now - since - Site.clock) in
    if took < telling then sweep_alone loop pool ~worker ~chunk:(growth * chunk) next now
    else if took * (loop.n - next) >= worth pool * chunk then next
    else sweep_alone loop pool ~worker ~chunk next now

let run_alone w loop cost =
  let left = ref 0 and chunk = first_chunk loop cost in
  let since = Machine.ticks () in
  Region.alone w (fun worker -> left := sweep_alone loop w.pool ~worker ~chunk 0 since);
  if !left = loop.n then begin
    Region.count w;
    Site.confirm loop.code cost ~ticks:(Machine.ticks () - since) ~iterations:loop.n
  end;
  !left

(* How many indices make a unit: not worth a thief's trip if they are short, and not so many
   that the last ones keep others waiting. *)
let worth_stealing = Machine.ticks_of_us 1 / 4
let units_each = 8

let unit_for loop ~from ~size cost =
  if cost = Site.unknown then 1
  else
    let short = (worth_stealing lsl Site.shift) / cost in
    Int.max 1 (Int.min short ((loop.n - from) / (size * units_each)))

let measured loop sweep lo hi =
  let since = Machine.ticks () in
  sweep lo hi;
  ignore (Site.learn loop.code ~ticks:(Machine.ticks () - since) ~iterations:(hi - lo + 1))

(* Whoever runs the first chunk measures for all; that others steal meanwhile is not its cost. *)
let rec sweep_shared loop failures me slices worker =
  let ((_, count) as taken) = Slices.take slices worker in
  if count > 0 then begin
    Context.check ();
    let lo, hi = Slices.bounds slices taken in
    let sweep lo hi =
      sweep_slice loop.chunk failures me ~worker ~block:first_block lo (hi - lo + 1)
    in
    if lo = slices.from then measured loop sweep lo hi else sweep lo hi;
    if not (is_over failures me) then sweep_shared loop failures me slices worker
  end

let run_shared (w : Place.t) loop ~from cost =
  let size = Int.min loop.most (Pool.size w.pool) in
  let slices = Slices.create ~from ~n:loop.n ~size ~unit:(unit_for loop ~from ~size cost) in
  let workers = Int.min (loop.n - from) size and me = Context.get () in
  Loop.keeping (fun failures ->
      let loop = { loop with chunk = keep failures loop.chunk } in
      let sweep = sweep_shared loop failures me slices in
      Region.run w ~to_the_end:loop.to_the_end ~revoke:true ~workers sweep)

(* [if_closed]: see Visit. *)
let run_dynamic ?if_closed pool loop =
  let rec in_place_from from block =
    if from < loop.n then begin
      Context.check_if_any ();
      let now = Int.min block (loop.n - from) in
      loop.chunk ~worker:0 from (from + now - 1);
      in_place_from (from + now) (Int.min longest_block (2 * block))
    end
  in
  let in_place () = in_place_from 0 first_block in
  Visit.with_worker ?if_closed "Team.for_n_dynamic" pool ~in_place (fun w ->
      let cost = Site.cost loop.code in
      if Site.estimate cost loop.n >= worth pool then run_shared w loop ~from:0 cost
      else
        let from = run_alone w loop cost in
        if from < loop.n then run_shared w loop ~from Site.unknown)

let for_n_dynamic pool n body =
  check_call "for_n_dynamic" pool n;
  if n > 0 then
    let code = Machine.code_of_team body in
    run_dynamic pool { n; chunk = chunk_of body; code; most = max_int; to_the_end = false }
