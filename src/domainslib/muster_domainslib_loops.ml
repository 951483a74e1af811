module Pools = Muster_domainslib_pool

(* {2 Ranges} *)

let span = Adaptive.span

type range = { pool : Pools.t; start : int; finish : int; chunk : int }

let beyond_any_machine = 1 lsl 32

(* An eighth of each worker's part: a reduction is bracketed by that. *)
let default_chunk (pool : Pools.t) ~start ~finish =
  let count = Adaptive.length start finish in
  if pool.asked = 1 then count
  else Int.max 1 (count / (8 * Int.min pool.asked beyond_any_machine))

(* A loop is a checkpoint, however little there is to do. *)
let begin_in pool =
  Pools.check pool;
  Fiber.check ()

let range ?(chunk_size = 0) ~start ~finish pool =
  begin_in pool;
  let chunk = if chunk_size > 0 then chunk_size else default_chunk pool ~start ~finish in
  { pool; start; finish; chunk }

(* {2 Halves}

   Parties: the caller of a loop, and the tasks that it hands out, each of which belongs to the
   caller's task. Each one waits for the half that it has handed out, however its own half has
   ended: so no body runs when the loop's call ends. A half that nobody has begun runs in place,
   where nothing is left to do but to wait for it. A task looks at [failures] before it begins, and
   a body's failure is noted there: so no body that is right of a failure begins after it. *)

let both (pool : Pools.t) ~code f g =
  let w = Fiber.place () in
  if w.pool == pool.pool && Place.owned w then Fork.both_offered ~code w ~wake:true f g
  else Fork.in_place f g

type 'a t = {
  range : range;
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
    Leftmost.note t.failures (Outcome.index_of failure hi) failure;
    Outcome.raise failure

let rec part t lo hi =
  if Leftmost.stops t.failures lo then raise Promise.Skipped;
  match t.enough () with
  | Some v -> v
  | None when span lo hi < t.range.chunk -> noted t hi t.leaf lo hi
  | None ->
    let mid = lo + (span lo hi / 2) in
    let code = Machine.code_of t.leaf in
    let l, r = both t.range.pool ~code (fun () -> part t lo mid) (fun () -> part t (mid + 1) hi) in
    noted t hi t.combine l r

(* {2 The caller} *)

(* A share of [Muster.Team]'s cannot suspend: where a body waits, maybe for one of those that
   follow, it would wait as a whole. So a loop has a fiber of its own there. *)
let in_fiber f (w : Place.t) =
  let p = Promise.(make nowhere f) and records = Machine.backtrace_status () in
  let fiber = Fiber.within w ~number:(Fiber.number ()) ~part_of:(Some w) in
  Run.aside w ~records fiber Run.in_fiber (Promise.any p);
  Fork.wait_done p;
  Fork.result p

let in_pool (pool : Pools.t) f =
  match Caller.place_in pool.pool with
  | Some w when w.own.fiber.handled -> f ()
  | Some w -> in_fiber f w
  | None -> Pools.enter pool f

(* An exception of a chunk comes before a cancellation that was told between them. *)
let over ?(enough = fun () -> None) range leaf combine =
  let { pool; start; finish; chunk } = range in
  if span start finish < chunk then leaf start finish
  else
    let t = { range; leaf; combine; failures = Leftmost.create (); enough } in
    in_pool pool @@ fun () ->
    Pools.count_on_others pool;
    Fiber.in_call (Place.current ()) @@ fun _ ->
    Fiber.raising (fun () -> Leftmost.get t.failures) (fun () -> part t start finish)

let for_each range body =
  let in_a_row lo hi =
    for i = lo to hi do
      body i
    done
  in
  if range.start <= range.finish then over range in_a_row (fun () () -> ())

let parallel_for ?chunk_size ~start ~finish ~body pool =
  for_each (range ?chunk_size ~start ~finish pool) body

(* One call a turn: the value that goes from one to the next is kept on the stack. The index after
   [hi] may not be there. *)
let fold combine body lo hi =
  let v = ref (body lo) in
  if lo < hi then
    for i = lo + 1 to hi do
      v := combine !v (body i)
    done;
  !v

let reduce range body combine init =
  if range.start > range.finish then init
  else combine init (over range (fold combine body) combine)

let parallel_for_reduce ?chunk_size ~start ~finish ~body pool =
  reduce (range ?chunk_size ~start ~finish pool) body

(* Any will do, so that one that is found stops all others, left of a failure, too. *)
let parallel_find ?chunk_size ~start ~finish ~body pool =
  let range = range ?chunk_size ~start ~finish pool and found = Atomic.make None in
  let rec in_a_row i hi =
    if Option.is_none (Atomic.get found) then
      match body i with None -> if i < hi then in_a_row (i + 1) hi | it -> Atomic.set found it
  in
  let enough () = Option.map ignore (Atomic.get found) in
  if start <= finish then over ~enough range in_a_row (fun () () -> ());
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
  let first part = part * Array.length a / parts in
  let last part = first (part + 1) - 1 in
  let for_parts ~from body = for_each { pool; start = from; finish = parts - 1; chunk = 1 } body in
  for_parts ~from:0 (fun part -> scan op a (first part + 1) (last part));
  for part = 1 to parts - 1 do
    a.(last part) <- op a.(last (part - 1)) a.(last part)
  done;
  for_parts ~from:1 (fun part ->
      let offset = a.(first part - 1) in
      for i = first part to last part - 1 do
        Compat.replace a i (op offset (Array.unsafe_get a i))
      done)

let parallel_scan (pool : Pools.t) op elements =
  begin_in pool;
  let a = Array.copy elements and last = Array.length elements - 1 in
  let parts = Int.min last pool.asked in
  if parts >= 2 then scan_parts pool op a parts else if last > 0 then scan op a 1 last;
  a
