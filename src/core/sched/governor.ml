(* Every minor collection stops all domains, so one that the machine does not run holds up all
   the others: a worker beside a busy neighbour costs more than it gives. The rule:

   down   A worker has waited in the kernel's run queue for [noticed] since it last looked. From
          then on the waits of all workers are added up for [shortest]: lend as many CPUs as
          workers have waited on average, rounded up from 0.4. Beside one busy thread that is a
          half on a large machine, since one worker shares a CPU with it, and 0.5 to 1 on two
          CPUs; an event loop in the process and its client make it 0.1.
   rare   Where collections are rare (Collection_rate), a worker that waits holds up nobody: lend
          nothing, and take back what was lent.
   up     In [patience] a CPU had nothing to run for more than half of the time: take it back.
   blind  Where that is not known, or says nothing about the CPUs that we may use: take one back
          after [patience], as a trial.

   [patience] doubles when a CPU taken back has to be lent again soon, and is short again after a
   success. Linux switches between busy threads every 2 to 4 ms, and counts idle time in steps of
   10 ms. So [shortest] is not shorter. *)

type t = {
  lent : int;
  since : int;
  waited : int;
  idle : int option;
  raised_at : int;
  patience : int;
}

type sample = { now : int; waited : int; often_halted : bool; idle : unit -> int option }

let ms = 1_000_000
let never = min_int / 2
let noticed = 1 * ms
let shortest = 40 * ms
let longest = 1000 * ms

let start =
  { lent = 0; since = never; waited = 0; idle = None; raised_at = never; patience = shortest }

let is_watching t = t.lent > 0 || t.since <> never
let watch t { now; idle; _ } = { t with since = now; waited = 0; idle = idle () }
let settled t = { t with since = never }

let lend t now n =
  let soon = now - t.raised_at < 3 * t.patience in
  let patience = if soon then Int.min longest (2 * t.patience) else shortest in
  settled { t with lent = t.lent + n; patience }

let take_back t now n = settled { t with lent = t.lent - n; raised_at = now }
let give_way ~cpus t now = if t.lent < cpus - 1 then lend t now 1 else t

(* CPUs that the machine does not have come first (MUSTER_DOMAINS). *)
let too_many ~cpus ~online (t : t) ~span =
  let n = ((5 * t.waited) + (3 * span)) / (5 * span) in
  let missing = if n > 0 then cpus - t.lent - online else 0 in
  Int.min (Int.max n missing) (cpus - 1 - t.lent)

let free (t : t) { idle; _ } ~span =
  match (t.idle, idle ()) with
  | Some before, Some after -> ((2 * Int.max 0 (after - before)) + span) / (2 * span)
  | _ -> 1

let decide ~cpus ~online t sample ~span =
  let n = too_many ~cpus ~online t ~span in
  if n > 0 then lend t sample.now n
  else if t.lent = 0 then settled t
  else
    match Int.min t.lent (free t sample ~span) with
    | 0 -> watch t sample
    | n -> take_back t sample.now n

let observe ~cpus ~online t sample =
  let t = { t with lent = Int.min t.lent (cpus - 1) } in
  if not sample.often_halted then if t.lent > 0 then take_back t sample.now t.lent else settled t
  else if t.since = never then
    if t.lent > 0 || sample.waited >= noticed then watch t sample else t
  else
    let span = sample.now - t.since in
    let t : t = { t with waited = t.waited + Int.min span sample.waited } in
    let enough = if t.lent = 0 then shortest else t.patience in
    if span < enough then t else decide ~cpus ~online t sample ~span
