(* Runs a function over a source that can only be walked from its front, piece by piece.

   The caller works its way from the front, in one pass, until sharing pays (Adaptive): no count of
   the elements, and one piece that is given more and more. The rest is cut into blocks of pieces.
   While a block is worked on, another worker may walk on and cut the next one, which is twice as
   long: the walk is no bottleneck, and its depth is small.

   A shared piece lasts about [Tuning.chunk]. Each keeps its result or its failure, and the results
   come back in order. A piece right of a failure, or of an element that was looked for, is skipped;
   one left of it is not. *)

module Fiber = Muster_core.Fiber
module Fork = Muster_core.Fork
module Leftmost = Muster_core.Leftmost
module Machine = Muster_core.Machine
module Outcome = Muster_core.Outcome
module Place = Muster_core.Place
module Pool = Muster_core.Pool
module Adaptive = Muster_loop.Adaptive
module Site = Muster_loop.Site
module Tuning = Muster_loop.Tuning
module Array = Stdlib.Array

type 's source = { skip : int -> 's -> 's; is_end : 's -> bool }

type 's piece = {
  mutable rest : 's;
  mutable left : int;
  start : int;
  mutable next : int;  (** the index of the element after the piece *)
  mutable refill : ('s piece -> int) option;  (** gives it more, or 0 *)
  source : 's source;
  code : int;
  unit : int;
}

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;
  unit : int;
  failures : Outcome.failure Leftmost.t;
  found : int -> bool;
  kept : Outcome.failure Leftmost.t;
}

let whole unit n = unit * Int.max 1 ((n + unit - 1) / unit)
let over job index = Leftmost.stops job.failures index || job.found index

let of_job (job : _ job) start rest left refill =
  let { source; code; unit; _ } : _ job = job in
  { rest; left; start; next = start + left; refill; source; code; unit }

let give (p : _ piece) n refill =
  p.left <- n;
  p.next <- p.next + n;
  p.refill <- Some refill;
  n

let reach (p : _ piece) rest left =
  p.rest <- rest;
  p.left <- left

let ended (p : _ piece) rest left =
  reach p rest left;
  match p.refill with None -> 0 | Some more -> more p

let is_over (p : _ piece) = p.left > 0 || p.source.is_end p.rest

(* {2 Blocks} *)

type ('s, 'r) block = {
  from : 's array;  (** the beginnings of pieces *)
  count : int;
  first : int;  (** the index of the first element *)
  each : int;  (** elements of a piece *)
  after : 's;
  results : 'r option array;
  spent : int Atomic.t;  (** ticks, by all who share it *)
  ran : int Atomic.t;  (** pieces in these *)
}

let first_block = 16

let cut job from first ~each ~pieces =
  let starts = Array.make pieces from in
  let rec walk c from =
    if c = pieces || job.source.is_end from then (c, from)
    else begin
      starts.(c) <- from;
      walk (c + 1) (job.source.skip each from)
    end
  in
  let count, after = walk 0 from in
  let results = Array.make count None and spent = Atomic.make 0 and ran = Atomic.make 0 in
  { from = starts; count; first; each; after; results; spent; ran }

let run_piece job b c =
  let start = b.first + (c * b.each) in
  if not (over job start) then begin
    let since = Machine.ticks () in
    (try b.results.(c) <- Some (job.work (of_job job start b.from.(c) b.each None))
     with exn -> Leftmost.note job.failures start (Outcome.caught exn));
    ignore (Atomic.fetch_and_add b.spent (Machine.ticks () - since));
    ignore (Atomic.fetch_and_add b.ran 1)
  end

let rec share_out job b lo hi =
  if hi - lo > 1 then
    let mid = lo + ((hi - lo) / 2) in
    ignore (Fork.both (fun () -> share_out job b lo mid) (fun () -> share_out job b mid hi))
  else run_piece job b lo

(* How many elements are left, at most [limit]. *)
let count_up_to limit { skip; is_end } rest =
  let rec count n rest = if n = limit || is_end rest then n else count (n + 1) (skip 1 rest) in
  count 0 rest

(* All pieces tell what an element costs, as one of them may be short or long by chance. A single
   one may be cut short by the end. *)
let run_block job b =
  share_out job b 0 b.count;
  let ran = Atomic.get b.ran in
  if ran > 0 then begin
    let elements = if b.count > 1 then ran * b.each else count_up_to b.each job.source b.from.(0) in
    ignore (Site.learn job.code ~ticks:(Atomic.get b.spent) ~iterations:elements)
  end

