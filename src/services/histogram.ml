(* Eight buckets for each doubling of the time, as HdrHistogram has with three bits. A count may be
   missed by a reader that comes meanwhile, and by nobody later. *)

let bits = 3
let per_doubling = 1 lsl bits

(* 2^42 ns are more than an hour. *)
let buckets = (42 - bits + 1) * per_doubling

type t = { counts : int Atomic.t array; total : int Atomic.t }

let make () = { counts = Array.init buckets (fun _ -> Atomic.make 0); total = Atomic.make 0 }

let rec magnitude n = if n < 2 * per_doubling then 0 else 1 + magnitude (n lsr 1)

let bucket ns =
  let m = magnitude ns in
  Int.min (buckets - 1) ((m * per_doubling) + (ns lsr m))

(* The first time, in ns, that is beyond the bucket. *)
let limit i =
  let m = Int.max 0 ((i / per_doubling) - 1) in
  (i - (m * per_doubling) + 1) lsl m

let note t ns =
  let ns = Int.max 0 ns in
  Atomic.incr t.counts.(bucket ns);
  ignore (Atomic.fetch_and_add t.total ns)

let seconds ns = 1e-9 *. float_of_int ns

let times (t : t) : Job_stats.times =
  let counts = Array.map Atomic.get t.counts in
  { counts; count = Array.fold_left ( + ) 0 counts; seconds = seconds (Atomic.get t.total) }

let quantile q (times : Job_stats.times) =
  if not (q >= 0. && q <= 1.) then
    invalid_arg (Printf.sprintf "Muster.Workers.quantile: %g is not between 0 and 1" q);
  let rank = Int.max 1 (Float.to_int (Float.ceil (q *. float_of_int times.count))) in
  let rec find i below =
    let below = below + times.counts.(i) in
    if below >= rank || i = buckets - 1 then seconds (limit i) else find (i + 1) below
  in
  if times.count = 0 then 0. else find 0 0

(* Counts of the times below each power of two. *)
let doublings (times : Job_stats.times) =
  let add (below, found) i =
    let below = below + times.counts.(i) in
    let is_last = (i + 1) mod per_doubling = 0 in
    (below, if is_last then (seconds (limit i), below) :: found else found)
  in
  List.rev (snd (List.fold_left add (0, []) (List.init buckets Fun.id)))
