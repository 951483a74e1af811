module Fiber = Muster_core.Fiber
module Place = Muster_core.Place
module Leftmost = Muster_core.Leftmost
module Outcome = Muster_core.Outcome
module Promise = Muster_core.Promise
module Fork = Muster_core.Fork
module Run = Muster_core.Run
module Compat = Muster_core.Compat
module Pools = Muster_domainslib_pool

(* {2 Chunks}

   Their length decides how a reduction is bracketed. *)

let span = Muster_loop.Adaptive.span
let beyond_any_machine = 1 lsl 32

let chunk_of (pool : Pools.t) chunk_size ~start ~finish =
  match chunk_size with
  | Some n when n > 0 -> n
  | _ ->
    let span = span start finish in
    let count = if span = max_int then span else span + 1 in
    if pool.asked = 1 then count
    else Int.max 1 (count / (8 * Int.min pool.asked beyond_any_machine))

(* {2 Halves}

   Parties: the caller of a loop, and the tasks that it hands out, each of which belongs to the
   caller's task. Each one waits for the half that it has handed out, however its own half
   has ended: so no body runs when the loop's call ends. A half that nobody has begun runs in place,
   where nothing is left to do but to wait for it. A task looks at [failures] before it begins, and
   a body's failure is noted there: so no body that is right of a failure begins after it. *)

let both (pool : Pools.t) f g =
  let w : Place.t = Fiber.place () in
  if w.pool == pool.pool && Place.owned w then Fork.both_offered w ~wake:true f g
  else Fork.in_place f g

type 'a t = {
  pool : Pools.t;
  chunk : int;
  leaf : int -> int -> 'a;  (** the value of a chunk *)
  combine : 'a -> 'a -> 'a;
  failures : Outcome.failure Leftmost.t;
  enough : unit -> 'a option;  (** the value of all that has not begun, once a search has found *)
}

(* Everything right of a failure is to stop. *)
let[@inline] noted t hi f a b =
  try f a b
  with exn ->
    let failure = Outcome.caught exn in
    Leftmost.note t.failures hi failure;
    Outcome.raise failure

let rec part t lo hi =
  if Leftmost.stops t.failures lo then raise Promise.Skipped;
  match t.enough () with
  | Some v -> v
  | None when span lo hi < t.chunk -> noted t hi t.leaf lo hi
  | None ->
    let mid = lo + (span lo hi / 2) in
    let l, r = both t.pool (fun () -> part t lo mid) (fun () -> part t (mid + 1) hi) in
    noted t hi t.combine l r

(* {2 The caller} *)

(* A share of [Muster.Team]'s cannot suspend: where a body waits, maybe for one of those that
   follow, it would wait as a whole. So a loop has a fiber of its own there. *)
let in_fiber f (w : Place.t) =
  let p = Promise.(make nowhere f) and records = Muster_core.Machine.backtrace_status () in
  Run.aside w ~records (Fiber.twin w ~handled:true) Run.in_fiber (Promise.any p);
  Fork.wait_done p;
  Fork.result p

let in_pool (pool : Pools.t) f =
  match Muster_core.Caller.place_in pool.pool with
  | Some w when w.own.fiber.handled -> f ()
  | Some w -> in_fiber f w
  | None -> Pools.enter pool f

(* A checkpoint, however little there is to do. *)
let begin_in pool =
  Pools.check pool;
  Fiber.check ()

(* An exception of a chunk comes before a cancellation that was told between them. *)
let never () = None

let over ?(enough = never) pool chunk_size ~start ~finish leaf combine =
  let chunk = chunk_of pool chunk_size ~start ~finish in
  if span start finish < chunk then leaf start finish
  else
    let t = { pool; chunk; leaf; combine; failures = Leftmost.create (); enough } in
    in_pool pool @@ fun () ->
    Pools.count_on_others pool;
    Fiber.raising (fun () -> Leftmost.get t.failures) (fun () -> part t start finish)

let unit () () = ()

let for_each ?chunk_size ~start ~finish ~body pool =
  let in_a_row lo hi =
    for i = lo to hi do
      body i
    done
  in
  over pool chunk_size ~start ~finish in_a_row unit

let parallel_for ?chunk_size ~start ~finish ~body pool =
  begin_in pool;
  if start <= finish then for_each ?chunk_size ~start ~finish ~body pool

(* One call a turn: the value that goes from one to the next is kept on the stack. The index after
   [hi] may not be there. *)
let fold combine body lo hi =
  let v = ref (body lo) in
  if lo < hi then
    for i = lo + 1 to hi do
      v := combine !v (body i)
    done;
  !v

let parallel_for_reduce ?chunk_size ~start ~finish ~body pool combine init =
  begin_in pool;
  if start > finish then init
  else combine init (over pool chunk_size ~start ~finish (fold combine body) combine)

(* Any will do, so that one that is found stops all others, left of a failure, too. *)
let parallel_find ?chunk_size ~start ~finish ~body pool =
  begin_in pool;
  let found = Atomic.make None in
  let rec in_a_row i hi =
    if Option.is_none (Atomic.get found) then
      match body i with None -> if i < hi then in_a_row (i + 1) hi | it -> Atomic.set found it
  in
  let enough () = Option.map ignore (Atomic.get found) in
  if start <= finish then over ~enough pool chunk_size ~start ~finish in_a_row unit;
  Atomic.get found

(* {2 Scans}

   The prefixes of as many parts as there are workers, then the offset of each part from that of the
   one before, then the offset to each element: Domainslib's very operations. *)

(* A value that was written is not read again: from an array of floats that would allocate. *)
let scan op a lo hi =
  let last = ref (Array.unsafe_get a (lo - 1)) in
  for i = lo to hi do
    let v = op !last (Array.unsafe_get a i) in
    Compat.replace a i v;
    last := v
  done

let scan_parts pool op a parts =
  let n = Array.length a in
  let last part = ((part + 1) * n / parts) - 1 in
  let first part = part * n / parts in
  for_each ~chunk_size:1 pool ~start:0 ~finish:(parts - 1) ~body:(fun part ->
      scan op a (first part + 1) (last part));
  for part = 1 to parts - 1 do
    a.(last part) <- op a.(last (part - 1)) a.(last part)
  done;
  for_each ~chunk_size:1 pool ~start:1 ~finish:(parts - 1) ~body:(fun part ->
      let offset = a.(first part - 1) in
      for i = first part to last part - 1 do
        Compat.replace a i (op offset (Array.unsafe_get a i))
      done)

let parallel_scan (pool : Pools.t) op elements =
  begin_in pool;
  let a = Array.copy elements in
  let n = Array.length a in
  let parts = Int.min (n - 1) pool.asked in
  if parts >= 2 then scan_parts pool op a parts else if n > 1 then scan op a 1 (n - 1);
  a
