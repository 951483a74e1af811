(* Where [hi - lo] overflows, or nearly does, any count above [huge] will do. *)
let[@inline] span lo hi =
  let d = hi - lo in
  if d < 0 then max_int else d

let[@inline] length lo hi =
  let d = span lo hi in
  if d = max_int then d else d + 1

(* {2 Below what was handed out} *)

let[@inline never] falls_quiet () =
  let w = Fiber.place () in
  Place.owned w && (Place.alone w || Place.has_offered w)
  && begin
    Yield.look_up w;
    let w = Fiber.place () in
    if Place.owned w then Publish.hush w ~few:0;
    Place.is_quiet ()
  end

let begins_quietly code =
  (Place.is_quiet () || falls_quiet ())
  && Site.estimate (Site.cost code) Tuning.quiet_chunk < Tuning.min_shared

(* Both branches of a fork look at this first, then for a branch as the newest entry. *)
let is_saturated () =
  Place.is_quiet ()
  ||
  let w = Fiber.place () in
  Place.owned w && Place.has_offered w

let huge = 1 lsl 30

(* A fiber of another scheduler gives away what may be long: it would hold up its loop. *)
let is_shared_at_once code ~n =
  n > huge
  ||
  let cost = Site.cost code in
  (if cost = Site.unknown then (n > 1 && n <= Tuning.few_unknown) || Fiber.is_elsewhere ()
   else Site.estimate cost n >= Tuning.min_shared)
  && not (is_saturated ())

(* Fibers have handlers: outside of all, no look at the scheduler allocates. *)
let holds_up code ~n =
  n > 0
  && Machine.stack_id () <> 0
  &&
  let cost = Site.cost code in
  (cost = Site.unknown || Site.estimate cost n >= Tuning.min_shared) && Fiber.is_elsewhere ()

let in_pool f = Muster_core.Pool.with_current (fun _ -> f ())
let beside_loop code ~n f = if holds_up code ~n then in_pool f else f ()

let checkpoint () =
  let w = Fiber.place () in
  if Place.owned w then begin
    Yield.look_up_if_due w;
    Fiber.check_at (Fiber.place_after w)
  end
  else Fiber.check ()

(* All fields are the caller's alone. *)
type trial = {
  code : int;
  n : int;
  min_rest : int;
  little : int;  (** ticks *)
  mutable chunk : int;  (** iterations until the next look *)
  mutable seen : int;  (** iterations at the last look *)
  mutable at : int;  (** ticks then *)
  begun : int;  (** ticks *)
  mutable checked : int;  (** ticks at the last checkpoint *)
  mutable measured : int;  (** iterations whose time was measured ... *)
  mutable spent : int;  (** the ticks of these *)
  mutable cost : int;  (** of an iteration, as in Site, when the others seemed worth sharing *)
}

let start ?(min_rest = Tuning.min_moved) ?(seen = 0) code ~n =
  Fiber.check ();
  let at = Machine.ticks () in
  let begun = at and checked = at and measured = 0 and spent = 0 and cost = 0 in
  let little = Int.min Tuning.between_looks (min_rest / (Tuning.max_extrapolation + 1)) in
  { code; n; min_rest; little; chunk = 1; seen; at; begun; checked; measured; spent; cost }

let next t = t.chunk
let cost t = t.cost

let finish ?(all = 0) t =
  if t.measured = 0 && all > t.seen then begin
    t.measured <- all - t.seen;
    t.spent <- Int.max 0 (Machine.ticks () - t.at - Site.clock)
  end;
  if t.measured > 0 then
    Site.confirm t.code (Site.cost t.code) ~ticks:(t.spent + Site.clock) ~iterations:t.measured

(* No overflow: neither factor is larger. *)
let[@inline] bounded x = if x > huge then huge else x

let check_if_due t now =
  if now - t.checked >= Tuning.between_checkpoints then begin
    t.checked <- now;
    checkpoint ()
  end

(* Not much of a long rest at once: it may be dear. *)
let[@inline] set_chunk t chunk =
  let few = Tuning.few_unknown in
  t.chunk <- (if chunk <= few then chunk else Int.min chunk (Int.max few ((t.n - t.seen) / 4)))

let pays_after t ~took ~iterations =
  let believed = Int.min (t.n - t.seen) (Tuning.max_extrapolation * iterations) in
  if bounded took * bounded believed >= t.min_rest * iterations && not (is_saturated ()) then begin
    t.cost <- Site.learn t.code ~ticks:(took + Site.clock) ~iterations;
    Tell.alone (t.at - t.begun);
    true
  end
  else begin
    if took < Tuning.between_looks then set_chunk t (2 * iterations)
    else if took > 2 * Tuning.between_looks && iterations > 1 then t.chunk <- iterations / 2;
    check_if_due t t.at;
    false
  end

let pays t k =
  let now = Machine.ticks () in
  let iterations = k - t.seen and took = Int.max 0 (now - t.at - Site.clock) in
  t.seen <- k;
  t.at <- now;
  t.measured <- t.measured + iterations;
  t.spent <- t.spent + took;
  if took < t.little then begin
    set_chunk t (2 * iterations);
    false
  end
  else pays_after t ~took ~iterations

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
