open Experiment

let figure quantity value =
  match quantity with
  | _ when Float.is_nan value -> "failed"
  | Words -> Printf.sprintf "%.2f words" value
  | Time -> Clock.show value

let optional show = Option.fold ~none:"" ~some:show
let times value = Printf.sprintf "%.2f" value

let row outcome ((who : who), sample) =
  let figure = figure outcome.Outcome.experiment.quantity in
  let versus over = optional times (Outcome.speed_up outcome ~over sample) in
  [
    who.name;
    string_of_int who.domains;
    figure (Measure.minimum sample);
    figure (Measure.median sample);
    versus sequential;
    versus { who with domains = 1 };
  ]

let table outcome =
  let { name; title; _ } = outcome.Outcome.experiment in
  {
    Table.title = Printf.sprintf "%s: %s" name title;
    header = [ "contender"; "domains"; "minimum"; "median"; "vs serial"; "vs self" ];
    rows = List.map (row outcome) outcome.samples;
  }

let tables = List.map table

let limit bar =
  match (bar.against, bar.limit) with
  | Some _, At_most x -> Printf.sprintf "at most %g times its time" x
  | Some _, At_least x -> Printf.sprintf "at least %g times faster" x
  | None, At_most x -> Printf.sprintf "at most %.15g" x
  | None, At_least x -> Printf.sprintf "at least %g" x

let verdict ~quick passed =
  match passed with
  | None -> "not measured"
  | Some _ when quick -> "not judged"
  | Some true -> "pass"
  | Some false -> "FAIL"

let bar_row ~quick { Outcome.bar; got; passed } =
  let part f = optional (fun pair -> Printf.sprintf "%.2f" (f pair)) got in
  [ bar.claim; limit bar; part fst; part snd; verdict ~quick passed ]

let bars ~quick outcomes =
  {
    Table.title = "Bars";
    header = [ "what"; "bar"; "by the minima"; "median of the rounds"; "" ];
    rows = List.map (bar_row ~quick) (List.concat_map Outcome.verdicts outcomes);
  }

let number value = if Float.is_nan value then `Null else `Float value

let json_contender outcome ((who : who), sample) =
  let versus over = Option.fold ~none:`Null ~some:number (Outcome.speed_up outcome ~over sample) in
  `Assoc
    [
      ("name", `String who.name);
      ("domains", `Int who.domains);
      ("minimum", number (Measure.minimum sample));
      ("median", number (Measure.median sample));
      ("vs_serial", versus sequential);
      ("vs_self", versus { who with domains = 1 });
      ("rounds", `List (List.map number (Measure.runs sample)));
    ]

let json_bar { Outcome.bar; got; passed } =
  let part f = Option.fold ~none:`Null ~some:(fun pair -> number (f pair)) got in
  `Assoc
    [
      ("what", `String bar.claim);
      ("bar", `String (limit bar));
      ("by_minima", part fst);
      ("median_of_rounds", part snd);
      ("passed", Option.fold ~none:`Null ~some:(fun passed -> `Bool passed) passed);
    ]

let json_experiment outcome =
  let { name; title; quantity; _ } = outcome.Outcome.experiment in
  let unit_ = match quantity with Time -> "nanoseconds" | Words -> "words" in
  `Assoc
    [
      ("name", `String name);
      ("title", `String title);
      ("unit", `String unit_);
      ("contenders", `List (List.map (json_contender outcome) outcome.samples));
      ("bars", `List (List.map json_bar (Outcome.verdicts outcome)));
    ]

let json ~facts outcomes =
  `Assoc
    [ ("machine", Machine.json facts); ("experiments", `List (List.map json_experiment outcomes)) ]
