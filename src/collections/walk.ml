(* Runs a function over what can only be walked from its front, piece by piece.

   What an element costs is remembered by the user's function (Site). Where the whole is likely to
   be over before sharing pays, the caller works its way from the front, in one pass: no count of
   what is there, and two or three clock readings in all. What is left after that is cut into blocks
   of pieces. While a block is worked on, another worker may walk on and cut the next one, which
   is twice as long: the walk is no bottleneck, and its depth is small.

   Pieces last about [quantum]. Each keeps its result or its failure, and the results come back in
   order. A piece right of a failure, or of what was looked for, is skipped; one left of it is
   not. *)

open Muster_core
open Muster_loop
module Array = Stdlib.Array

type 's source = {
  skip : int -> 's -> 's;  (** by so many elements, or to the end *)
  is_end : 's -> bool;
}
(** How to walk. *)

type 's piece = {
  mutable rest : 's;
  mutable left : int;
  start : int;
  mutable next : int;
  mutable since : int;  (** it is timed from here on; or 0 *)
  mutable refill : 's piece -> int;
  source : 's source;
  code : int;
  unit : int;
  made : int;
}
(** A piece in work: [rest] is what is there, [left] of how many elements. [start] is the index of
    the first element, [next] that of what comes after the piece. A worker that has reached the
    end asks [refill] for more: 0 if there is none, or if others shall have it. Where nothing is
    left to walk, it asks only if it is timed: else [rest] is not brought up to date, and [left]
    is not 0. *)

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;  (** what costs are remembered by *)
  unit : int;  (** lengths of pieces are multiples of it *)
  made : int;  (** what it takes later to collect what is made of 1,000 elements, in ticks *)
  failures : Outcome.failure Leftmost.t;
  found : int -> bool;  (** whether it is over, left of this index *)
  kept : Outcome.failure Leftmost.t;  (** failures that results tell of *)
}

type ('s, 'r) block = {
  from : 's array;  (** the beginnings of pieces *)
  count : int;
  first : int;  (** the index of the first element *)
  each : int;  (** elements of a piece *)
  left : 's;  (** what comes after *)
  results : 'r option array;
  spent : int Atomic.t;  (** ticks, by all who share it *)
  ran : int Atomic.t;  (** pieces in these *)
}

let worth = Machine.ticks_of_us 50
let quantum = Loop.quantum
let first_block = 16

(* So long may a wrong memory go unnoticed, by its own measure. *)
let trial = Loop.worth / 8

(* In ticks for each 1,000 elements. *)
let hardly = Machine.ticks_of_us 5
let a_cell = Machine.ticks_of_us 10

(* [Site.sample] elements of that cost may be done before sharing pays. *)
let cheap = worth

(* So many elements that cost no more than [trivial] each are over before the next call is trusted ([Site.moment]). *)
let few = 128
let trivial = 3 * ((trial lsl Site.shift) / few)

(* What a few trivial elements took is measured as next to nothing at times: by that measure no number of them would last
   a [trial]. *)
let longest_trial = 2 * few

(* Longer ones would do the caches no good. *)
let longest = 4096

(* Without a look whether the task is cancelled, or the worker dismissed. *)
let longest_alone = 1 lsl 10
let at_least_1 (n : int) = if n < 1 then 1 else n

(* So many elements that cost [cost] last [ticks]. *)
let fitting ticks cost = (ticks lsl Site.shift) / at_least_1 cost
let whole unit n = unit * at_least_1 ((n + unit - 1) / unit)
let over job index = Leftmost.stops job.failures index || job.found index

let piece ({ source; code; unit; made; _ } : _ job) rest left start refill =
  { rest; left; start; next = start + left; since = 0; refill; source; code; unit; made }

let timed piece =
  piece.since <- Machine.ticks ();
  piece

let no_more _ = 0

let give (p : _ piece) n refill =
  p.left <- n;
  p.next <- p.next + n;
  p.since <- 0;
  p.refill <- refill;
  n

let give_timed p n refill =
  let n = give p n refill in
  p.since <- Machine.ticks ();
  n

let reach (p : _ piece) rest left =
  p.rest <- rest;
  p.left <- left

let ask_for_more (p : _ piece) rest left =
  reach p rest left;
  p.refill p

let[@inline] ended (p : _ piece) rest left =
  if left > 0 && p.since = 0 then begin
    p.left <- left;
    0
  end
  else ask_for_more p rest left

let is_over (p : _ piece) = p.left > 0 || p.source.is_end p.rest

(* {2 Blocks} *)

let cut job from first ~each ~pieces =
  let starts = Array.make pieces from in
  let rec walk c from =
    if c = pieces || job.source.is_end from then (c, from)
    else begin
      starts.(c) <- from;
      walk (c + 1) (job.source.skip each from)
    end
  in
  let count, left = walk 0 from in
  let results = Array.make count None in
  { from = starts; count; first; each; left; results; spent = Atomic.make 0; ran = Atomic.make 0 }

let start_of b c = b.first + (c * b.each)

