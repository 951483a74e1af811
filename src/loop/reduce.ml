(* Reductions and scans: only associativity is needed, and the result is the same to the last
   bit whatever the number of workers, because the tree of combinations depends on the range
   and the grain alone. Scheduling decides where a subtree is computed, not its shape. *)

open Muster_core

let leaves = 512

type 'a tree = {
  leaf : int -> 'a;
  plain : int -> int -> 'a;  (** the value of leaves that are short, without a look around *)
  combine : 'a -> 'a -> 'a;
  failures : Outcome.failure Leftmost.t;
  code : int;
  per_leaf : int;  (** iterations, as far as all of them can be counted *)
}

(* Leaves [a] to [b], one after the other. *)
let rec tree_of leaf combine a b =
  if a = b then leaf a
  else
    let m = a + ((b - a) / 2) in
    let left = tree_of leaf combine a m in
    combine left (tree_of leaf combine (m + 1) b)

let plain t a b = tree_of t.leaf t.combine a b

(* The subtree with its failure noted, so that everything right of it can stop. *)
let noted t b f = Outcome.on_failure f (Leftmost.note t.failures b)

let learn t ~since leaves =
  let ticks = Machine.ticks () - since in
  ignore (Site.learn t.code ~ticks ~iterations:(leaves * t.per_leaf))

let[@inline] rest t leaves = Site.estimate (Site.cost t.code) (leaves * t.per_leaf)

(* Looks around take as long as short iterations, which would be remembered as longer than they are. *)
let quick t a b = if rest t (b - a + 1) <= Loop.quantum then t.plain a b else plain t a b

(* [whole]: as in Loop. *)
let rec node t a b ~whole =
  if Leftmost.stops t.failures a then raise Promise.Skipped;
  let rest = rest t (b - a + 1) in
  if a = b || rest <= Loop.quantum then measured t a b else branch t a b ~rest ~whole node

(* What is remembered may be true of the leaves before these alone: eight looks in what should last a quantum. *)
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
    let is_late = Machine.ticks () - since >= 2 * Loop.quantum in
    if is_late then learn t ~since (m - from + 1);
    t.combine left
      (if is_late then node t (m + 1) b ~whole:false else watched t (m + 1) b ~from ~since ~levels)

(* [left t a m] is what it says, of leaves [a] to [m]. *)
and branch t a b ~rest ~whole left =
  let m = a + ((b - a) / 2) in
  Loop.look_up_between_chunks ();
  let w = Context.place () and cost = Site.cost t.code in
  let coarse = Loop.is_coarse cost t.per_leaf in
  let whole = whole && coarse in
  let offers = Loop.may_offer w ~whole in
  let wake = Loop.is_worth_waking rest cost ~whole in
  let of_coarse = offers && coarse in
  let left () = left t a m ~whole:of_coarse and right () = node t (m + 1) b ~whole:of_coarse in
  let l, r = if offers then Fork.both_offered w ~wake left right else Fork.in_place left right in
  noted t b (fun () -> t.combine l r)

(* In blocks: a leaf of a huge range must notice that its result is no longer wanted. [lo + 1]
   may wrap around, where [hi] is [lo]. *)
let fold f combine ~wanted lo hi =
  let rec from acc lo =
    if not (wanted ()) then raise Promise.Skipped;
    Loop.look_up_between_chunks ();
    let last = if Loop.span lo hi < Loop.block then hi else lo + Loop.block - 1 in
    let acc = ref acc in
    for i = lo to last do
      acc := combine !acc (f i)
    done;
    if last < hi then from !acc (last + 1) else !acc
  in
  let first = f lo in
  if lo < hi then from first (lo + 1) else first

(* What [fold] computes of short leaves, and a tree of them: no more than the calls and a few turns. *)
let[@inline] fold_short f combine lo hi =
  let acc = ref (f lo) in
  if lo < hi then
    for i = lo + 1 to hi do
      acc := combine !acc (f i)
    done;
  !acc

(* Leaves of one iteration, of which four take no branch of the tree. *)
let rec short_ones f combine lo hi =
  match hi - lo with
  | 0 -> f lo
  | 1 ->
    let left = f lo in
    combine left (f (lo + 1))
  | 2 ->
    let left = f lo in
    let left = combine left (f (lo + 1)) in
    combine left (f (lo + 2))
  | 3 ->
    let left = f lo in
    let left = combine left (f (lo + 1)) in
    let right = f (lo + 2) in
    combine left (combine right (f (lo + 3)))
  | d ->
    let m = lo + (d / 2) in
    let left = short_ones f combine lo m in
    combine left (short_ones f combine (m + 1) hi)

