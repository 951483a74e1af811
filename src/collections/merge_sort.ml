(* A parallel merge sort with a parallel merge.

   Two arrays of the same length, the user's and a scratch one. A node sorts a range of both:
   what lies in the user's array ends, sorted, in the user's or, flipped, in the scratch array.
   Its halves end in the other one of the two, so that the merge is the only move.

   A long merge is cut in the middle of its output; where that cuts the two runs is found by
   binary search (S. Akl and N. Santoro, "Optimal parallel merging and sorting without memory
   conflicts", 1987; "merge path": S. Odeh, O. Green, Z. Mwassi, O. Shmueli and Y. Birk, 2012).

   Forks cost next to nothing where nobody is idle (Fork), so nodes are small. What is cut where
   depends on the length alone.

   If the comparison raises, the range it was working on is completed without comparing: a node
   always leaves all its elements in the array it was asked to leave them in. Failures are noted
   at the last index of their range, right of which nothing is compared any more. Ranges that fail are
   disjoint, for a node whose half has failed does not merge; so the failure of the smallest index is
   the same whoever runs what. *)

open Muster_core
open Muster_loop
module Array = Stdlib.Array

(* Indices are within bounds whatever [cmp] answers: merges ask for the ends of both runs at
   every step. *)
let get = Array.unsafe_get
let[@inline] set a i v = Compat.replace a i v

type 'a job = {
  cmp : 'a -> 'a -> int;
  own : 'a array;
  scratch : 'a array;
  failures : Outcome.failure Leftmost.t;
  code : int;  (** of [cmp], to remember what a call costs (Site) *)
  mutable grain : int;  (** a node so small does not fork *)
  since : int;  (** when a sort began that its caller tries alone; else 0 *)
}

(* Ranges that are sorted by insertion, arrays that are merged with branches, runs that are merged without a cut: up
   to these lengths. *)
let tiny = 8
let short = 128
let long = 2048
let rec log2_from l n = if n <= 1 then l else log2_from (l + 1) (n lsr 1)
let comparisons n = n * Int.max 1 (log2_from 0 n)
let[@inline] target job flip = if flip then job.scratch else job.own
let[@inline] stopped job index = Leftmost.stops job.failures index
let note job hi exn = Leftmost.note job.failures (hi - 1) (Outcome.caught exn)
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
let merge_by_value job m =
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

(* But the few branches of a short array it learns, where there is some order or a program sorts the same again and
   again: 100 elements then take 0.7 to 0.9 of the time of the above, and 1.15 where there is nothing to learn.

   [x] and [y] are the elements [i] and [j]. *)
let merge_by_branch job m =
  let cmp = job.cmp and { src; dst; i1; j1; _ } = m in
  let i = ref m.i0 and j = ref m.j0 and d = ref m.at in
  let x = ref (get src !i) and y = ref (get src !j) in
  try
    while
      if cmp !x !y <= 0 then begin
        set dst !d !x;
        incr d;
        incr i;
        !i < i1
        &&
        (x := get src !i;
         true)
      end
      else begin
        set dst !d !y;
        incr d;
        incr j;
        !j < j1
        &&
        (y := get src !j;
         true)
      end
    do
      ()
    done;
    move_runs m !i !j !d
  with exn ->
    note job (m.at + size m) exn;
    move_runs m !i !j !d

let merge_runs job m =
  if Array.length job.own <= short then merge_by_branch job m else merge_by_value job m

(* [f x] and [f y]. A fork may raise, too: where the task is cancelled. What has not begun by then
   is moved instead. *)
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
    note job hi exn;
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
  else if size m <= long then merge_runs job m
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
  both job (m.at + size m) (merge job) move first last

(* Runs that do not overlap, in the order in which they are to be moved: of ascending input, and of descending.
   Where their ends compare as [equal] they may touch. *)
let apart cmp ~equal ({ src; i0; i1; j0; j1; _ } as m) =
  if cmp (get src (i1 - 1)) (get src j0) <= equal then Some m
  else if cmp (get src (j1 - 1)) (get src i0) < 0 then
    Some { m with i0 = j0; i1 = j1; j0 = i0; j1 = i1 }
  else None

