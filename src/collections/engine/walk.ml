(* The caller works its way from the front, in one pass, until sharing pays (Adaptive): no count of
   the elements, and one piece that is given more and more, so that there is one result and nothing
   to link. The rest is cut into blocks of pieces. While a block is worked on, another worker may
   walk on and cut the next one, which is twice as long: the walk is no bottleneck, and its depth is
   small.

   A shared piece lasts about [Tuning.chunk]. The results come back in order. A piece right of an
   event (a failure, or an element that was looked for) is skipped; one left of it is not. *)

type 's source = { skip : int -> 's -> 's; is_end : 's -> bool }

type 's piece = {
  start : int;
  mutable rest : 's;
  mutable left : int;
  mutable next : int;  (** the index of the element after the piece *)
  mutable more : 's piece -> int;  (** gives it more, or 0 *)
  mutable doubted : bool;  (** its last elements took long, perhaps by chance *)
  mutable least : int;  (** the cost from which others may help, as far as it is known *)
}

type event = Found | Failed of Outcome.failure

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;
  unit : int;
  events : event Leftmost.t;
  keeps : bool;
  alone : int;
}

let whole unit n = (n + unit - 1) land lnot (unit - 1)

let piece start rest left more =
  { start; rest; left; next = start + left; more; doubted = false; least = Tuning.walk }

let no_more _ = 0

let give p n =
  p.left <- n;
  p.next <- p.next + n;
  n

let swept p = p.next - p.start - p.left

let reach p rest left =
  p.rest <- rest;
  p.left <- left

let ended p rest left =
  reach p rest left;
  p.more p

let is_over source p = p.left > 0 || source.is_end p.rest

let note_failure events index failure =
  Leftmost.note events (Outcome.index_of failure index) (Failed failure)

let failure job =
  match Leftmost.get job.events with Some (Failed failure) -> Some failure | _ -> None

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
  if not (Leftmost.stops job.events start) then begin
    let since = Machine.ticks () in
    (try b.results.(c) <- Some (job.work (piece start b.from.(c) b.each no_more))
     with exn -> note_failure job.events start (Fiber.caught exn));
    ignore (Atomic.fetch_and_add b.spent (Machine.ticks () - since));
    ignore (Atomic.fetch_and_add b.ran 1)
  end

(* A half right of an event is in vain (Fork). *)
let skip_from job i = if Leftmost.stops job.events i then Fork.skip (failure job)
let note_break job exn = note_failure job.events 0 (Fiber.caught exn)

let rec share_out job b lo hi =
  if hi - lo > 1 then
    let mid = lo + ((hi - lo) / 2) in
    let left () =
      share_out job b lo mid;
      skip_from job (b.first + (mid * b.each))
    in
    try ignore (Fork.both left (fun () -> share_out job b mid hi)) with
    | Promise.Skipped -> ()
    | Sys.Break as exn -> note_break job exn
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
  if job.source.is_end from || Leftmost.stops job.events first then ([], from)
  else
    let cost = Site.cost job.code in
    let each = whole job.unit (Int.min most (Site.fitting Tuning.chunk cost)) in
    let b = cut job from first ~each ~pieces and next = first + (pieces * each) in
    let work () =
      run_block job b;
      skip_from job next
    and go_on () =
      let most = Int.min Tuning.longest_piece (Tuning.growth * each) in
      blocks job b.after next (2 * pieces) ~most
    in
    let both =
      if cost = Site.unknown || job.source.is_end b.after then Fork.in_place else Fork.both
    in
    match both work go_on with
    | (), (bs, last) -> (b :: bs, last)
    | exception Promise.Skipped -> ([ b ], b.after)
    | exception (Sys.Break as exn) ->
      note_break job exn;
      ([ b ], b.after)

let add_results b results =
  Array.fold_right (fun r rs -> match r with Some r -> r :: rs | None -> rs) b.results results

(* A cancellation that is told between two pieces leaves no results. One that is told in a piece
   whose failure is kept is told again: the results are put together by the user's function, which
   may wait. *)
let shared_by_all job from first =
  let cut_short = ref true and tell_again = Fiber.to_tell_again () in
  let raised () =
    match failure job with
    | Some { exn; _ } when job.keeps && (not !cut_short) && exn != Sys.Break -> None
    | it -> it
  in
  let bs, last =
    Fiber.raising raised (fun () ->
        let all = blocks job from first Tuning.first_pieces ~most:Tuning.longest_piece in
        cut_short := false;
        all)
  in
  if Option.is_some (failure job) then tell_again ();
  (List.fold_right add_results bs [], last)

let shared job from first =
  Pool.with_branches (fun _ -> shared_by_all job from first)

(* {2 In place} *)

(* Two workers gain nothing from a function that takes no longer than to walk past an element, which
   may be cheap or a miss of the cache; nor where the end is near. A caller that was told so asks
   again when an element costs more. *)
let is_worth_sharing job p cost =
  let elements = Site.fitting Tuning.min_moved cost and since = Machine.ticks () in
  let rest = job.source.skip elements p.rest in
  let walk = Site.cost_of ~ticks:(Machine.ticks () - since) ~iterations:elements in
  p.least <- (if job.source.is_end rest then 2 * cost else Tuning.walks * walk);
  cost > p.least

let is_alone () =
  let w = Fiber.place () in
  Place.owned w && Place.alone w

(* A chunk of many may be long by chance, as its worker was interrupted: so [doubted], another one
   has to confirm it. *)
let more_in_place job trial p =
  if job.source.is_end p.rest || (swept p >= job.alone && not (is_alone ())) then begin
    Adaptive.finish ~all:(swept p) trial;
    0
  end
  else
    let pays = Adaptive.pays trial (swept p) in
    let dear = pays && Adaptive.cost trial > p.least && not (is_alone ()) in
    let sure = dear && (p.doubted || Adaptive.next trial <= Site.sample) in
    if sure && is_worth_sharing job p (Adaptive.cost trial) then 0
    else begin
      if pays then Adaptive.checkpoint ();
      p.doubted <- dear;
      give p (whole job.unit (Adaptive.next trial))
    end

let trial ?seen job = more_in_place job (Adaptive.start ?seen job.code ~n:max_int)

let more_quietly job p =
  if job.source.is_end p.rest then 0
  else if swept p < Tuning.max_unmeasured && Place.is_quiet () then
    give p (whole job.unit Tuning.quiet_chunk)
  else begin
    p.more <- trial job ~seen:(swept p);
    give p job.unit
  end

let in_place job from first left more =
  let p = piece first from left more in
  let result = job.work p in
  if is_over job.source p then ([ result ], p.rest)
  else
    let results, last = shared job p.rest p.next in
    (result :: results, last)

(* Elements are counted only where a few of them decide. *)
let is_shared_at_once job from =
  let few = Tuning.few_unknown and cost = Site.cost job.code in
  cost = Site.unknown
  || Site.estimate cost few >= Tuning.min_shared
     && Adaptive.is_shared_at_once job.code ~n:(count_up_to (few + 1) job.source from)

let run first job from =
  if Adaptive.begins_quietly job.code then
    in_place job from first (whole job.unit Tuning.quiet_chunk) (more_quietly job)
  else if is_shared_at_once job from then shared job from first
  else in_place job from first job.unit (trial job)
