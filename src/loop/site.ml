(* What an iteration of each loop body cost when it was last measured: a direct-mapped table
   from the address of the closure's code to ticks, in fixed point. An entry is one word, key
   above and cost below, so it is read and written whole. Entries are hints: two bodies may
   share one, and writers overwrite each other. *)

open Muster_core

let unknown = -1

(* The unit is ticks per [sample] iterations. *)
let shift = 4
let sample = 1 lsl shift
let bits = 32
let limit = (1 lsl bits) - 1
let cells = 2048
let table = Array.init cells (fun _ -> Atomic.make 0)
let[@inline] cell code = Compat.atomic_at table (code lxor (code lsr 11) land (cells - 1))
let[@inline] key code = code lsl bits

let cost code =
  let word = Atomic.get (cell code) in
  if word <> 0 && word land lnot limit = key code then word land limit else unknown

(* What [n] iterations cost, in ticks. A negative [n] has overflowed: the range is huge. *)
let estimate cost n =
  if cost = unknown || n < 0 || n > 1 lsl 30 then max_int else (cost * n) lsr shift

(* Reading the clock takes a little time itself. *)
let clock =
  let since = Machine.ticks () in
  for _ = 1 to 100 do
    ignore (Machine.ticks ())
  done;
  (Machine.ticks () - since) / 100

(* Within a factor of 2, or of a clock reading. *)
let is_close cost ~ticks ~iterations =
  let remembered = cost * iterations and now = (ticks - clock) lsl shift in
  now <= 2 * remembered && remembered <= (2 * now) + (clock lsl shift)

(* At least 1, as the word of cost 0 might be the empty one. *)
let cost_of ~ticks ~iterations =
  let ticks = Int.max 0 (ticks - clock) in
  Int.max 1 (Int.min limit ((ticks lsl shift) / iterations))

let remember code cost = Atomic.set (cell code) (key code lor cost)

(* Written only where it changes much, since the table is shared. *)
let learn code ~ticks ~iterations =
  let now = cost_of ~ticks ~iterations in
  let before = cost code in
  if before = unknown || now > 2 * before || 2 * now < before then remember code now;
  now

(* {2 So short that the clock is felt}

   Two readings of the clock take as long as ten cheap iterations. So what is remembered as very short reads it once, as it
   begins. If the last one on this domain began less than a [moment] ago, that one is over and was short, and this one
   is trusted to be so, too. Otherwise it is measured, and tried: either the last one was longer than was remembered, or
   there was other work between them, beside which two more readings are not felt. *)

let moment = Machine.ticks_of_us 6

type last = { mutable began : int; mutable turn : int; mutable few : int }

let last = Compat.slot (fun () -> Compat.padded { began = 0; turn = 0; few = 0 })

(* For what begins now. Threads of one domain may take each other's beginning for their own, which does no harm. *)
let is_trusted () =
  let last = Compat.get last and now = Machine.ticks () in
  let since = now - last.began in
  last.began <- now;
  since < moment

(* Of a few iterations, where a third reading of the clock, at the end, is felt as well: every eighth time tells enough. *)
let is_turn_of_few () =
  let last = Compat.get last in
  last.few <- last.few + 1;
  last.few land 7 = 0

(* {2 Just too long for its caller alone}

   What is shared is measured with the trips that its memory makes between CPUs. If these alone make it worth sharing, it
   would be shared for ever, and be slower for it. So what is hardly worth it stays with its caller now and then. *)

(* A prime, as a program may sort by this and by that in turn. *)
let turns = 31

let is_turn_alone () =
  let last = Compat.get last in
  last.turn <- (if last.turn = turns - 1 then 0 else last.turn + 1);
  last.turn = 0

(* Learns only if what was remembered turned out wrong: no division otherwise. *)
let confirm code cost ~ticks ~iterations =
  if cost = unknown || not (is_close cost ~ticks ~iterations) then
    ignore (learn code ~ticks ~iterations)

(* [f ()], and what it took; of what is [tiny] only if that is in doubt. *)
let timed code cost ~iterations ~tiny f =
  if tiny && is_trusted () then f ()
  else begin
    let since = Machine.ticks () in
    let made = f () in
    confirm code cost ~ticks:(Machine.ticks () - since) ~iterations;
    made
  end
