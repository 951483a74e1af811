open Experiment

type t = { experiment : Experiment.t; samples : (who * Measure.sample) list }

(* A pool may have changed the minor heap for the whole process: every contender starts
   from the program's own settings, and with no garbage of the one before. *)
let settle control =
  Gc.set control;
  Gc.full_major ()

let attempt experiment { who = { name; domains }; run } =
  try run ()
  with Failure reason ->
    Printf.eprintf "bench: %s: %s on %d: %s\n%!" experiment name domains reason;
    nan

let watched = Unix.isatty Unix.stderr

let say_turn experiment ~round ~repeat { name; domains } =
  if watched then
    Printf.eprintf "bench: %s, round %d of %d: %s on %d\n%!" experiment (round + 1) repeat name
      domains

let run ~repeat experiment =
  let control = Gc.get () in
  let { name; contenders; _ } = experiment in
  let turn ~round contender =
    say_turn name ~round ~repeat contender.who;
    settle control;
    attempt name contender
  in
  let samples = Measure.in_turn ~repeat turn contenders in
  { experiment; samples = List.map (fun (c, sample) -> (c.who, sample)) samples }

let sample outcome who = List.assoc_opt who outcome.samples
let failed outcome = List.exists (fun (_, s) -> Float.is_nan (Measure.minimum s)) outcome.samples

let speed_up outcome ~over own =
  let versus other = Measure.minimum other /. Measure.minimum own in
  Option.map versus (sample outcome over)

type verdict = { bar : bar; got : (float * float) option; passed : bool option }

let ratio a b = (Measure.minimum a /. Measure.minimum b, Measure.median_ratio a b)

let got outcome { subject; against; limit; _ } =
  match (sample outcome subject, Option.map (sample outcome) against, limit) with
  | Some s, None, _ -> Some (Measure.minimum s, Measure.median s)
  | Some s, Some (Some other), At_most _ -> Some (ratio s other)
  | Some s, Some (Some other), At_least _ -> Some (ratio other s)
  | None, _, _ | Some _, Some None, _ -> None

let within limit value =
  match limit with At_most bound -> value <= bound | At_least bound -> value >= bound

let verdicts outcome =
  let judge bar =
    let got = got outcome bar in
    let passes (by_minima, _) = within bar.limit by_minima in
    { bar; got; passed = Option.map passes got }
  in
  List.map judge outcome.experiment.bars
