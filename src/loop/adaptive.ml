module Machine = Muster_core.Machine
module Place = Muster_core.Place
module Fiber = Muster_core.Fiber

(* Both branches of a fork look at this first, and then whether the deque has an entry. *)
let is_saturated () =
  Place.is_quiet ()
  ||
  let w = Fiber.place () in
  Place.owned w && Place.has_offered w

(* Where [hi - lo] overflows, or nearly so, any count will do that is beyond [huge]. *)
let[@inline] span lo hi =
  let d = hi - lo in
  if d < 0 then max_int else d

let[@inline] length lo hi =
  let d = span lo hi in
  if d = max_int then d else d + 1

let huge = 1 lsl 30

let is_shared_at_once code ~n =
  n > huge
  ||
  let cost = Site.cost code in
  (if cost = Site.unknown then n > 1 && n <= Tuning.few_unknown
   else Site.estimate cost n >= Tuning.min_shared)
  && not (is_saturated ())

let is_trusted code ~n =
  Site.estimate (Site.cost code) n < Tuning.tiny && Site.is_trusted ()

let checkpoint () =
  let w = Fiber.place () in
  if Place.owned w then begin
    Muster_core.Run.look_up_if_due w;
    Fiber.check_at (Fiber.place_after w)
  end
  else Fiber.check ()

(* All fields are the caller's alone. *)
type trial = {
  code : int;
  n : int;
  min_rest : int;
  mutable chunk : int;  (** iterations until the next look *)
  mutable seen : int;  (** iterations at the last look *)
  mutable at : int;  (** ticks then; [unread]: it did not read the clock *)
  mutable checked : int;  (** ticks at the last checkpoint *)
  mutable measured : int;  (** iterations whose time was measured ... *)
  mutable spent : int;  (** the ticks of these *)
}

let unread = 0

let start ?(min_rest = Tuning.min_moved) code ~n =
  let saturated = is_saturated () in
  let at = if saturated then unread else Machine.ticks () in
  let short () = Site.fitting Tuning.between_looks (Site.cost code) in
  let chunk = if saturated then Int.min Tuning.max_unmeasured (short ()) else 1 in
  { code; n; min_rest; chunk; seen = 0; at; checked = at; measured = 0; spent = 0 }

let next t = t.chunk

let finish t =
  if t.measured > 0 then
    Site.confirm t.code (Site.cost t.code) ~ticks:(t.spent + Site.clock) ~iterations:t.measured

(* No overflow: neither factor is larger. *)
let[@inline] bounded x = if x > huge then huge else x

let check_if_due t now =
  if now - t.checked >= Tuning.between_checkpoints then begin
    t.checked <- now;
    checkpoint ()
  end

let note t ~took ~iterations =
  t.measured <- t.measured + iterations;
  t.spent <- t.spent + took;
  if took < Tuning.between_looks then t.chunk <- Tuning.chunk_growth * iterations
  else if took > 2 * Tuning.between_looks && iterations > 1 then t.chunk <- iterations / 2

let pays_after t k now =
  let iterations = k - t.seen in
  let took = Int.max 0 (now - t.at - Site.clock) and rest = t.n - k in
  t.seen <- k;
  t.at <- now;
  note t ~took ~iterations;
  let believed = Int.min rest (Tuning.max_extrapolation * iterations) in
  if bounded took * bounded believed >= t.min_rest * iterations && not (is_saturated ()) then begin
    ignore (Site.learn t.code ~ticks:(took + Site.clock) ~iterations);
    true
  end
  else begin
    check_if_due t now;
    false
  end

(* The first look after iterations that were not measured only reads the clock. *)
let pays t k =
  let now = Machine.ticks () in
  if t.at <> unread then pays_after t k now
  else begin
    t.chunk <- 1;
    t.seen <- k;
    t.at <- now;
    check_if_due t now;
    false
  end

let rec alone_from t go k =
  let m = t.chunk in
  if t.n - k <= m then begin
    if go k (t.n - k) then finish t;
    t.n
  end
  else if not (go k m) then t.n
  else if pays t (k + m) then k + m
  else alone_from t go (k + m)

let alone ?min_rest code ~n go =
  if n > 1 then alone_from (start ?min_rest code ~n) go 0
  else begin
    if n = 1 then ignore (go 0 1);
    n
  end

(* {2 Long ranges} *)

let rec blocks_from go lo hi block =
  if span lo hi < block then go lo hi
  else begin
    let since = Machine.ticks () in
    let next = lo + block in
    go lo (next - 1);
    let took = Machine.ticks () - since in
    checkpoint ();
    let block =
      if took < Tuning.chunk then 2 * block
      else if took > 2 * Tuning.chunk then Int.max 1 (block / 2)
      else block
    in
    blocks_from go next hi block
  end

let in_blocks code go lo hi =
  blocks_from go lo hi (Site.fitting Tuning.chunk (Site.cost code))
