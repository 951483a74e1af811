let unknown = -1

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

let estimate cost n =
  if cost = unknown || n < 0 || n > 1 lsl 30 then max_int else (cost * n) lsr shift

let fitting ticks cost =
  if cost = unknown then 1 else Int.max 1 ((ticks lsl shift) / Int.max 1 cost)

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

let learn code ~ticks ~iterations =
  let now = cost_of ~ticks ~iterations in
  let before = cost code in
  if before = unknown || now > 2 * before || 2 * now < before then remember code now;
  now

(* No division where nothing is learned. *)
let confirm code cost ~ticks ~iterations =
  if cost = unknown || not (is_close cost ~ticks ~iterations) then
    ignore (learn code ~ticks ~iterations)

let timed code cost ~iterations f =
  let since = Machine.ticks () in
  let made = f () in
  confirm code cost ~ticks:(Machine.ticks () - since) ~iterations;
  made
