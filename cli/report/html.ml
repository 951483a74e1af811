let most_bytes = 8_000_000
let most_text = 300

(* A name may be as long as a command line. *)
let shortened text =
  if String.length text <= most_text then text else String.sub text 0 most_text ^ "..."

let escaped_whole text =
  let text = if String.is_valid_utf_8 text then text else String.escaped text in
  let put buffer = function
    | '&' -> Buffer.add_string buffer "&amp;"
    | '<' -> Buffer.add_string buffer "&lt;"
    | '>' -> Buffer.add_string buffer "&gt;"
    | '"' -> Buffer.add_string buffer "&quot;"
    | c -> Buffer.add_char buffer c
  in
  let buffer = Buffer.create (String.length text) in
  String.iter (put buffer) text;
  Buffer.contents buffer

let escaped text = escaped_whole (shortened text)

(* {2 Figures} *)

let time ns =
  let x = float_of_int ns in
  if ns < 1_000 then Printf.sprintf "%d ns" ns
  else if ns < 1_000_000 then Printf.sprintf "%.3g µs" (x /. 1e3)
  else if ns < 1_000_000_000 then Printf.sprintf "%.3g ms" (x /. 1e6)
  else Printf.sprintf "%.2f s" (x /. 1e9)

let percent part whole =
  if whole = 0 then "-"
  else Printf.sprintf "%.1f %%" (100. *. float_of_int part /. float_of_int whole)

let plural n noun = Printf.sprintf "%d %s%s" n noun (if n = 1 then "" else "s")

(* {2 Tables} *)

let table ~caption header rows =
  let column i text =
    let cls = if i = 0 then {| class="name"|} else "" in
    Printf.sprintf {|<th scope="col"%s>%s</th>|} cls text
  in
  let head = String.concat "" (List.mapi column header) in
  Printf.sprintf
    {|<div class="scroll" tabindex="0" role="region" aria-label="%s"><table><caption>%s</caption>
<thead><tr>%s</tr></thead>
<tbody>
%s
</tbody></table></div>|}
    caption caption head (String.concat "\n" rows)

let row name cells =
  let cells = String.concat "" (List.map (fun text -> "<td>" ^ text ^ "</td>") cells) in
  Printf.sprintf {|<tr><th scope="row">%s</th>%s</tr>|} name cells

let swatch colour =
  Printf.sprintf {|<span class="swatch" style="background:var(--%s)"></span>|} colour

(* The colours of the sites with the most time; the others have one together. *)
let colours = 10
let colour i = if i >= 0 && i < colours then Printf.sprintf "c%d" i else "other"

let site_button name =
  let name = escaped name in
  Printf.sprintf {|<button type="button" class="site" data-find="%s">%s</button>|} name name

let most_rows = 50

let sites (summary : Summary.t) =
  let whole = List.fold_left (fun sum (it : Summary.site) -> sum + it.total) 0 summary.sites in
  let one i (it : Summary.site) =
    row
      (Printf.sprintf {|<div class="named">%s%s</div>|} (swatch (colour i)) (site_button it.name))
      [
        string_of_int it.count;
        time it.total;
        percent it.total whole;
        time (it.total / Int.max 1 it.count);
        time it.longest;
      ]
  in
  let shown = List.filteri (fun i _ -> i < most_rows) summary.sites in
  let left = List.length summary.sites - List.length shown in
  let more =
    if left = 0 then "" else Printf.sprintf {|<p class="note">And %s.</p>|} (plural left "site")
  in
  if shown = [] then {|<p class="note">No task was traced.</p>|}
  else
    table ~caption:"Where tasks are forked, and how long they run"
      [ "Site"; "Tasks"; "Time"; "Part"; "Mean"; "Longest" ]
      (List.mapi one shown)
    ^ more