let short_many f combine finish per_leaf =
  let[@inline] leaf lo =
    fold_short f combine lo (if Loop.span lo finish < per_leaf then finish else lo + per_leaf - 1)
  in
  let rec branch lo further =
    if further = 0 then leaf lo
    else if further = 1 then
      let left = leaf lo in
      combine left (leaf (lo + per_leaf))
    else
      let half = further / 2 in
      let left = branch lo half in
      combine left (branch (lo + ((half + 1) * per_leaf)) (further - half - 1))
  in
  branch

let short_tree f combine start finish per_leaf a b =
  if per_leaf = 1 then short_ones f combine (start + a) (start + b)
  else short_many f combine finish per_leaf (start + (a * per_leaf)) (b - a)

(* The length of the leaves and the index of the last. Of more than [max_int] iterations, where the
   difference is negative, its upper bits are the index, whatever the grain: no such range is swept
   to its end, but a failure may be anywhere. *)
let cut ?grain start finish =
  let span = finish - start in
  if span < 0 then
    let bits = Sys.int_size - 9 in
    (1 lsl bits, span lsr bits)
  else
    let per_leaf = match grain with Some g -> g | None -> (span / leaves) + 1 in
    (per_leaf, span / per_leaf)

let tree ~per_leaf ~start ~finish ~combine f =
  let failures = Leftmost.create () in
  let leaf i =
    let lo = start + (i * per_leaf) in
    let hi = if Loop.span lo finish < per_leaf then finish else lo + per_leaf - 1 in
    fold f combine lo hi ~wanted:(fun () -> not (Leftmost.stops failures i))
  in
  {
    leaf;
    plain = short_tree f combine start finish per_leaf;
    combine;
    failures;
    code = Machine.code_of f;
    per_leaf = Int.min per_leaf (max_int / leaves);
  }

let shared t b ~in_place node =
  Pool.with_current
    ~in_place:(fun () -> in_place t 0 b)
    (fun w ->
      Loop.wake_for_row w (rest t (b + 1));
      node t 0 b ~whole:false)

(* {2 After the first leaf}

   What is remembered as short is tried on the first leaf, of which there may be few. If that is long, the tree is
   shared from its root on, with the value that is there. *)

let rec plain_after first t a b =
  if a = b then first
  else
    let m = a + ((b - a) / 2) in
    let left = plain_after first t a m in
    t.combine left (plain t (m + 1) b)

(* The same for leaves that may still turn out to be long: each half after the first is as long as all before it. *)
let rec short_after first t ~since ~moved b =
  if b = 0 then first
  else
    let m = b / 2 in
    let left = short_after first t ~since ~moved m in
    let ticks = Machine.ticks () - since in
    if ticks >= Loop.worth_moving then begin
      moved := true;
      ignore (Site.learn t.code ~ticks ~iterations:((m + 1) * t.per_leaf));
      let rest = Pool.with_current ~in_place:(fun () -> plain t (m + 1) b) in
      t.combine left (rest (fun _ -> node t (m + 1) b ~whole:false))
    end
    else t.combine left (t.plain (m + 1) b)

let rec node_after first t a b ~whole =
  let rest = rest t (b - a) in
  if a = b || rest <= Loop.quantum then noted t b (fun () -> plain_after first t a b)
  else branch t a b ~rest ~whole (node_after first)

let run_short t last cost iterations =
  let since = Machine.ticks () in
  let first = t.leaf 0 in
  let ticks = Machine.ticks () - since in
  if Loop.is_long ticks last then begin
    ignore (Site.learn t.code ~ticks ~iterations:t.per_leaf);
    shared t last ~in_place:(plain_after first) (node_after first)
  end
  else begin
    let moved = ref false in
    let v = short_after first t ~since ~moved last in
    if not !moved then Site.confirm t.code cost ~ticks:(Machine.ticks () - since) ~iterations;
    v
  end

let run t last =
  let cost = Site.cost t.code and iterations = (last + 1) * t.per_leaf in
  if Site.estimate cost iterations < Loop.worth then run_short t last cost iterations
  else shared t last ~in_place:plain node

let parallel_reduce ?grain ~start ~finish ~combine ~init f =
  Loop.check_grain "parallel_reduce" grain;
  Context.check_if_any ();
  if start > finish then init
  else
    let per_leaf, last = cut ?grain start finish in
    if Loop.is_tiny (Site.cost (Machine.code_of f)) (Loop.span start finish + 1) then
      short_tree f combine start finish per_leaf 0 last
    else run (tree ~per_leaf ~start ~finish ~combine f) last

