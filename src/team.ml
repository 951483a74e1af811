(* Fork Union's calls: the whole pool at once, each worker knowing its index. *)

open Muster_core

let check_count fn n =
  if n < 0 then invalid_arg (Printf.sprintf "Muster.Team.%s: n = %d is negative" fn n)

(* Where all places of the pool are taken, the caller does every share itself. *)
let shares pool n share =
  let workers = min n (Pool.size pool) in
  let in_place () = for worker = 0 to workers - 1 do share worker done in
  Visit.with_worker "Team" pool ~in_place (fun w -> Region.run w ~revoke:true ~workers share)

(* A broadcast needs a place of its own, and waits for one. *)
let rec broadcast pool f =
  let later () =
    ignore (Machine.Sleeper.(sleep (create ()) 1));
    broadcast pool f
  in
  Visit.with_worker "Team.broadcast" pool ~in_place:later (fun w ->
      Region.run w ~revoke:false ~workers:max_int f)

(* The first [n mod size] workers get one more. *)
let slice n size worker =
  let each = n / size and more = n mod size in
  let start = (worker * each) + min worker more in
  (start, if worker < more then each + 1 else each)

let for_slices pool n f =
  check_count "for_slices" n;
  let size = Pool.size pool in
  if n > 0 then
    shares pool n (fun worker ->
        let start, count = slice n size worker in
        f ~worker ~start ~count)

let for_n pool n f =
  check_count "for_n" n;
  let size = Pool.size pool in
  if n > 0 then
    shares pool n (fun worker ->
        let start, count = slice n size worker in
        for i = start to start + count - 1 do f ~worker i done)

(* Each worker begins with its slice and takes half of what remains of it, again and again; when
   it is done it takes half of what remains of another's. A counter that all share costs 75-120
   ns a visit; a worker's own word, on a line of its own, 10. The word is the whole state of a
   slice, so a compare-and-set on it needs no more proof. *)
module Slices = struct
  (* [start] above, [count] below, in units of [unit] indices. *)
  let bits = 31
  let mask = (1 lsl bits) - 1
  let pack start count = (start lsl bits) lor count

  type t = { words : int Atomic.t array; unit : int; units : int; n : int }

  (* Fewer units than [mask], whatever [n]. *)
  let create n size =
    let unit = (n lsr (bits - 1)) + 1 in
    let units = ((n - 1) / unit) + 1 in
    let word worker =
      let start, count = slice units size worker in
      Compat.padded (Atomic.make (pack start count))
    in
    { words = Array.init size word; unit; units; n }

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

  (* One whose other half was just stolen goes on with what it got: own word first. *)
  let rec next t worker =
    let own = t.words.(worker) in
    let (_, count) as taken = take_half own ~first:true in
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
        next t worker
      end

  let bounds t (start, count) =
    let last = if start + count = t.units then t.n - 1 else ((start + count) * t.unit) - 1 in
    (start * t.unit, last)
end

let run_chunk failures f ~worker lo hi =
  let i = ref lo in
  try
    for j = lo to hi do
      i := j;
      f ~worker j
    done
  with exn -> Leftmost.note failures !i (Outcome.caught exn)

let for_n_dynamic pool n f =
  check_count "for_n_dynamic" n;
  if n > 0 then begin
    let slices = Slices.create n (Pool.size pool) in
    let failures = Leftmost.create () in
    let rec share worker =
      let (_, count) as taken = Slices.next slices worker in
      if count > 0 then begin
        let lo, hi = Slices.bounds slices taken in
        if not (Leftmost.stops failures lo) then run_chunk failures f ~worker lo hi;
        share worker
      end
    in
    shares pool n share;
    Leftmost.reraise failures
  end