let workers (recording : Recording.t) (summary : Summary.t) =
  let one (it : Summary.worker) =
    let part ns = percent ns recording.duration in
    row (escaped it.name)
      ([ string_of_int it.tasks; string_of_int it.lane.steals ]
      @ List.map part
          [
            it.ran;
            it.code;
            it.looking;
            it.parked;
            it.away;
            it.unknown;
            it.minor;
            it.major;
            it.stop;
            it.no_cpu;
          ])
  in
  table
    ~caption:
      "What each worker did, in parts of the whole time; the collector's and the wait for a CPU \
       are parts of the others"
    [
      "Worker";
      "Tasks begun";
      "Steals";
      "In tasks";
      "Other code, Team";
      "Looking for work";
      "Parked";
      "In no pool";
      "Unknown";
      "Minor GC";
      "Major GC";
      "Waits for all to stop";
      "No CPU";
    ]
    (List.map one summary.workers)

let histogram ~caption ~what buckets =
  let most = List.fold_left (fun most (it : Summary.bucket) -> Int.max most it.number) 1 buckets in
  let whole = List.fold_left (fun sum (it : Summary.bucket) -> sum + it.sum) 0 buckets in
  let one (it : Summary.bucket) =
    let width = 100. *. float_of_int it.number /. float_of_int most in
    Printf.sprintf
      {|<tr><th scope="row">%s to %s</th><td>%d</td><td>%s</td><td class="bar">%s</td></tr>|}
      (time it.least) (time it.most) it.number (percent it.sum whole)
      (if it.number = 0 then "" else Printf.sprintf {|<span style="width:%.1f%%"></span>|} width)
  in
  if buckets = [] then ""
  else
    let header = [ what; "Number"; "Part of the sum"; "Number, drawn" ] in
    Printf.sprintf {|<div class="histogram">%s</div>|}
      (table ~caption header (List.map one buckets))

(* {2 The flame} *)

let flame_row = 25

let flame (summary : Summary.t) =
  let whole = List.fold_left (fun sum (it : Summary.flame) -> sum + it.all) 0 summary.flame in
  let index = Hashtbl.create 64 in
  List.iteri (fun i (it : Summary.site) -> Hashtbl.replace index it.name i) summary.sites;
  let deepest = ref 0 in
  let part ns = 100. *. float_of_int ns /. float_of_int (Int.max 1 whole) in
  let rec draw depth left (it : Summary.flame) =
    deepest := Int.max !deepest (depth + 1);
    let name = escaped it.at in
    let text =
      Printf.sprintf "%s: %s, %s, of it %s itself" name (time it.all) (percent it.all whole)
        (time it.own)
    in
    let place =
      Printf.sprintf "left:%.3f%%;width:%.3f%%;top:%dpx" left (part it.all) (depth * flame_row)
    in
    let colour = colour (Option.value (Hashtbl.find_opt index it.at) ~default:colours) in
    Printf.sprintf
      {|<button type="button" tabindex="-1" data-find="%s" title="%s" aria-label="%s" style="%s;background:var(--%s)">%s</button>|}
      name text text place colour name
    :: row (depth + 1) left it.below
  and row depth left = function
    | [] -> []
    | it :: rest -> draw depth left it @ row depth (left +. part it.all) rest
  in
  let buttons = row 0 0. summary.flame in
  if buttons = [] then ""
  else
    Printf.sprintf
      {|<h3 id="h-flame">Which sites fork which</h3>
<p class="note">Below a site are the sites of the tasks that its tasks forked; widths are times in tasks. Arrows move from one to the next.</p>
<div id="flame" role="group" aria-labelledby="h-flame" style="height:%dpx">
%s
</div>|}
      (!deepest * flame_row) (String.concat "\n" buttons)

(* {2 The page} *)

let verdict (recording : Recording.t) =
  let line text = if String.trim text = "" then "" else "<p>" ^ escaped_whole text ^ "</p>" in
  String.concat "\n" (List.map line recording.verdict)

let outcome : Recording.outcome -> string = function
  | Exited 0 -> "ended well"
  | Exited n -> Printf.sprintf "ended with status %d" n
  | Signalled n -> Printf.sprintf "was killed by signal %d" n
  | Ended -> "ended"
  | Still_running -> "was still running"

let facts (recording : Recording.t) (spans : Spans.t) =
  String.concat " · "
    [
      time recording.duration ^ " recorded";
      Printf.sprintf "%g CPU%s" recording.cpus (if recording.cpus = 1. then "" else "s");
      plural (List.length spans.lanes) "domain";
      plural (Hashtbl.length spans.tasks) "traced task";
      "the program " ^ outcome recording.outcome;
    ]