let run_piece job b c =
  let start = start_of b c in
  if not (over job start) then
    try b.results.(c) <- Some (job.work (piece job b.from.(c) b.each start no_more))
    with exn -> Leftmost.note job.failures start (Outcome.caught exn)

let run_timed job b c =
  if not (over job (start_of b c)) then begin
    let since = Machine.ticks () in
    run_piece job b c;
    ignore (Atomic.fetch_and_add b.spent (Machine.ticks () - since));
    ignore (Atomic.fetch_and_add b.ran 1)
  end

let rec share_out job b lo hi =
  if hi - lo > 1 then
    let mid = lo + ((hi - lo) / 2) in
    ignore (Fork.both (fun () -> share_out job b lo mid) (fun () -> share_out job b mid hi))
  else run_timed job b lo

(* How many are left, as far as they may count. *)
let rec some_left { skip; is_end } counted rest =
  if counted = Site.sample - 1 || is_end rest then counted
  else some_left { skip; is_end } (counted + 1) (skip 1 rest)

(* All pieces tell what an element costs, as one of them may be short or long by chance. If there is but one, which
   may be cut short by the end, it tells where nothing is known: few elements would be shared for ever. *)
let share job b lo =
  share_out job b lo b.count;
  let ran = Atomic.get b.ran in
  if ran > 0 then begin
    let learn iterations = ignore (Site.learn job.code ~ticks:(Atomic.get b.spent) ~iterations) in
    if b.count > 1 || not (job.source.is_end b.left) then learn (ran * b.each)
    else if Site.cost job.code = Site.unknown then learn (some_left job.source 0 b.from.(0))
  end

(* What is remembered may be true of the elements before these alone. *)
let rec in_turn job b c since =
  run_piece job b c;
  let next = c + 1 and ticks = Machine.ticks () - since in
  if next < b.count then
    if ticks < worth then in_turn job b next since
    else begin
      ignore (Site.learn job.code ~ticks ~iterations:(next * b.each));
      share job b next
    end

(* There is at least one piece. *)
let run_block job b cost =
  if Site.estimate cost (b.count * b.each) >= worth then share job b 0
  else in_turn job b 0 (Machine.ticks ())

(* The blocks, and where the last one ended. [most]: elements of a piece. Pieces grow, as a loop's chunks do, for
   the same reason. *)
let rec blocks job from first pieces ~most =
  if job.source.is_end from || over job first then ([], from)
  else
    let cost = Site.cost job.code in
    let fit = if cost = Site.unknown then 1 else Int.min most (fitting quantum cost) in
    let each = whole job.unit fit in
    let b = cut job from first ~each ~pieces in
    let work () = run_block job b cost in
    let go_on () =
      let most = Int.min longest (Loop.growth * each) in
      blocks job b.left (first + (pieces * each)) (2 * pieces) ~most
    in
    if cost = Site.unknown || job.source.is_end b.left then begin
      work ();
      let bs, last = go_on () in
      (b :: bs, last)
    end
    else
      let (), (bs, last) = Fork.both work go_on in
      (b :: bs, last)

let add_results b results =
  Array.fold_right (fun r rs -> match r with Some r -> r :: rs | None -> rs) b.results results

