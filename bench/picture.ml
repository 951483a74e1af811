open Experiment

let width = 880.
let label_width = 190.
let figure_width = 70.
let plot_left = label_width +. 10.
let plot_width = width -. plot_left -. figure_width
let bar_height = 16.
let pitch = 24.

type bar = { label : string; cls : string; value : float; figure : string }

(* A panel of horizontal bars below [top]: its shapes, and where it ends. *)
type panel = {
  heading : string;
  note : string;
  position : float -> float;  (** Of a value, as a part of the plot's width. *)
  ticks : (float * string) list;
  ideal : float option;
  groups : bar list list;
}

let x_of panel value = plot_left +. (plot_width *. panel.position value)

let draw_bar panel y { label; cls; value; figure } =
  let x = x_of panel value in
  let base = y +. bar_height -. 3.5 in
  [
    Svg.text ~anchor:End ~cls:"label" ~x:label_width ~y:base label;
    Svg.bar ~cls ~x:plot_left ~y ~width:(x -. plot_left) ~height:bar_height;
    Svg.text ~cls:"value" ~x:(x +. 6.) ~y:base figure;
  ]

let draw_axis panel ~top ~bottom =
  let tick (value, name) =
    let x = x_of panel value in
    [
      Svg.vertical ~cls:"grid" ~x ~top ~bottom;
      Svg.text ~anchor:Middle ~cls:"tick" ~x ~y:(bottom +. 16.) name;
    ]
  in
  let ideal value = Svg.vertical ~cls:"ideal" ~x:(x_of panel value) ~top ~bottom in
  List.concat_map tick panel.ticks @ List.map ideal (Option.to_list panel.ideal)

let group_gap = 8.

let draw_groups panel ~top =
  let draw_group (y, shapes) bars =
    let one (y, shapes) bar = (y +. pitch, draw_bar panel y bar :: shapes) in
    let y, shapes = List.fold_left one (y, shapes) bars in
    (y +. group_gap, shapes)
  in
  let y, shapes = List.fold_left draw_group (top, []) panel.groups in
  (y -. group_gap, List.concat (List.rev shapes))

let draw (top, shapes) panel =
  let plot_top = top +. 54. in
  let bottom, bars = draw_groups panel ~top:(plot_top +. 6.) in
  let headings =
    [
      Svg.text ~cls:"title" ~x:16. ~y:(top +. 22.) panel.heading;
      Svg.text ~cls:"note" ~x:16. ~y:(top +. 41.) panel.note;
    ]
  in
  (bottom +. 28., shapes @ headings @ draw_axis panel ~top:plot_top ~bottom @ bars)

(* ---- The cost of a fork, on a logarithmic axis ---- *)

let counted n what = Printf.sprintf "%d %s%s" n what (if n = 1 then "" else "s")

let shown (who : who) =
  match who.name with
  | "sequential" -> "sequential call"
  | "closures" -> "its closures, in order"
  | "muster" -> "Muster, " ^ counted who.domains "domain"
  | "domainslib" -> "Domainslib, " ^ counted who.domains "domain"
  | peer -> peer ^ ", " ^ counted who.domains "thread"

let is_own (who : who) = who.name = "muster"
let colour who = if is_own who then "own" else "other"

let fork_bar (who, sample) =
  let value = Measure.minimum sample in
  { label = shown who; cls = colour who; value; figure = Printf.sprintf "%.3g ns" value }

let decades values =
  let exponent round x = int_of_float (round (Float.log10 x)) in
  let low = exponent Float.floor (0.9 *. List.fold_left Float.min infinity values) in
  (low, exponent Float.ceil (List.fold_left Float.max 0. values))

let fork_panel outcome =
  let measured (_, sample) = not (Float.is_nan (Measure.minimum sample)) in
  let bars = List.map fork_bar (List.filter measured outcome.Outcome.samples) in
  let bars = List.sort (fun a b -> Float.compare a.value b.value) bars in
  let low, high = decades (List.map (fun bar -> bar.value) bars) in
  let span = float_of_int (Int.max 1 (high - low)) in
  let tick i =
    let value = 10. ** float_of_int (low + i) in
    (value, Printf.sprintf "%g" value)
  in
  {
    heading = "What a fork costs";
    note = "Naive Fibonacci, a fork at every call, no cut-off: ns per fork, log scale";
    position = (fun value -> (Float.log10 value -. float_of_int low) /. span);
    ticks = List.init (high - low + 1) tick;
    ideal = None;
    groups = [ bars ];
  }

(* ---- Speed-up of whole programs ---- *)

let programs =
  [
    ("fib", "fib with cut-off");
    ("spectral-norm", "spectral norm");
    ("life", "Game of Life");
    ("nbody", "n-body");
    ("fork-union-nbody", "Fork Union's n-body");
  ]

let speed_up_bar outcome ~label who =
  let bar speed_up =
    { label; cls = colour who; value = speed_up; figure = Printf.sprintf "%.2f" speed_up }
  in
  let speed_up = Outcome.speed_up outcome ~over:sequential in
  Option.map bar (Option.bind (Outcome.sample outcome who) speed_up)

let program_bars ~domains outcomes (name, label) =
  let of_program outcome = outcome.Outcome.experiment.name = name in
  let bars outcome =
    List.filter_map Fun.id
      [
        speed_up_bar outcome ~label (muster domains);
        speed_up_bar outcome ~label:"Domainslib" (domainslib domains);
      ]
  in
  Option.fold ~none:[] ~some:bars (List.find_opt of_program outcomes)

let program_panel ~domains outcomes =
  let some_bars = function [] -> None | bars -> Some bars in
  let groups = List.filter_map (fun p -> some_bars (program_bars ~domains outcomes p)) programs in
  let largest = List.fold_left (fun m bar -> Float.max m bar.value) in
  let most = List.fold_left largest (float_of_int domains) groups in
  let tick i = (float_of_int i, string_of_int i) in
  {
    heading = Printf.sprintf "What %d domains gain" domains;
    note = "Whole programs, times faster than sequential. Orange: Muster; dashed: ideal";
    position = (fun value -> value /. most);
    ticks = List.init (domains + 1) tick;
    ideal = Some (float_of_int domains);
    groups;
  }

let svg ~domains outcomes =
  let fork = List.find_opt (fun o -> o.Outcome.experiment.name = "fork") outcomes in
  let panels =
    List.map fork_panel (Option.to_list fork)
    @ List.filter (fun p -> p.groups <> []) [ program_panel ~domains outcomes ]
  in
  let bottom, shapes = List.fold_left draw (0., []) panels in
  let height = bottom +. 6. in
  let title = "What a fork costs and what the programs gain, measured" in
  if panels = [] then None else Some (Svg.document ~width ~height ~title shapes)
