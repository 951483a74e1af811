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

let[@inline] rest t leaves = Site.estimate (Site.cost t.code) (iterations t leaves)

let shared t node =
  Pool.with_branches (fun w ->
      Range.wake_for_row w (rest t (t.last + 1));
      node ~whole:false)

(* A long leaf looks around itself. *)
let part t a b = if a = b && t.per_leaf > Site.sample then t.leaf a else t.plain a b

let begin_trial t ~seen ~last =
  Adaptive.start ~seen:(iterations t seen) t.code ~n:(iterations t (last + 1))

let rec node t a b ~whole =
  if Leftmost.stops t.failures a then raise Promise.Skipped;
  if a = b || rest t (b - a + 1) <= Tuning.chunk then noted t b (fun () -> measured t a b)
  else branch t a b ~whole (fun ~whole m -> node t a m ~whole)

(* The remembered cost may be true of the leaves before these alone. *)
and measured t a b =
  let trial = begin_trial t ~seen:a ~last:b in
  let v = tried t trial a b in
  ignore (Adaptive.pays trial (iterations t (b + 1)));
  Adaptive.finish trial;
  v

(* The trial is at [a]. *)
and tried t trial a b =
  if a = b || iterations t (b - a) <= Adaptive.next trial then part t a b
  else
    let m = a + ((b - a) / 2) in
    let left = tried t trial a m in
    let pays = Adaptive.pays trial (iterations t (m + 1)) in
    t.combine left (if pays then shared t (node t (m + 1) b) else tried t trial (m + 1) b)

(* [left m] is the value of leaves [a] to [m]. *)
and branch t a b ~whole left =
  let m = a + ((b - a) / 2) in
  Adaptive.checkpoint ();
  let w = Fiber.place () and cost = Site.cost t.code in
  let coarse = Range.is_coarse cost t.per_leaf in
  let whole = whole && coarse in
  let offers = Range.may_offer w ~whole in
  let of_coarse = offers && coarse in
  let left () =
    if offers then Publish.hush w ~few:0;
    left ~whole:of_coarse m
  and right () = node t (m + 1) b ~whole:of_coarse in
  let wake = Range.is_worth_waking (rest t (b - a + 1)) cost ~whole in
  let both = if offers then Fork.both_offered ~code:t.code w ~wake else Fork.in_place in
  let l, r = both left right in
  noted t b (fun () -> t.combine l r)

(* The whole tree, of which leaves [0] to [m] have the value [first]: [m] and [b] lie on the left
   edge of the tree. *)
let rec node_after t first m b ~whole =
  if b = m then first else branch t 0 b ~whole (fun ~whole b -> node_after t first m b ~whole)

(* {2 On the caller's own}

   The first leaf, then the others along the left edge of the tree: the finished part doubles each
   time, and the tree is shared from its root on, with the value that is there, once the rest is
   worth it. The subtrees of that edge end with the leaves [last lsr j]. *)

let rec height last j = if last lsr j = 0 then j else height last (j + 1)

(* [value] is that of leaves [0] to [m], of which the last is [last lsr (j + 1)]. *)
let rec along t trial value m j =
  if j < 0 then begin
    Adaptive.finish trial;
    value
  end
  else if Adaptive.pays trial (iterations t (m + 1)) then shared t (node_after t value m t.last)
  else along_from t trial value m j

and along_from t trial value m j =
  let b = t.last lsr j in
  along t trial (t.combine value (tried t trial (m + 1) b)) b (j - 1)

let run t =
  let n = iterations t (t.last + 1) in
  if Adaptive.is_shared_at_once t.code ~n then shared t (node t 0 t.last)
  else
    let trial = begin_trial t ~seen:0 ~last:t.last in
    along t trial (part t 0 0) 0 (height t.last 0 - 1)

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

(* In chunks, none of which gives the rest away: a leaf of a huge range must notice that its result
   is no longer wanted. *)
let fold_long code f combine wanted (lo, hi) =
  let acc = ref (f lo) in
  let rec from lo =
    let go k m =
      if not (wanted ()) then raise Promise.Skipped;
      acc := fold_from f combine !acc (lo + k) (lo + k + m - 1);
      true
    in
    let n = Adaptive.length lo hi in
    let finished = Adaptive.alone ~min_rest:(1 lsl 40) code ~n go in
    if finished < n then from (lo + finished)
  in
  if lo < hi then from (lo + 1);
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

(* [code] is that of the user's function. *)
let job_of (code, start, finish) ~per_leaf ~last combine f =
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
  { code; per_leaf; last; leaf; plain; combine; failures }

(* Below a loop that was handed out (Adaptive): [along], which looks at a word alone. *)
let rec quietly ((code, start) as site) last combine f value j =
  let m = last lsr (j + 1) in
  if j < 0 then value
  else if Place.is_quiet () then
    let right = short_ones f combine (start + m + 1) (start + (last lsr j)) in
    quietly site last combine f (combine value right) (j - 1)
  else
    let t = job_of (code, start, start + last) ~per_leaf:1 ~last combine f in
    along_from t (begin_trial t ~seen:(m + 1) ~last) value m j

let indices ?grain code start finish combine f =
  let per_leaf, last = cut ?grain start finish in
  let is_few = per_leaf = 1 && last < Tuning.max_unmeasured in
  if is_few && Adaptive.begins_quietly code then
    quietly (code, start) last combine f (f start) (height last 0 - 1)
  else run (job_of (code, start, finish) ~per_leaf ~last combine f)

let parallel_reduce ?grain ~start ~finish ~combine ~init f =
  Loop.check_grain "parallel_reduce" grain;
  Fiber.check ();
  if start > finish then init else indices ?grain (Machine.code_of f) start finish combine f