(* For collections: leaves 0 to [last] that are a tight loop each, about [per_leaf] iterations
   of the user's function, whose code is [code]. *)
let over ~code ~per_leaf ~last leaf combine =
  let plain = tree_of leaf combine in
  run { leaf; plain; combine; failures = Leftmost.create (); code; per_leaf } last

(* {2 Scans}

   Each block but the last is reduced, which gives each its carry, and then scanned: two calls of
   the operation for each element, so short arrays are one block.

   To scan a block from its carry is what the sequential program does there. To reduce it is not,
   nor to combine the totals: their arguments are others, and they come out of turn. So where one
   of these raises, all up to that block is scanned, which should raise what the sequential program
   does. If it does not, as with an operation that raises in one bracketing alone, or an exception
   that came from elsewhere (Ctrl-C), the first exception goes on: none may be lost. It may be that of a
   cancellation, which is told again: the operation, called once more, would wait as code that cleans
   up does. *)

let one_block = 1024
let blocks = 64
let each_block ~code ~size last f = over ~code ~per_leaf:size ~last f (fun () () -> ())

(* The length of the blocks, all but the last. *)
let scan_size n = if n <= one_block then n else ((n - 1) / blocks) + 1

(* The total of a block, and of all before it. *)
let carry op totals b =
  match (totals.(b - 1), totals.(b)) with
  | Some before, Some total -> totals.(b) <- Some (op before total)
  | _ -> assert false

let scan_blocks ~code n ~make ~total ~scan op =
  let size = scan_size n in
  let last = (n - 1) / size in
  let of_block f b = f (b * size) (Int.min n ((b + 1) * size) - 1) in
  let totals = Array.make last None and failures = Leftmost.create () in
  let keep f b = if not (Leftmost.stops failures b) then Loop.keep_failure failures f b b in
  let reduce_block b = totals.(b) <- Some (of_block total b) in
  let reduce () = each_block ~code ~size (last - 1) (keep reduce_block) in
  let last_known () = Option.value (Leftmost.index failures) ~default:last in
  let scan_block result b = of_block (scan result (if b = 0 then None else totals.(b - 1))) b in
  let put_back = Context.to_tell_again () in
  let tell_again () = if Option.is_some (Leftmost.index failures) then put_back () in
  Context.raising (fun () -> Leftmost.get failures) @@ fun () ->
  let result = make () in
  reduce ();
  tell_again ();
  for b = 1 to last_known () - 1 do
    keep (carry op totals) b
  done;
  tell_again ();
  each_block ~code ~size (last_known ()) (scan_block result);
  result

(* In one block an operation that is not known to be short is a checkpoint: else a cancelled task would go on to its
   end. *)
let checked_if_long cost op =
  if cost <> Site.unknown && Site.estimate cost Site.sample < Loop.quantum then op
  else fun x y ->
    Context.check_if_any ();
    op x y

let scan_alone ~code n f op =
  let cost = Site.cost code in
  let op = checked_if_long cost op and tiny = Site.estimate cost n < Loop.tiny in
  if n = 1 then f op else Site.timed code cost ~iterations:(n - 1) ~tiny (fun () -> f op)

(* Of [n] elements, at least 1: [total lo hi] reduces these, [scan op result carry lo hi] puts
   their prefixes into the result, which [make ()] makes. *)
let scan_in_blocks ~code n ~make ~total ~scan op =
  Context.check_if_any ();
  if n > one_block then scan_blocks ~code n ~make ~total ~scan:(scan op) op
  else begin
    let result = make () in
    scan_alone ~code n (fun op -> scan op result None 0 (n - 1)) op;
    result
  end

(* One call a turn: what goes from one to the next is kept on the stack, and with four places for it a turn takes 1.2 to 1.6 times as
   long on an Intel Xeon (Golden Cove), whatever it is that is folded. *)
let[@inline never] fold_from op acc a lo hi =
  let acc = ref acc in
  for i = lo to hi do
    acc := op !acc (Array.unsafe_get a i)
  done;
  !acc

(* The same of elements [lo] to [hi] alone. *)
let fold_range op a lo hi = fold_from op (Array.unsafe_get a lo) a (lo + 1) hi

(* What was written is not read again: from an array of floats that would allocate. *)
let[@inline never] scan_chunk op a r carry lo hi =
  let first = Array.unsafe_get a lo in
  let acc = ref (match carry with None -> first | Some carry -> op carry first) in
  Compat.set_fresh r lo !acc;
  for i = lo + 1 to hi do
    acc := op !acc (Array.unsafe_get a i);
    Compat.set_fresh r i !acc
  done

let parallel_scan op a =
  let n = Array.length a in
  if n < 2 then begin
    Context.check_if_any ();
    Array.copy a
  end
  else
    let make () = Pages.make n (Array.unsafe_get a 0) in
    let total lo hi = fold_range op a lo hi in
    let scan op r carry lo hi = scan_chunk op a r carry lo hi in
    scan_in_blocks ~code:(Machine.code_of op) n ~make ~total ~scan op