(* A cancellation that is told between two pieces leaves no results. One that is told in a piece is told
   again: the results that there are may be put together by the user's function, which may wait. *)
let shared_by_all job from first =
  let cut_short = ref true and tell_again = Context.to_tell_again () in
  let failure () =
    match Leftmost.get job.failures with
    | None when !cut_short -> Leftmost.get job.kept
    | failure -> failure
  in
  let bs, last =
    Context.raising failure (fun () ->
        let all = blocks job from first first_block ~most:longest in
        cut_short := false;
        all)
  in
  if Option.is_some (Leftmost.get job.kept) then tell_again ();
  (Stdlib.List.fold_right add_results bs [], last)

(* {2 In place}

   One piece, which is given more and more: so there is one result, and nothing to link. *)

(* Of the first [n] elements. *)
let confirm cost n (p : _ piece) =
  let ticks = Machine.ticks () - p.since in
  Site.confirm p.code cost ~ticks ~iterations:(at_least_1 (n - p.left));
  ticks

let rec more_alone n (p : _ piece) =
  let ticks = confirm (Site.cost p.code) n p in
  if p.source.is_end p.rest then 0
  else begin
    let longer = Int.min (if ticks < quantum then 2 * n else n) longest_alone in
    Loop.look_up_between_chunks ();
    give_timed p longer (more_alone longer)
  end

let alone job from first =
  let n = whole job.unit Site.sample in
  let p = timed (piece job from n first (more_alone n)) in
  let r = job.work p in
  ([ r ], p.rest)

let shared job from first =
  let go () = shared_by_all job from first in
  Pool.with_current ~in_place:go (fun w ->
      if Pool.size w.pool = 1 then alone job from first else go ())

let go_on job (p : _ piece) = if is_over p then ([], p.rest) else shared job p.rest p.next

let in_place job p =
  let r = job.work p in
  let rs, last = go_on job p in
  (r :: rs, last)

(* What is shared is walked once more, by one after the other. Where that takes half as long as the work, which waits for
   the same cells, two workers gain nothing; nor where the end is near. *)
let most_in_place (p : _ piece) ~each =
  let ahead = Int.min longest (1000 * worth / at_least_1 each) and since = Machine.ticks () in
  let beyond = p.source.skip ahead p.rest in
  let walked = Machine.ticks () - since - Site.clock in
  if p.source.is_end beyond then 2 * each else 2000 * walked / at_least_1 ahead

(* What has lasted so long is expected to last as long again: the less there is to gain at each element, the longer that has
   to be for what sharing costs once. Only what is kept of long lists is collected. *)
let long = 8 * worth

let hardly_after ticks =
  if ticks < worth then 3 * hardly else if ticks < long then 2 * hardly else hardly

(* Goes on in place for as long as an element costs hardly more than to walk past it, which is all
   that sharing could take off the caller. What the last elements took is what those after them are expected to.
   [most]: that is hardly more, by the last look ahead; less than the walk itself nothing takes, so that look is out of
   date then. A few more elements confirm that it is to be shared: one piece may be long by chance. *)
let rec stretch cost n ~began ~most ~doubted (p : _ piece) =
  let ticks = confirm cost n p in
  if p.source.is_end p.rest then 0
  else
    let elapsed = p.since + ticks - began in
    let each = (1000 * ticks / n) + if elapsed < long then 0 else p.made in
    let least = hardly_after elapsed in
    let most = if each < Int.max least most then most else most_in_place p ~each in
    let is_long = each > Int.max least most in
    if is_long && doubted then 0
    else begin
      Loop.look_up_between_chunks ();
      let next = if is_long then whole p.unit (n / 4) else Int.min (2 * n) longest_alone in
      let most = if 3 * each < most then 0 else most in
      give_timed p next (stretch cost next ~began ~most ~doubted:is_long)
    end

(* What is remembered is tried on a few elements. They are what tells how many more may be done in
   place. *)
let trial_length cost unit =
  Int.min longest_trial (Int.max Site.sample (whole unit (fitting trial cost)))

let tried cost n (p : _ piece) =
  let began = p.since and ticks = confirm cost n p in
  if p.source.is_end p.rest then 0
  else begin
    let more = Int.min longest_alone (worth * n / at_least_1 ticks) in
    let more = whole p.unit (Int.min more (Loop.growth * n)) in
    Loop.look_up_between_chunks ();
    give_timed p more (stretch cost more ~began ~most:0 ~doubted:false)
  end

(* There may be few, so the first ones are tried by themselves. One of many may be long by chance, so they
   count as few. *)
let after_first cost n refill (p : _ piece) =
  let ticks = Machine.ticks () - p.since in
  if p.source.is_end p.rest then begin
    ignore (confirm cost p.unit p);
    0
  end
  else if ticks * some_left p.source 0 p.rest >= worth * p.unit then begin
    ignore (Site.learn p.code ~ticks ~iterations:p.unit);
    0
  end
  else give_timed p n refill

let from_the_front (job : _ job) from first cost n refill =
  in_place job (timed (piece job from job.unit first (after_first cost n refill)))

let all n cost p =
  ignore (confirm cost n p);
  0

let run_long first job from =
  let cost = Site.cost job.code and { skip; is_end } = job.source in
  if cost = Site.unknown then shared job from first
  else if cost <= cheap then
    let n = trial_length cost job.unit in
    from_the_front job from first cost n (tried cost n)
  else if is_end (skip (fitting worth cost) from) then
    let n = max_int - first - job.unit in
    from_the_front job from first cost n (all n cost)
  else shared job from first

(* {2 Short work}

   Nearly all of the time of what is so short is the user's: no division, one look at the clock
   (Site.is_trusted), and nothing is made that only sharing needs. *)

let is_short code =
  let cost = Site.cost code in
  cost <= trivial && cost <> Site.unknown && Site.is_trusted ()

(* A search may end at the first elements: so many are looked at in the same way if they are not quite as short. *)
let at_first = Site.sample

let begins_short code =
  let cost = Site.cost code in
  cost <> Site.unknown && Site.estimate cost at_first < trial && Site.is_trusted ()

let quick (p : _ piece) =
  if p.source.is_end p.rest then 0
  else
    let remembered = Site.cost p.code in
    let cost = if remembered = Site.unknown then trivial else remembered in
    let n = trial_length cost p.unit in
    give_timed p n (tried cost n)

let front source ~code ~unit ~made first from =
  {
    rest = from;
    left = few;
    start = first;
    next = first + few;
    since = 0;
    refill = quick;
    source;
    code;
    unit;
    made;
  }

let beginning source ~code ~unit first from =
  let p = front source ~code ~unit ~made:0 first from in
  if Site.cost code > trivial then begin
    p.left <- at_first;
    p.next <- first + at_first
  end;
  p

let run_from first (job : _ job) from =
  let { source; code; unit; made; _ } : _ job = job in
  if is_short code then in_place job (front source ~code ~unit ~made first from)
  else run_long first job from
