let[@inline] slice n size worker =
  let each = n / size in
  let more = n - (each * size) in
  let start = (worker * each) + Int.min worker more in
  (start, if worker < more then each + 1 else each)

(* {2 Slices that are shared out}

   Each worker begins with its slice and takes half of the rest of it, again and again; when
   it is done it takes half of the rest of another's. A counter that all share costs 75-120
   ns an access; a worker's own word, on a line of its own, 10. The word is the whole state of a
   slice, so a compare-and-set on it needs no more proof. *)

(* [start] above, [count] below, in units of [unit] indices. *)
let bits = 31
let mask = (1 lsl bits) - 1
let pack start count = (start lsl bits) lor count

type t = { words : int Atomic.t array; unit : int; units : int; from : int; n : int }

(* In fewer units than [mask]. *)
let create ~from ~n ~size ~unit =
  let unit = Int.max unit (((n - from) lsr (bits - 1)) + 1) in
  let units = ((n - from - 1) / unit) + 1 in
  let word worker =
    let start, count = slice units size worker in
    Compat.padded (Atomic.make (pack start count))
  in
  { words = Array.init size word; unit; units; from; n }

(* The first half for its worker, the last for a thief. *)
let rec take_half word ~first =
  let seen = Atomic.get word in
  let start = seen lsr bits and count = seen land mask in
  let half = (count + 1) / 2 in
  let left = if first then pack (start + half) (count - half) else pack start (count - half) in
  if count = 0 then (0, 0)
  else if Atomic.compare_and_set word seen left then
    ((if first then start else start + count - half), half)
  else take_half word ~first

(* One whose other half was just stolen goes on with the half that it got: own word first. *)
let rec take_units t worker =
  let own = t.words.(worker) in
  let ((_, count) as taken) = take_half own ~first:true in
  if count > 0 then taken else steal t worker 1

and steal t worker distance =
  let size = Array.length t.words in
  if distance = size then (0, 0)
  else
    let victim = (worker + distance) mod size in
    let start, count = take_half t.words.(victim) ~first:false in
    if count = 0 then steal t worker (distance + 1)
    else begin
      Atomic.set t.words.(worker) (pack start count);
      take_units t worker
    end

let take t worker =
  let start, count = take_units t worker in
  let lo = t.from + (start * t.unit) in
  (lo, if start + count = t.units then t.n - lo else count * t.unit)
