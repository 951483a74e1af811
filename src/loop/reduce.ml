module Machine = Muster_core.Machine
module Fiber = Muster_core.Fiber
module Leftmost = Muster_core.Leftmost
module Fork = Muster_core.Fork
module Outcome = Muster_core.Outcome
module Pool = Muster_core.Pool
module Promise = Muster_core.Promise

type 'a job = {
  code : int;
  per_leaf : int;  (** iterations, fewer where their sum would overflow *)
  last : int;  (** the index of the last leaf *)
  leaf : int -> 'a;
  plain : int -> int -> 'a;  (** the value of leaves that are short, without a look around *)
  combine : 'a -> 'a -> 'a;
  failures : Outcome.failure Leftmost.t;
}

(* The iterations of so many leaves, as far as they can be counted. *)
let[@inline] iterations t leaves =
  let n = leaves * t.per_leaf in
  if n < 0 then max_int else n

(* Leaves [a] to [b], one after the other. *)
let rec tree_of leaf combine a b =
  if a = b then leaf a
  else
    let m = a + ((b - a) / 2) in
    let left = tree_of leaf combine a m in
    combine left (tree_of leaf combine (m + 1) b)

(* The subtree with its failure noted, so that everything right of it can stop. *)
let noted t b f = Outcome.on_failure f (Leftmost.note t.failures b)

let learn t ~since leaves =
  ignore (Site.learn t.code ~ticks:(Machine.ticks () - since) ~iterations:(iterations t leaves))

let[@inline] rest t leaves = Site.estimate (Site.cost t.code) (iterations t leaves)

(* Looks around take as long as short iterations, which would be remembered as longer than they
   are. *)
let quick t a b =
  if rest t (b - a + 1) <= Tuning.chunk then t.plain a b else tree_of t.leaf t.combine a b

let rec node t a b ~whole =
  if Leftmost.stops t.failures a then raise Promise.Skipped;
  if a = b || rest t (b - a + 1) <= Tuning.chunk then measured t a b
  else branch t a b ~whole (fun ~whole m -> node t a m ~whole)

(* The remembered cost may be true of the leaves before these alone: eight looks in the time that
   should last a chunk. *)
and measured t a b =
  noted t b (fun () ->
      let since = Machine.ticks () in
      let v = watched t a b ~from:a ~since ~levels:3 in
      learn t ~since (b - a + 1);
      v)

and watched t a b ~from ~since ~levels =
  if a = b || levels = 0 then quick t a b
  else
    let m = a + ((b - a) / 2) and levels = levels - 1 in
    let left = watched t a m ~from ~since ~levels in
    let is_late = Machine.ticks () - since >= 2 * Tuning.chunk in
    if is_late then learn t ~since (m - from + 1);
    t.combine left
      (if is_late then node t (m + 1) b ~whole:false else watched t (m + 1) b ~from ~since ~levels)

(* [left m] is the value of leaves [a] to [m]. *)
and branch t a b ~whole left =
  let m = a + ((b - a) / 2) in
  Adaptive.checkpoint ();
  let w = Fiber.place () and cost = Site.cost t.code in
  let coarse = Range.is_coarse cost t.per_leaf in
  let whole = whole && coarse in
  let offers = Range.may_offer w ~whole in
  let of_coarse = offers && coarse in
  let left () = left ~whole:of_coarse m and right () = node t (m + 1) b ~whole:of_coarse in
  let wake = Range.is_worth_waking (rest t (b - a + 1)) cost ~whole in
  let l, r = if offers then Fork.both_offered w ~wake left right else Fork.in_place left right in
  noted t b (fun () -> t.combine l r)

(* The whole tree, of which leaves [0] to [m] have the value [first]: [m] and [b] lie on the left
   edge of the tree. *)
let rec node_after t first m b ~whole =
  if b = m then first else branch t 0 b ~whole (fun ~whole b -> node_after t first m b ~whole)

let shared t node =
  Pool.with_current
    ~in_place:(fun () -> node ~whole:false)
    (fun w ->
      Range.wake_for_row w (rest t (t.last + 1));
      node ~whole:false)

