type got =
  | Ratio of { subject : Measure.sample; against : Measure.sample }
  | More of { subject : Measure.sample; against : Measure.sample }
  | Amount of Measure.sample
  | Skipped of string
  | Failed of string

type limit = At_most of float | Below of float
type t = { situation : string; detail : string; program : string; got : got; limit : limit }

let by which row =
  match row.got with
  | Ratio { subject; against } -> Some (which subject /. which against)
  | More { subject; against } -> Some (which subject -. which against)
  | Amount sample -> Some (which sample)
  | Skipped _ | Failed _ -> None

let figures row =
  match (by Measure.median row, by Measure.minimum row) with
  | Some median, Some minimum -> Some (median, minimum)
  | _ -> None

type verdict = Pass | Missed | Not_run of string

let keeps limit figure =
  match limit with At_most bound -> figure <= bound | Below bound -> figure < bound

let verdict row =
  match (row.got, by Measure.median row) with
  | Skipped why, _ -> Not_run ("skipped: " ^ why)
  | Failed why, _ -> Not_run ("failed: " ^ why)
  | _, Some figure when keeps row.limit figure -> Pass
  | _ -> Missed

let failed row = match row.got with Failed _ -> true | _ -> false

(* ---- As text ---- *)

let show row figure =
  match row.got with
  | Ratio _ -> Printf.sprintf "%.3f" figure
  | More _ -> Printf.sprintf "%+.1f ns" figure
  | Amount _ | Skipped _ | Failed _ -> Clock.show figure

let show_limit row =
  let words, bound =
    match row.limit with At_most bound -> ("at most ", bound) | Below bound -> ("below ", bound)
  in
  match row.got with
  | Skipped _ | Failed _ -> ""
  | Ratio _ -> Printf.sprintf "%s%.2f" words bound
  | More _ -> Printf.sprintf "%s+%.0f ns" words bound
  | Amount _ -> words ^ Clock.show bound

let show_verdict row =
  match verdict row with Pass -> "pass" | Missed -> "MISSED" | Not_run why -> why

let times row =
  let show sample = Clock.show (Measure.median sample) in
  match row.got with
  | Ratio { subject; against } | More { subject; against } -> (show subject, show against)
  | Amount _ | Skipped _ | Failed _ -> ("", "")

let cells row =
  let figure which = Option.fold ~none:"" ~some:(fun pair -> show row (which pair)) (figures row) in
  let time, against = times row in
  [
    String.concat ": " (List.filter (( <> ) "") [ row.situation; row.detail ]);
    row.program;
    time;
    against;
    figure fst;
    figure snd;
    show_limit row;
    show_verdict row;
  ]

let table rows =
  {
    Table.title = "Never slower than the sequential program";
    header = [ "situation"; "program"; "time"; "against"; "median"; "by minima"; "bar"; "" ];
    rows = List.map cells rows;
  }

let summary rows =
  let count p = List.length (List.filter (fun row -> p (verdict row)) rows) in
  Printf.sprintf "%d bars kept, %d missed, %d not measured"
    (count (( = ) Pass))
    (count (( = ) Missed))
    (count (function Not_run _ -> true | Pass | Missed -> false))

(* ---- As JSON ---- *)

let json row =
  let number value = if Float.is_finite value then `Float value else `Null in
  let runs sample = `List (List.map number (Measure.runs sample)) in
  let part which = Option.fold ~none:`Null ~some:(fun pair -> number (which pair)) (figures row) in
  let samples =
    match row.got with
    | Ratio { subject; against } | More { subject; against } ->
      [ ("runs", runs subject); ("against", runs against) ]
    | Amount sample -> [ ("runs", runs sample) ]
    | Skipped _ | Failed _ -> []
  in
  `Assoc
    ([
       ("situation", `String row.situation);
       ("detail", `String row.detail);
       ("program", `String row.program);
       ("by_medians", part fst);
       ("by_minima", part snd);
       ("bar", `String (show_limit row));
       ("verdict", `String (show_verdict row));
     ]
    @ samples)
