(* Two arrays of the same length, the user's and a scratch one. A node sorts a range of both: the
   elements in the user's array end, sorted, in the user's or, flipped, in the scratch array.
   Its halves end in the other one of the two, so that the merge is the only move.

   A long merge is cut in the middle of its output; where that cuts the two runs is found by
   binary search (S. Akl and N. Santoro, "Optimal parallel merging and sorting without memory
   conflicts", 1987; "merge path": S. Odeh, O. Green, Z. Mwassi, O. Shmueli and Y. Birk, 2012).

   Forks cost next to nothing where nobody is idle (Fork), so nodes are small. The cuts depend
   on the length alone.

   If the comparison raises, the range it was working on is completed without comparing: a node
   always leaves all its elements in the array it was asked to leave them in. Failures are noted
   at the last index of their range, right of which nothing is compared any more. Ranges that fail
   are disjoint, for a node whose half has failed does not merge; so the failure of the smallest
   index is the same on any workers.

   Indices are within bounds whatever [cmp] answers: merges ask for the ends of both runs at every
   step. So elements are read without a check. *)

let get = Array.unsafe_get
let[@inline] set a i v = Compat.replace a i v

type 'a job = {
  cmp : 'a -> 'a -> int;
  own : 'a array;
  scratch : 'a array;
  failures : Outcome.failure Leftmost.t;
  code : int;  (** of [cmp], to remember what a call costs (Site) *)
  mutable grain : int;  (** a node so small does not fork *)
  mutable trial : Adaptive.trial option;  (** of a sort that its caller does alone so far *)
}

let rec log2_from l n = if n <= 1 then l else log2_from (l + 1) (n lsr 1)
let comparisons n = n * Int.max 1 (log2_from 0 n)
let[@inline] target job flip = if flip then job.scratch else job.own
let[@inline] stopped job index = Leftmost.stops job.failures index

let note job hi exn =
  let failure = Fiber.caught exn in
  Leftmost.note job.failures (Outcome.index_of failure (hi - 1)) failure

let move src from dst at count = if src != dst && count > 0 then Array.blit src from dst at count

(* {2 Insertion} *)

let insertion job lo hi flip =
  let { cmp; own = src; _ } = job and dst = target job flip in
  let i = ref lo and hole = ref lo and held = ref (get src lo) in
  try
    while !i < hi do
      let e = get src !i in
      held := e;
      hole := !i;
      while !hole > lo && cmp (get dst (!hole - 1)) e > 0 do
        set dst !hole (get dst (!hole - 1));
        decr hole
      done;
      set dst !hole e;
      incr i
    done
  with exn ->
    note job hi exn;
    set dst !hole !held;
    move src (!i + 1) dst (!i + 1) (hi - !i - 1)

(* {2 Merging} *)

(* Two runs of [src], to be merged into [dst] from [at] on. *)
type 'a merge = { src : 'a array; dst : 'a array; i0 : int; i1 : int; j0 : int; j1 : int; at : int }

let[@inline] size m = m.i1 - m.i0 + m.j1 - m.j0

let move_runs m i j d =
  move m.src i m.dst d (m.i1 - i);
  move m.src j m.dst (d + m.i1 - i) (m.j1 - j)

(* Which run is next is computed, not branched on: a processor guesses half of such branches
   wrong, which costs more than all the rest of a step. [left] is -1 where the left run's
   element is not the greater one, else 0. *)
let merge_runs job m =
  let cmp = job.cmp and { src; dst; i1; j1; _ } = m in
  let i = ref m.i0 and j = ref m.j0 and d = ref m.at in
  try
    while !i < i1 && !j < j1 do
      let c = cmp (get src !i) (get src !j) in
      let left = (c lor (c - 1)) asr (Sys.int_size - 1) in
      set dst !d (get src (!j + ((!i - !j) land left)));
      i := !i - left;
      j := !j + 1 + left;
      incr d
    done;
    move_runs m !i !j !d
  with exn ->
    note job (m.at + size m) exn;
    move_runs m !i !j !d

(* Right of a failure a half is in vain (Fork). *)
let skip_from job index = if stopped job index then Fork.skip (Leftmost.get job.failures)

(* [f x] and [f y]. A fork may raise, too: where the task is cancelled, and where a half has
   failed. A half that has not begun by then is moved instead. *)
let both job hi f move x y =
  let x_begun = ref false and y_begun = ref false in
  let left () =
    x_begun := true;
    f x
  in
  let right () =
    y_begun := true;
    f y
  in
  try ignore (Fork.both left right)
  with exn ->
    if exn != Promise.Skipped then note job hi exn;
    if not !x_begun then move x;
    if not !y_begun then move y

