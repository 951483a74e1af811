(* Every minor collection stops all domains, so one that the machine does not run holds up all
   the others: a worker beside a busy neighbour costs more than it gives. The rule:

   down   A worker has waited in the kernel's run queue since it last looked, for [telling], or for
          [noticed] and not for the first time within [window]; and more threads want to run than
          there are CPUs: lend as many CPUs as threads are too many. The first condition alone
          would heed what a CPU's other threads do for a moment; the second alone, threads that
          do us no harm.
   rare   Where collections are rare (Collection_rate), a worker that waits holds up nobody: lend
          nothing, and take back what was lent.
   up     Fewer threads want to run than there are CPUs, at every look for [patience]: take back
          as many as were free. After a pause without looks, at once.
   blind  Where the machine's number of runnable threads is unknown, or says nothing about the
          CPUs that we may use: lend one when a second wait follows a first within [window], and
          take one back after [patience], as a trial.

   [patience] doubles when a CPU taken back has to be lent again soon, and is short again after a
   success. Linux switches between busy threads every 2 to 4 ms. So a worker beside a neighbour
   waits so long at once; an undisturbed one 1 to 2 ms a few times a second. *)

type t = {
  lent : int;
  calm_since : int;
  wait_at : int;
  raised_at : int;
  changed_at : int;
  patience : int;
  looked_at : int;
}

type sample = { now : int; waited : int; often_halted : bool; runnable : int option }

let ms = 1_000_000
let never = min_int / 2
let noticed = 1 * ms
let telling = 3 * ms
let window = 20 * ms
let shortest = 10 * ms
let longest = 1000 * ms

let start =
  {
    lent = 0;
    calm_since = never;
    wait_at = never;
    raised_at = never;
    changed_at = never;
    patience = shortest;
    looked_at = never;
  }

let stale t now = now - t.looked_at > 50 * ms

let lend t now n =
  let soon = now - t.raised_at < (2 * t.patience) + (50 * ms) in
  let patience = if soon then Int.min longest (2 * t.patience) else shortest in
  { t with lent = t.lent + n; patience; changed_at = now; calm_since = never; wait_at = never }

let take_back t now n =
  { t with lent = t.lent - n; raised_at = now; changed_at = now; calm_since = never }

let note_wait t { now; waited; _ } = if waited >= noticed then { t with wait_at = now } else t
let recurs t { now; waited; _ } = waited >= noticed && now - t.wait_at <= window

let see ~cpus ~online t ({ now; waited; _ } as sample) runnable =
  let tells = waited >= telling || recurs t sample in
  let t = note_wait t sample in
  if runnable > online && tells && t.lent < cpus - 1 then
    (* CPUs that the machine does not have come first (MUSTER_DOMAINS). *)
    let too_many = Int.max (runnable - online) (cpus - t.lent - online) in
    lend t now (Int.min too_many (cpus - 1 - t.lent))
  else if runnable >= online || t.lent = 0 then { t with calm_since = never }
  else if (now - t.calm_since >= t.patience && t.calm_since <> never) || stale t now then
    take_back t now (Int.min t.lent (online - runnable))
  else if t.calm_since = never then { t with calm_since = now }
  else t

let grope ~cpus t ({ now; waited; _ } as sample) =
  if waited >= noticed then
    if recurs t sample && t.lent < cpus - 1 then lend t now 1 else note_wait t sample
  else if t.lent > 0 && now - t.changed_at >= t.patience then take_back t now 1
  else t

let observe ~cpus ~online t sample =
  let t = if t.lent > cpus - 1 then { t with lent = cpus - 1 } else t in
  let t =
    match sample.runnable with
    | _ when not sample.often_halted -> if t.lent > 0 then take_back t sample.now t.lent else t
    | Some runnable -> see ~cpus ~online t sample runnable
    | None -> grope ~cpus t sample
  in
  { t with looked_at = sample.now }