let merge job m =
  match apart job.cmp ~equal:0 m with
  | exception exn ->
    note job (m.at + size m) exn;
    move_runs m m.i0 m.j0 m.at
  | Some m -> move_runs m m.i0 m.j0 m.at
  | None -> merge job m

(* {2 Nodes} *)

type range = { lo : int; hi : int; flip : bool }

let move_range job { lo; hi; flip } = move job.own lo (target job flip) lo (hi - lo)

(* A node of cheap comparisons should last longer than a fork with a steal. *)
let grain_for cost = if Site.estimate cost 64 >= Loop.worth then tiny else 64

(* The leftmost node that does not fork tells what a comparison costs. If the whole is too short to share, that is
   remembered exactly: else what was once a little too much would stay so ([Site.learn]). *)
let measured node job range =
  if range.lo > 0 || range.hi > job.grain then node job range
  else begin
    let since = Machine.ticks () in
    let made = node job range in
    let ticks = Machine.ticks () - since in
    let cost = Site.learn job.code ~ticks ~iterations:(comparisons (range.hi - range.lo)) in
    if Site.estimate cost (comparisons (Array.length job.own)) < Loop.worth then
      Site.remember job.code cost;
    made
  end

(* The caller sorts the first [sorted] elements alone, as comparisons are remembered as short. If they are not, what
   follows forks. No overflow: neither factor is larger than 2^30. *)
let look_back job ~sorted =
  let bounded = Int.min (1 lsl 30) and n = Array.length job.own in
  let ticks = Machine.ticks () - job.since in
  if bounded ticks * bounded n >= Loop.worth_moving * sorted then
    job.grain <- grain_for (Site.learn job.code ~ticks ~iterations:(comparisons sorted))

let rec node job ({ lo; hi; flip } as range) =
  if stopped job lo then move_range job range
  else if hi - lo <= tiny then insertion job lo hi flip
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
    if left.lo = 0 && job.since <> 0 then look_back job ~sorted:left.hi;
    node job right
  end
  else both job right.hi (measured node job) (move_range job) left right

(* {2 Without equals}

   Of equal elements the right one is dropped by the first merge that meets both, so that few different ones
   stay few, as in the stdlib's. Merges that are cut keep them: nobody knows beforehand where the second part
   will begin. Nothing is completed after an exception, as nobody else has the array. *)

(* Both count what they leave, from the beginning of the range on. *)
let insertion_unique job lo hi flip =
  let { cmp; own = src; _ } = job and dst = target job flip in
  let rec place e hole last =
    let c = if hole = lo then -1 else cmp (get dst (hole - 1)) e in
    if c > 0 then place e (hole - 1) last
    else if c = 0 && hole > lo then last
    else begin
      for i = last downto hole + 1 do
        set dst i (get dst (i - 1))
      done;
      set dst hole e;
      last + 1
    end
  in
  let rec from i last = if i = hi then last - lo else from (i + 1) (place (get src i) last last) in
  from lo lo

(* As [merge_by_value]; of two equal ones both have had their turn. *)
let merge_unique cmp ({ src; dst; i1; j1; _ } as m) =
  let i = ref m.i0 and j = ref m.j0 and d = ref m.at in
  while !i < i1 && !j < j1 do
    let c = cmp (get src !i) (get src !j) in
    let left = (c lor (c - 1)) asr (Sys.int_size - 1) and right = lnot c asr (Sys.int_size - 1) in
    set dst !d (get src (!j + ((!i - !j) land left)));
    i := !i - left;
    j := !j - right;
    incr d
  done;
  move_runs m !i !j !d;
  !d - m.at + i1 - !i + j1 - !j

let join_unique job m =
  if size m <= long then
    match apart job.cmp ~equal:(-1) m with
    | Some m ->
      move_runs m m.i0 m.j0 m.at;
      size m
    | None -> merge_unique job.cmp m
  else begin
    let failures = Leftmost.create () in
    merge { job with failures } m;
    Context.reraise failures;
    size m
  end