let notices (recording : Recording.t) (spans : Spans.t) ~summed =
  let notice condition text =
    if condition then Printf.sprintf {|<p class="notice">%s</p>|} text else ""
  in
  String.concat "\n"
    [
      notice (not recording.ocaml_rings)
        "The program's runtime told nothing: what stands below is of the system alone.";
      notice (recording.lost > 0)
        "Events were overwritten before they were read. Where that was, workers are shown as \
         unknown; numbers of tasks and their times are lower bounds.";
      notice (recording.left_out > 0)
        (Printf.sprintf "%s came after the %d that are kept: the end of the run is not known here."
           (plural recording.left_out "event")
           Recording.kept);
      notice spans.sampled
        "Tasks were too short to trace all of them: some workers traced one of many. The others \
         are shown as other code, or as part of the task that awaits them. The tables of tasks have \
         only those that were traced.";
      notice (summed > 0)
        (Printf.sprintf
           "There are more spans than a page can show: those below %s are summed up, a pale block \
            for many."
           (time summed));
    ]

let legend (summary : Summary.t) =
  let entry colour text = Printf.sprintf "<li>%s%s</li>" (swatch colour) text in
  let site i (it : Summary.site) = entry (colour i) (escaped it.name) in
  let sites = List.mapi site (List.filteri (fun i _ -> i < colours) summary.sites) in
  let other = if List.length summary.sites > colours then [ entry "other" "other tasks" ] else [] in
  let states =
    [
      ("code", "other code");
      ("region", "Team");
      ("looking", "looking for work");
      ("parked", "parked");
      ("unknown", "unknown");
      ("minor", "minor GC");
      ("major", "major GC");
      ("stop", "waits for all to stop");
      ("queue", "no CPU");
    ]
  in
  let states = List.map (fun (colour, text) -> entry colour text) states in
  String.concat "\n" (sites @ other @ states @ [ "<li>\xe2\x96\xbe a task that was stolen</li>" ])

let section id title parts =
  Printf.sprintf {|<section aria-labelledby="%s"><h2 id="%s">%s</h2>
%s
</section>|} id id title
    (String.concat "\n" parts)

let measures (recording : Recording.t) =
  let one (name, x) = row (escaped name) [ Printf.sprintf "%.6g" x ] in
  if recording.measures = [] then ""
  else
    section "h-measures" "Measures"
      [
        {|<details aria-label="Measures"><summary>All figures that the verdict was found from</summary>|};
        table ~caption:"Of the whole run" [ "Measure"; "Value" ] (List.map one recording.measures);
        "</details>";
      ]

let body recording (summary : Summary.t) =
  let histograms =
    [
      histogram ~caption:"How long a task runs" ~what:"Time" summary.grain;
      histogram ~caption:"How long a task waits to begin, from its fork" ~what:"Wait"
        summary.latency;
      histogram ~caption:"How long tasks wait otherwise" ~what:"Wait" summary.waits;
      histogram ~caption:"How long jobs wait in their queue" ~what:"Wait" summary.queues;
    ]
  in
  String.concat "\n"
    [
      section "h-sites" "Tasks by site" [ flame summary; sites summary ];
      section "h-workers" "Workers" [ workers recording summary ];
      (if List.for_all (( = ) "") histograms then ""
       else
         section "h-times" "Grain and latency"
           [ {|<div class="pair">|}; String.concat "\n" histograms; "</div>" ]);
      measures recording;
    ]

(* The template's [@name@]s. What is put in is not looked at again. *)
let fill template parts =
  let piece i text =
    if i mod 2 = 0 then text
    else Option.value (List.assoc_opt text parts) ~default:("@" ^ text ^ "@")
  in
  String.concat "" (List.mapi piece (String.split_on_char '@' template))

let to_string (recording : Recording.t) spans (summary : Summary.t) =
  let shortest, data = Detail.to_string recording spans summary in
  fill Page.html
    [
      ("title", "Why " ^ escaped (String.concat " " recording.program));
      ("style", Page.css);
      ("verdict", verdict recording);
      ("facts", facts recording spans);
      ("notices", notices recording spans ~summed:shortest);
      ("legend", legend summary);
      ("body", body recording summary);
      ("data", data);
      ("script", Page.js);
    ]
