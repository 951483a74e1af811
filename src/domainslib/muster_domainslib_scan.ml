(* Prefixes in as many parts as there are workers, by the very operations of Domainslib: the
   prefixes of each part, then the offset of each part from that of the one before, then the
   offset to each element. So results are equal to its results, to the last bit of a float.

   Elements take their offsets independently of each other. So all workers share these, where
   Domainslib has one worker for each part but the first.

   Whether all this is worth sharing is measured on the first operations, since operations
   differ by more than arrays do. What is remembered as tiny is measured now and then (Site). *)

open Muster_core
open Muster_loop

(* From [lo], at least 1, to [hi], within the array. What was written is not read again: from an
   array of floats that would allocate. *)
let scan op a lo hi =
  let last = ref (Array.unsafe_get a (lo - 1)) in
  for i = lo to hi do
    let v = op !last (Array.unsafe_get a i) in
    Compat.replace a i v;
    last := v
  done

let offset_by op offset a lo hi =
  for i = lo to hi do
    Compat.replace a i (op offset (Array.unsafe_get a i))
  done

(* How many of at most [most] operations were done, and the ticks that they took. The clock is
   read after 1, 3, 7 … of them: a reading costs as much as some. *)
let sample op a most =
  let since = Machine.ticks () in
  let rec from i step =
    let last = Int.min most (i + step - 1) in
    scan op a i last;
    let took = Machine.ticks () - since - Site.clock in
    if last = most || took > Loop.worth then (last, took) else from (last + 1) (2 * step)
  in
  if most > 0 then from 1 1 else (0, 0)

(* Two loops, the second of which does again as much. *)
let is_worth_sharing ~took ~sampled n =
  sampled > 0 && Int.max 0 took * (n / sampled) >= 2 * Loop.worth

(* The parts' own bounds; [scanned] elements of the first are done. *)
let share op a parts scanned =
  let n = Array.length a in
  let first part = part * n / parts in
  let last part = first (part + 1) - 1 in
  let for_all finish f =
    let code = Machine.code_of f in
    Loop.shared_for code Site.unknown 0 finish f
  in
  for_all (parts - 1) (fun part ->
      scan op a (if part = 0 then scanned + 1 else first part + 1) (last part));
  for part = 1 to parts - 1 do
    a.(last part) <- op a.(last (part - 1)) a.(last part)
  done;
  let longest = (n / parts) + 1 in
  let block = Int.max 1 (Int.min 512 (longest / 4)) in
  let blocks = (longest + block - 1) / block in
  for_all
    (((parts - 1) * blocks) - 1)
    (fun b ->
      let part = 1 + (b / blocks) in
      let lo = first part + (b mod blocks * block) in
      let offset = a.(first part - 1) in
      offset_by op offset a lo (Int.min (lo + block) (last part) - 1))

let alone op a parts scanned =
  let n = Array.length a in
  let last part = ((part + 1) * n / parts) - 1 in
  scan op a (scanned + 1) (last 0);
  for part = 1 to parts - 1 do
    let offset = a.(last (part - 1)) in
    scan op a (last (part - 1) + 2) (last part);
    offset_by op offset a (last (part - 1) + 1) (last part)
  done

let scan_parts op a parts =
  let n = Array.length a and code = Machine.code_of op in
  let cost = Site.cost code and operations = 2 * n in
  if Loop.is_tiny cost operations then alone op a parts 0
  else begin
    let sampled, took = sample op a (Int.min Site.sample ((n / parts) - 1)) in
    if is_worth_sharing ~took ~sampled n then share op a parts sampled else alone op a parts sampled;
    if sampled > 0 then Site.confirm code cost ~ticks:(took + Site.clock) ~iterations:sampled
  end

let prefixes ~parts op elements =
  let a = Array.copy elements in
  let n = Array.length a in
  let parts = Int.min (n - 1) parts in
  if parts >= 2 then scan_parts op a parts else if n > 1 then scan op a 1 (n - 1);
  a