(* The blocks, and where the last one ended. Pieces have at most [most] elements: they grow, as a
   loop's chunks do, for the same reason. *)
let rec blocks job from first pieces ~most =
  if job.source.is_end from || over job first then ([], from)
  else
    let cost = Site.cost job.code in
    let each = whole job.unit (Int.min most (Site.fitting Tuning.chunk cost)) in
    let b = cut job from first ~each ~pieces in
    let work () = run_block job b in
    let go_on () =
      let most = Int.min Tuning.longest_piece (Tuning.growth * each) in
      blocks job b.after (first + (pieces * each)) (2 * pieces) ~most
    in
    if cost = Site.unknown || job.source.is_end b.after then begin
      work ();
      let bs, last = go_on () in
      (b :: bs, last)
    end
    else
      let (), (bs, last) = Fork.both work go_on in
      (b :: bs, last)

let add_results b results =
  Array.fold_right (fun r rs -> match r with Some r -> r :: rs | None -> rs) b.results results

(* A cancellation that is told between two pieces leaves no results. One that is told in a piece is
   told again: the results may be put together by the user's function, which may wait. *)
let shared_by_all job from first =
  let cut_short = ref true and tell_again = Fiber.to_tell_again () in
  let failure () =
    match Leftmost.get job.failures with
    | None when !cut_short -> Leftmost.get job.kept
    | failure -> failure
  in
  let bs, last =
    Fiber.raising failure (fun () ->
        let all = blocks job from first first_block ~most:Tuning.longest_piece in
        cut_short := false;
        all)
  in
  if Option.is_some (Leftmost.get job.kept) then tell_again ();
  (Stdlib.List.fold_right add_results bs [], last)

(* {2 In place}

   One piece, which is given more and more: so there is one result, and nothing to link. *)

(* Two workers gain nothing from a function that takes no longer than to walk past an element; nor
   where the end is near. *)
let is_worth_sharing (p : _ piece) =
  let cost = Site.cost p.code and w = Fiber.place () in
  Site.estimate cost Tuning.walked > Tuning.walk
  && (not (Place.owned w && Place.alone w))
  && not (p.source.is_end (p.source.skip (Site.fitting Tuning.min_moved cost) p.rest))

(* [k] elements are done where the piece ends. A chunk of many may be long by chance, as its worker
   was interrupted: so [doubted], another one has to confirm it. *)
let rec more_in_place ~may_share ~doubted trial k (p : _ piece) =
  let pays = Adaptive.pays trial (k - p.left) in
  if p.source.is_end p.rest then begin
    Adaptive.finish trial;
    0
  end
  else
    let is_sure = doubted || Adaptive.next trial <= Site.sample in
    if pays && may_share && is_sure && is_worth_sharing p then 0
    else begin
      if pays then Adaptive.checkpoint ();
      let n = whole p.unit (Adaptive.next trial) in
      give p n (more_in_place ~may_share ~doubted:pays trial (k + n))
    end

(* Nobody counts how many elements there are. *)
let start code = Adaptive.start code ~n:max_int

let in_place ~may_share job from first =
  let p = of_job job first from job.unit None in
  p.refill <- Some (more_in_place ~may_share ~doubted:false (start job.code) job.unit);
  let r = job.work p in
  (r, p)

let alone job from first =
  let r, p = in_place ~may_share:false job from first in
  ([ r ], p.rest)

let shared job from first =
  let go () = shared_by_all job from first in
  Pool.with_current ~in_place:go (fun w ->
      if Pool.size w.pool = 1 then alone job from first else go ())

let go_on job (p : _ piece) = if is_over p then ([], p.rest) else shared job p.rest p.next

(* Elements are counted only where a few of them decide. *)
let is_shared_at_once (job : _ job) from =
  let few = Tuning.few_unknown and cost = Site.cost job.code in
  cost = Site.unknown
  || Site.estimate cost few >= Tuning.min_shared
     && Adaptive.is_shared_at_once job.code ~n:(count_up_to (few + 1) job.source from)

let run_long first job from =
  if is_shared_at_once job from then shared job from first
  else
    let r, p = in_place ~may_share:true job from first in
    let rs, last = go_on job p in
    (r :: rs, last)

(* {2 Short work}

   Nearly all of its time is the user's function's: so it begins without a job. *)

let is_short code = Site.estimate (Site.cost code) Tuning.few < Tuning.short && Site.is_trusted ()

let begin_trial (p : _ piece) =
  if p.source.is_end p.rest then 0
  else give p p.unit (more_in_place ~may_share:true ~doubted:false (start p.code) p.unit)

let front source ~code ~unit from =
  let refill = Some begin_trial in
  { rest = from; left = Tuning.few; start = 0; next = Tuning.few; refill; source; code; unit }

let run_from first job from =
  if is_short job.code then begin
    let p = of_job job first from Tuning.few (Some begin_trial) in
    let r = job.work p in
    let rs, last = go_on job p in
    (r :: rs, last)
  end
  else run_long first job from
