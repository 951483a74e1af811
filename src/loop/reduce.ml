(* Reductions and scans: only associativity is needed, and the result is the same to the last
   bit whatever the number of workers, because the tree of combinations depends on the range
   and the grain alone. Scheduling decides where a subtree is computed, not its shape. *)

open Muster_core

let leaves = 512

type 'a tree = {
  leaf : int -> 'a;
  combine : 'a -> 'a -> 'a;
  failures : Outcome.failure Leftmost.t;
  code : int;
  per_leaf : int;  (** iterations *)
}

let rec plain t a b =
  if a = b then t.leaf a
  else
    let m = a + ((b - a) / 2) in
    let left = plain t a m in
    t.combine left (plain t (m + 1) b)

(* The subtree with its failure noted, so that everything right of it can stop. *)
let noted t b f = Outcome.on_failure f (Leftmost.note t.failures b)

let measured t a b =
  noted t b (fun () ->
      let since = Machine.ticks () in
      let v = plain t a b in
      let ticks = Machine.ticks () - since in
      ignore (Site.learn t.code ~ticks ~iterations:((b - a + 1) * t.per_leaf));
      v)

let rec node t a b =
  if Leftmost.stops t.failures a then raise Promise.Skipped;
  let rest = Site.estimate (Site.cost t.code) ((b - a + 1) * t.per_leaf) in
  if a = b || rest <= Loop.quantum then measured t a b
  else
    let m = a + ((b - a) / 2) in
    Loop.look_up_between_chunks ();
    let w = Context.place () in
    let left () = node t a m and right () = node t (m + 1) b in
    let l, r =
      if Place.owned w && Deque.size w.deque = 0 && not (Place.alone w) then
        Fork.both_offered w ~wake:(rest >= Loop.worth_waking) left right
      else Fork.in_place left right
    in
    noted t b (fun () -> t.combine l r)

(* In blocks: a leaf of a huge range must notice that its result is no longer wanted. [lo + 1]
   may wrap around, where [hi] is [lo]. *)
let fold f combine ~wanted lo hi =
  let rec from acc lo =
    if not (wanted ()) then raise Promise.Skipped;
    Loop.look_up_between_chunks ();
    let last = if Loop.span lo hi < Loop.block then hi else lo + Loop.block - 1 in
    let acc = ref acc in
    for i = lo to last do acc := combine !acc (f i) done;
    if last < hi then from !acc (last + 1) else !acc
  in
  let first = f lo in
  if lo < hi then from first (lo + 1) else first

let tree ?grain ~start ~finish ~combine f =
  let span = Loop.span start finish in
  let per_leaf = match grain with Some g -> g | None -> (span / leaves) + 1 in
  let failures = Leftmost.create () in
  let leaf i =
    let lo = start + (i * per_leaf) in
    let hi = if Loop.span lo finish < per_leaf then finish else lo + per_leaf - 1 in
    fold f combine lo hi ~wanted:(fun () -> not (Leftmost.stops failures i))
  in
  let t =
    { leaf; combine; failures; code = Machine.code_of f; per_leaf }
  in
  (t, span / per_leaf)

let run_short t last cost iterations =
  let since = Machine.ticks () in
  let v = plain t 0 last in
  Site.confirm t.code cost ~ticks:(Machine.ticks () - since) ~iterations;
  v

let run t last =
  let cost = Site.cost t.code and iterations = (last + 1) * t.per_leaf in
  if Site.estimate cost iterations < Loop.worth then run_short t last cost iterations
  else
    Pool.with_current
      ~in_place:(fun () -> plain t 0 last)
      (fun _ -> node t 0 last)

let parallel_reduce ?grain ~start ~finish ~combine ~init f =
  Loop.check_grain "parallel_reduce" grain;
  if start > finish then init
  else
    let t, last = tree ?grain ~start ~finish ~combine f in
    run t last

(* For collections: leaves 0 to [last] that are a tight loop each, about [per_leaf] iterations
   of the user's function, whose code is [code]. *)
let over ~code ~per_leaf ~last leaf combine =
  let t = { leaf; combine; failures = Leftmost.create (); code; per_leaf } in
  run t last

(* {2 Scan} *)

(* Each element outside the first block takes two operations instead of one, so short arrays
   are one block. *)
let blocks = 64
let one_block = 1024

let scan_block op a lo hi = for i = lo + 1 to hi do a.(i) <- op a.(i - 1) a.(i) done

let parallel_scan op input =
  let a = Array.copy input in
  let n = Array.length a in
  let size = if n <= one_block then max 1 n else (n + blocks - 1) / blocks in
  let first b = b * size and last b = min n ((b + 1) * size) - 1 in
  let count = (n + size - 1) / size in
  let for_blocks start f = Loop.parallel_for ~start ~finish:(count - 1) f in
  for_blocks 0 (fun b -> scan_block op a (first b) (last b));
  if count > 1 then begin
    let totals = Array.init (count - 1) (fun b -> a.(last b)) in
    scan_block op totals 0 (count - 2);
    for_blocks 1 (fun b ->
        for i = first b to last b do a.(i) <- op totals.(b - 1) a.(i) done)
  end;
  a