(* How many of the first [k] elements of the merged run are the left run's. *)
let cut cmp { src; i0; i1; j0; j1; _ } k =
  let rec between p q =
    if p = q then p
    else
      let mid = p + ((q - p) / 2) in
      if cmp (get src (i0 + mid)) (get src (j0 + k - mid - 1)) <= 0 then between (mid + 1) q
      else between p mid
  in
  between (Int.max 0 (k - (j1 - j0))) (Int.min k (i1 - i0))

let rec merge job m =
  if stopped job m.at then move_runs m m.i0 m.j0 m.at
  else if size m <= Tuning.longest_merge then merge_runs job m
  else
    match cut job.cmp m (size m / 2) with
    | exception exn ->
      note job (m.at + size m) exn;
      move_runs m m.i0 m.j0 m.at
    | left -> merge_halves job m left (size m / 2)

and merge_halves job m left k =
  let i = m.i0 + left and j = m.j0 + k - left in
  let first = { m with i1 = i; j1 = j } and last = { m with i0 = i; j0 = j; at = m.at + k } in
  let move m = move_runs m m.i0 m.j0 m.at in
  let half m =
    merge job m;
    skip_from job (m.at + size m)
  in
  both job (m.at + size m) half move first last

(* Runs that do not overlap are moved: of ascending input, and of descending. *)
let merge job ({ src; i0; i1; j0; j1; _ } as m) =
  let cmp = job.cmp in
  match
    if cmp (get src (i1 - 1)) (get src j0) <= 0 then move_runs m i0 j0 m.at
    else if cmp (get src (j1 - 1)) (get src i0) < 0 then
      move_runs { m with i0 = j0; i1 = j1; j0 = i0; j1 = i1 } j0 i0 m.at
    else merge job m
  with
  | () -> ()
  | exception exn ->
    note job (m.at + size m) exn;
    move_runs m i0 j0 m.at

(* {2 Nodes} *)

type range = { lo : int; hi : int; flip : bool }

let move_range job { lo; hi; flip } = move job.own lo (target job flip) lo (hi - lo)

(* A node of cheap comparisons should last longer than a fork with a steal. *)
let grain_for cost = if Site.estimate cost 64 >= Tuning.min_shared then Tuning.insertion else 64

(* The leftmost node that does not fork tells what a comparison costs. *)
let measured node job range =
  if range.lo > 0 || range.hi > job.grain then node job range
  else
    let iterations = comparisons (range.hi - range.lo) in
    Site.timed job.code Site.unknown ~iterations (fun () -> node job range)

(* The caller has sorted the first elements alone. If sharing pays now, the others are shared. *)
let look_back job ~sorted =
  match job.trial with
  | None -> ()
  | Some trial -> (
    match Adaptive.pays trial (comparisons sorted) with
    | false -> ()
    | true ->
      job.trial <- None;
      job.grain <- grain_for (Site.cost job.code)
    | exception exn -> note job sorted exn)

let rec node job ({ lo; hi; flip } as range) =
  if stopped job lo then move_range job range
  else if hi - lo <= Tuning.insertion then insertion job lo hi flip
  else begin
    let mid = lo + ((hi - lo) / 2) in
    halves job { lo; hi = mid; flip = not flip } { lo = mid; hi; flip = not flip };
    let src = target job (not flip) and dst = target job flip in
    if stopped job hi then move src lo dst lo (hi - lo)
    else merge job { src; dst; i0 = lo; i1 = mid; j0 = mid; j1 = hi; at = lo }
  end

and halves job left right =
  if right.hi - left.lo <= job.grain then begin
    node job left;
    if left.lo = 0 then look_back job ~sorted:left.hi;
    node job right
  end
  else
    let half range =
      measured node job range;
      skip_from job range.hi
    in
    both job right.hi half (move_range job) left right

(* {2 Whole arrays} *)

let all own = { lo = 0; hi = Array.length own; flip = false }

let make_job ?trial cmp own ~grain =
  let scratch = Compat.make_blank (Array.length own) ~like:(get own 0) in
  let code = Machine.code_of cmp in
  { cmp; own; scratch; failures = Leftmost.create (); code; grain; trial }

let raising job run = Fiber.raising (fun () -> Leftmost.get job.failures) run

let alone ?trial cmp own =
  let job = make_job ?trial cmp own ~grain:(Array.length own) in
  raising job (fun () -> node job (all own));
  Option.iter Adaptive.finish job.trial

let shared cmp own =
  let job = make_job cmp own ~grain:(grain_for (Site.cost (Machine.code_of cmp))) in
  raising job (fun () -> Pool.with_branches (fun _ -> measured node job (all own)))

let sort cmp own =
  let n = comparisons (Array.length own) and code = Machine.code_of cmp in
  if Array.length own < 2 then ()
  else if Site.cost code = Site.unknown || Adaptive.is_shared_at_once code ~n then shared cmp own
  else alone ~trial:(Adaptive.start code ~n) cmp own