(* {2 On the caller's own}

   The first leaf, then the others along the left edge of the tree: the finished part doubles each
   time, and the tree is shared from its root on, with the value that is there, once the rest is
   worth it. *)

let rec left_edge b above = if b = 0 then above else left_edge (b / 2) (b :: above)

(* [value] is that of leaves [0] to [m]. *)
let rec along t trial value m = function
  | [] ->
    Adaptive.finish trial;
    value
  | b :: above ->
    if Adaptive.pays trial (iterations t (m + 1)) then shared t (node_after t value m t.last)
    else along t trial (t.combine value (t.plain (m + 1) b)) b above

let run t =
  let n = iterations t (t.last + 1) in
  if Adaptive.is_shared_at_once t.code ~n then shared t (node t 0 t.last)
  else
    let trial = Adaptive.start t.code ~n in
    let first = if t.per_leaf <= Site.sample then t.plain 0 0 else t.leaf 0 in
    along t trial first 0 (left_edge t.last [])

let over ~code ~per_leaf ~last leaf combine =
  let plain a b = tree_of leaf combine a b in
  run { code; per_leaf; last; leaf; plain; combine; failures = Leftmost.create () }

(* {2 Ranges of integers} *)

(* The length of the leaves and the index of the last. Of more than [max_int] iterations, where the
   difference is negative, its upper bits are the index, whatever the grain: no such range is swept
   to its end, but a failure may be anywhere. *)
let cut ?grain start finish =
  let span = finish - start in
  if span < 0 then
    let bits = Sys.int_size - 9 in
    (1 lsl bits, span lsr bits)
  else
    let per_leaf = match grain with Some g -> g | None -> (span / Tuning.leaves) + 1 in
    (per_leaf, span / per_leaf)

let[@inline never] fold_from f combine acc lo hi =
  let acc = ref acc in
  for i = lo to hi do
    acc := combine !acc (f i)
  done;
  !acc

(* [lo + 1] may wrap around, where [hi] is [lo]. *)
let fold_short f combine (lo, hi) =
  let first = f lo in
  if lo < hi then fold_from f combine first (lo + 1) hi else first

(* In blocks: a leaf of a huge range must notice that its result is no longer wanted. *)
let fold_long code f combine wanted (lo, hi) =
  let acc = ref (f lo) in
  let block lo hi =
    if not (wanted ()) then raise Promise.Skipped;
    acc := fold_from f combine !acc lo hi
  in
  if lo < hi then Adaptive.in_blocks code block (lo + 1) hi;
  !acc

(* Leaves of one iteration, of which four take no branch of the tree. *)
let rec short_ones f combine lo hi =
  match hi - lo with
  | 0 -> f lo
  | 1 ->
    let left = f lo in
    combine left (f hi)
  | 2 ->
    let left = f lo in
    let left = combine left (f (lo + 1)) in
    combine left (f hi)
  | 3 ->
    let left = f lo in
    let left = combine left (f (lo + 1)) in
    let right = f (lo + 2) in
    combine left (combine right (f hi))
  | d ->
    let m = lo + (d / 2) in
    let left = short_ones f combine lo m in
    combine left (short_ones f combine (m + 1) hi)

let parallel_reduce ?grain ~start ~finish ~combine ~init f =
  Loop.check_grain "parallel_reduce" grain;
  Fiber.check ();
  if start > finish then init
  else
    let per_leaf, last = cut ?grain start finish and code = Machine.code_of f in
    let failures = Leftmost.create () in
    let bounds i =
      let lo = start + (i * per_leaf) in
      (lo, if Adaptive.span lo finish < per_leaf then finish else lo + per_leaf - 1)
    in
    let leaf i = fold_long code f combine (fun () -> not (Leftmost.stops failures i)) (bounds i) in
    let plain a b =
      if per_leaf = 1 then short_ones f combine (start + a) (start + b)
      else tree_of (fun i -> fold_short f combine (bounds i)) combine a b
    in
    let per_leaf = Int.min per_leaf (max_int / Tuning.leaves) in
    run { code; per_leaf; last; leaf; plain; combine; failures }