let rec node_unique job ({ lo; hi; flip } as range) =
  if stopped job lo then raise Promise.Skipped
  else if hi - lo <= tiny then insertion_unique job lo hi flip
  else
    let mid = lo + ((hi - lo) / 2) in
    let left, right = halves_unique job range mid in
    let src = target job (not flip) and dst = target job flip in
    join_unique job { src; dst; i0 = lo; i1 = lo + left; j0 = mid; j1 = mid + right; at = lo }

and halves_unique job { lo; hi; flip } mid =
  let first = { lo; hi = mid; flip = not flip } and other = { lo = mid; hi; flip = not flip } in
  if hi - lo > job.grain then
    let half range =
      let note = Leftmost.note job.failures (range.hi - 1) in
      Outcome.on_failure (fun () -> measured node_unique job range) note
    in
    Fork.both (fun () -> half first) (fun () -> half other)
  else
    let left = node_unique job first in
    if lo = 0 && job.since <> 0 then look_back job ~sorted:mid;
    (left, node_unique job other)

(* {2 Whole arrays} *)

let all own = { lo = 0; hi = Array.length own; flip = false }

let make_job ?(since = 0) cmp own ~code ~grain =
  let scratch = Compat.make_blank (Array.length own) ~like:(get own 0) in
  { cmp; own; scratch; failures = Leftmost.create (); code; grain; since }

let tiny_job cmp own =
  let failures = Leftmost.create () in
  { cmp; own; scratch = own; failures; code = 0; grain = tiny; since = 0 }

(* A function that sorts only so few would stay unknown, and its lists would come as arrays for ever. *)
let sort_tiny cmp own =
  let n = Array.length own in
  if n > 1 then begin
    let job = tiny_job cmp own and code = Machine.code_of cmp in
    if Site.cost code <> Site.unknown then insertion job 0 n false
    else begin
      let since = Machine.ticks () in
      insertion job 0 n false;
      ignore (Site.learn code ~ticks:(Machine.ticks () - since) ~iterations:(comparisons n))
    end;
    Context.reraise job.failures
  end

let raising job run = Context.raising (fun () -> Leftmost.get job.failures) run

(* Too short to share. *)
let alone node cmp own ~code =
  let job = make_job cmp own ~code ~grain:(Array.length own) in
  let made = node job (all own) in
  Context.reraise job.failures;
  made

(* The same, if it is; [after] is told what it took. *)
let tried node cmp own ~code ~after =
  let since = Machine.ticks () and grain = Array.length own in
  let job = make_job cmp own ~code ~grain ~since in
  let made = raising job (fun () -> node job (all own)) in
  if job.grain = grain then after ~ticks:(Machine.ticks () - since);
  made

let shared node cmp own ~code cost =
  let job = make_job cmp own ~code ~grain:(grain_for cost) in
  let run () = measured node job (all own) in
  raising job (fun () -> Pool.with_current ~in_place:run (fun _ -> run ()))

let whole node cmp own =
  let code = Machine.code_of cmp and iterations = comparisons (Array.length own) in
  let cost = Site.cost code in
  let estimate = Site.estimate cost iterations in
  if estimate < Loop.worth then
    if estimate < Loop.tiny && Site.is_trusted () then alone node cmp own ~code
    else tried node cmp own ~code ~after:(Site.confirm code cost ~iterations)
  else if estimate < 2 * Loop.worth && Site.is_turn_alone () then
    let after ~ticks = Site.remember code (Site.cost_of ~ticks ~iterations) in
    tried node cmp own ~code ~after
  else shared node cmp own ~code cost

let sort cmp own = if Array.length own <= tiny then sort_tiny cmp own else whole node cmp own

let unique cmp own =
  if Array.length own <= tiny then insertion_unique (tiny_job cmp own) 0 (Array.length own) false
  else whole node_unique cmp own
