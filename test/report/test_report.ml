(* From the events to the page: the spans of each worker, their sums, what the page tells of them, and
   Perfetto's format; and the page in a browser. With [--full], one of a million events. *)

open Muster_cli
module Trace = Muster_trace.Trace

let case name f = Alcotest.test_case name `Quick f
let muster at (event : Trace.event) = (at, Recording.Muster event)
let busy ?(worker = 0) at = muster at (Busy { pool = 1; worker; thread = 100 + worker })
let fork ?(parent = 0) ?(site = 1) at task = muster at (Fork { task; parent; site })
let begins at task = muster at (Begin { task })
let ends ?(back = 0) at task = muster at (End { task; back })
let names = [ (1, "a.ml:1"); (2, "b.ml:2"); (9, "Mutex.lock") ]
let made ?samples ~duration timelines = Made.of_events ~names ?samples ~duration timelines
let spans ~duration timelines = Spans.of_recording (made ~duration timelines)

let what : Spans.what -> string = function
  | Task n -> string_of_int n
  | Code -> "code"
  | Region -> "region"
  | Looking -> "looking"
  | Parked -> "parked"
  | Away -> "away"
  | Unknown -> "unknown"

let phase : Recording.phase -> string = function
  | Minor -> "minor"
  | Major -> "major"
  | Stop -> "stop"

let texts name spans =
  Array.to_list spans
  |> List.map (fun (it : _ Spans.span) -> Printf.sprintf "%d-%d %s" it.start it.stop (name it.what))

let lane ?(ring = 0) ~duration timelines = List.nth (spans ~duration timelines).lanes ring
let check_texts = Alcotest.(check (list string))

let shows ~duration events expected () =
  check_texts "spans" expected (texts what (lane ~duration [ events ]).spans)

(* {2 Spans} *)

let states =
  shows ~duration:90
    [
      busy 10;
      begins 10 1;
      ends 20 1;
      muster 30 Idle;
      muster 40 Park;
      busy 50;
      muster 60 (Region { workers = 2 });
      muster 65 Region_end;
      muster 70 Leave;
    ]
    [
      "0-10 away";
      "10-20 1";
      "20-30 code";
      "30-40 looking";
      "40-50 parked";
      "50-60 code";
      "60-65 region";
      "65-70 code";
      "70-90 away";
    ]

let shares () =
  let caller = [ busy 0; muster 10 (Region { workers = 2 }); muster 30 Region_end; muster 40 Leave ]
  and other = [ busy ~worker:1 5; muster 20 Idle; busy ~worker:1 25; muster 45 Park ] in
  let spans = spans ~duration:50 [ caller; other ] in
  check_texts "the other's share"
    [ "0-5 away"; "5-10 code"; "10-20 region"; "20-25 looking"; "25-30 region"; "30-45 code"; "45-50 parked" ]
    (texts what (List.nth spans.lanes 1).spans)

(* Both: the second half is taken back, and runs within the first task. *)
let taken_back =
  shows ~duration:60
    [ busy 0; begins 0 1; fork ~parent:1 10 2; begins 20 2; ends ~back:1 30 2; ends 50 1 ]
    [ "0-20 1"; "20-30 2"; "30-50 1"; "50-60 code" ]

let told_twice =
  shows ~duration:30 [ busy 0; begins 10 1; busy 20; ends 30 1 ] [ "0-10 code"; "10-30 1" ]

let moves () =
  let wait = muster 20 (Wait { task = 1; reason = 9; name = 0 }) in
  let resume = muster 50 (Resume { task = 1; reason = 9; ns = 30 }) in
  let here = [ busy 0; fork 5 1; begins 10 1; wait; muster 25 Idle ] in
  let there = [ busy ~worker:1 0; resume; ends 60 1 ] in
  let spans = spans ~duration:70 [ here; there ] in
  let of_lane ring = texts what (List.nth spans.lanes ring).spans in
  check_texts "where it began" [ "0-10 code"; "10-20 1"; "20-25 code"; "25-70 looking" ] (of_lane 0);
  check_texts "where it went on" [ "0-50 code"; "50-60 1"; "60-70 code" ] (of_lane 1);
  let task = Hashtbl.find spans.tasks 1 in
  let times = Alcotest.(list int) in
  Alcotest.check times "its times" [ 5; 10; 60; 20 ]
    [ task.forked; task.began; task.ended; task.ran ];
  Alcotest.check times "the wait" [ 30 ] spans.waited

let stolen () =
  let events =
    [ busy 0; muster 5 (Steal { victim = 3 }); begins 6 1; ends 10 1; begins 12 2; ends 14 2 ]
  in
  let spans = spans ~duration:20 [ events ] in
  let victim n = (Hashtbl.find spans.tasks n).thief_of in
  Alcotest.(check (list int)) "of whom" [ 3; -1 ] [ victim 1; victim 2 ];
  Alcotest.(check int) "steals" 1 (List.hd spans.lanes).steals

let collector () =
  let events : (int * Recording.event) list =
    [
      (10, Gc Minor);
      (15, Gc Stop);
      (20, Gc_end Stop);
      (30, Gc_end Minor);
      (35, Gc_end Major);
      (40, Gc Major);
      (42, Gc Stop);
    ]
  in
  let lane = lane ~duration:50 [ events ] in
  check_texts "the innermost; what never ends, to the last event"
    [ "10-15 minor"; "15-20 stop"; "20-30 minor"; "40-42 major" ]
    (texts phase lane.gc);
  check_texts "beside the rest" [ "0-50 away" ] (texts what lane.spans)

let lost () =
  let events =
    [ busy 0; begins 10 1; (15, Recording.Gc Minor); (40, Lost 5); begins 60 2; ends 70 2 ]
  in
  let lane = lane ~duration:80 [ events ] in
  check_texts "unknown from the event before"
    [ "0-10 code"; "10-15 1"; "15-60 unknown"; "60-70 2"; "70-80 code" ]
    (texts what lane.spans);
  check_texts "a phase without its end" [] (texts phase lane.gc)

let strange =
  (* Ends without beginnings, and the reverse; a task that never was forked. *)
  shows ~duration:40
    [ ends 5 7; busy 10; ends ~back:3 20 9; begins 30 4 ]
    [ "0-5 away"; "5-20 code"; "20-30 3"; "30-40 4" ]

(* Tasks of different code at one place are of one site. *)
let same_place () =
  let names = [ (1, "a.ml:1"); (2, "b.ml:2"); (3, "a.ml:1") ] in
  let events = [ busy 0; fork ~site:3 0 1; fork ~site:2 0 2; fork ~site:1 0 3 ] in
  let spans = Spans.of_recording (Made.of_events ~names ~duration:10 [ events ]) in
  let site n = (Hashtbl.find spans.tasks n).site in
  Alcotest.(check (list int)) "the first of the name" [ 1; 2; 1 ] (List.map site [ 1; 2; 3 ])

(* What comes after the events that are kept is no task's. *)
let left_out () =
  let events = [ [ busy 0; begins 10 1 ]; [ busy ~worker:1 0; begins 5 2; ends 20 2 ] ] in
  let spans = Spans.of_recording { (made ~duration:100 events) with left_out = 7 } in
  let of_lane ring = texts what (List.nth spans.lanes ring).spans in
  check_texts "the first" [ "0-10 code"; "10-20 1"; "20-100 unknown" ] (of_lane 0);
  check_texts "the second" [ "0-5 code"; "5-20 2"; "20-100 unknown" ] (of_lane 1)

(* Of a program that was running, before a worker has told anything. *)
let attached () =
  let events : (int * Recording.event) list list = [ [ busy 20; begins 30 1 ]; [ (10, Gc Minor) ] ] in
  let spans = Spans.of_recording { (made ~duration:40 events) with outcome = Still_running } in
  let of_lane ring = texts what (List.nth spans.lanes ring).spans in
  check_texts "a worker" [ "0-20 unknown"; "20-30 code"; "30-40 1" ] (of_lane 0);
  check_texts "no worker" [ "0-40 away" ] (of_lane 1)

(* {2 Sums} *)

let summary ?samples ~duration timelines =
  let recording = made ?samples ~duration timelines in
  let spans = Spans.of_recording recording in
  (recording, spans, Summary.of_spans recording spans)

let rec shape (it : Summary.flame) =
  let below =
    if it.below = [] then "" else " (" ^ String.concat " " (List.map shape it.below) ^ ")"
  in
  Printf.sprintf "%s %d/%d%s" it.at it.own it.all below

let flame () =
  let events =
    [
      busy 0;
      fork 0 1;
      begins 0 1;
      fork ~parent:1 ~site:2 5 2;
      fork ~parent:2 ~site:1 6 3;
      ends 10 1;
      begins 10 2;
      ends 40 2;
      begins 40 3;
      ends 60 3;
      fork ~site:2 60 4;
      begins 60 4;
      ends 90 4;
    ]
  in
  let _, _, it = summary ~duration:100 [ events ] in
  (* Task 3 is of a site that is above it already. *)
  check_texts "the ways" [ "a.ml:1 30/60 (b.ml:2 30/30)"; "b.ml:2 30/30" ] (List.map shape it.flame)

let chain () =
  let n = 100_000 in
  let events =
    List.concat
      (List.init n (fun i ->
           [ fork ~parent:i ~site:(1 + (i land 1)) (2 * i) (i + 1); begins ((2 * i) + 1) (i + 1) ]))
  in
  let _, spans, it = summary ~duration:(2 * n) [ List.rev_append [] events ] in
  Alcotest.(check int) "tasks" n (Hashtbl.length spans.tasks);
  Alcotest.(check int) "one way" 1 (List.length it.flame)

let sample at threads : Recording.sample =
  let thread (thread, cpu, queue) : Recording.thread = { thread; cpu; queue } in
  { at; threads = List.map thread threads; throttled = None }

let load () =
  let samples =
    [
      sample 0 [ (100, 5, 0) ];
      sample 100 [ (100, 85, 10); (101, 20, 50) ];
      sample 200 [ (101, 60, 60) ];
    ]
  in
  let first = [ busy 0; muster 100 Idle ] and second = [ busy ~worker:1 50; muster 200 Leave ] in
  let recording, spans, it = summary ~samples ~duration:200 [ first; second ] in
  let text (it : Summary.load) =
    Printf.sprintf "%d-%d %.2f %.2f %.2f" it.from it.upto it.cpus it.waiting it.busy
  in
  check_texts "CPUs, waiting, busy"
    [ "0-100 1.00 0.60 1.50"; "100-200 0.40 0.10 1.00" ]
    (List.map text it.loads);
  let shares = Summary.queue_share recording (List.nth spans.lanes 1) in
  Alcotest.(check (list (float 1e-9)))
    "no CPU for the second" [ 0.5; 0.1 ]
    (List.map (fun (_, _, s) -> s) shares);
  let no_cpu = List.map (fun (it : Summary.worker) -> it.no_cpu) it.workers in
  Alcotest.(check (list int)) "in all" [ 10; 60 ] no_cpu

(* The system tells of it when it is over. *)
let long_wait () =
  let samples =
    [
      sample 0 [ (100, 0, 0) ];
      sample 100 [ (100, 60, 0) ];
      sample 200 [ (100, 60, 0) ];
      sample 300 [ (100, 80, 200) ];
    ]
  in
  let recording, spans, _ = summary ~samples ~duration:300 [ [ busy 0 ] ] in
  let shares = Summary.queue_share recording (List.hd spans.lanes) in
  Alcotest.(check (list (float 1e-9)))
    "when it was" [ 0.2; 1.; 0.8 ]
    (List.map (fun (_, _, s) -> s) shares)

let places () =
  let names = [ (1, " at a.ml:1"); (2, "the next step") ] in
  let events = [ busy 0; fork ~site:1 0 1; begins 1 1; ends 9 1; fork ~site:2 9 2 ] in
  let recording = Made.of_events ~names ~duration:10 [ events ] in
  let it = Summary.of_spans recording (Spans.of_recording recording) in
  check_texts "as names" [ "a.ml:1"; "the next step" ]
    (List.map (fun (it : Summary.site) -> it.name) it.sites)

let buckets () =
  let text (it : Summary.bucket) =
    Printf.sprintf "%d-%d: %d, %d" it.least it.most it.number it.sum
  in
  check_texts "without gaps"
    [ "0-1: 1, 0"; "1-2: 1, 1"; "2-5: 0, 0"; "5-10: 0, 0"; "10-20: 2, 29" ]
    (List.map text (Summary.histogram [ 19; 0; 10; 1 ]));
  check_texts "of nothing" [] (List.map text (Summary.histogram []))

let histogram =
  QCheck.Test.make ~name:"a histogram holds all values, each in its place" ~count:300
    QCheck.(list (int_bound 1_000_000_000))
    (fun values ->
      let buckets = Summary.histogram values in
      let of_bucket (it : Summary.bucket) =
        let mine = List.filter (fun v -> v >= it.least && v < it.most) values in
        List.length mine = it.number && List.fold_left ( + ) 0 mine = it.sum
      in
      let number (it : Summary.bucket) = it.number in
      List.for_all of_bucket buckets
      && List.fold_left (fun sum it -> sum + number it) 0 buckets = List.length values)

(* {2 Any recording} *)

type made = { workers : int; tasks : int; seed : int; lost : bool; most : int }

let any =
  let open QCheck.Gen in
  let gen =
    map2
      (fun (workers, tasks, seed) (lost, most) -> { workers; tasks; seed; lost; most })
      (triple (int_range 1 5) (int_range 1 400) (int_bound 10_000))
      (pair bool (int_range 0 500))
  in
  let print it =
    Printf.sprintf "%d workers, %d tasks, seed %d, lost %b, most %d" it.workers it.tasks it.seed
      it.lost it.most
  in
  QCheck.make ~print gen

let read it = Made.recording ~workers:it.workers ~lost:it.lost ~tasks:it.tasks ~seed:it.seed ()
let property name holds = QCheck.Test.make ~name ~count:40 any holds

let contiguous =
  property "a worker's spans fill its time" (fun it ->
      let recording = read it in
      let fills (lane : Spans.lane) =
        let next last (span : _ Spans.span) =
          if span.start = last && span.stop > span.start then span.stop else -1
        in
        Array.fold_left next 0 lane.spans = recording.duration
      in
      List.for_all fills (Spans.of_recording recording).lanes)

let sum f l = List.fold_left (fun sum it -> sum + f it) 0 l

let adds_up =
  property "tasks, sites, workers and the flame have the same time" (fun it ->
      let recording = read it in
      let spans = Spans.of_recording recording in
      let summary = Summary.of_spans recording spans in
      let tasks = Hashtbl.fold (fun _ (it : Spans.task) sum -> sum + it.ran) spans.tasks 0 in
      let flame = sum (fun (it : Summary.flame) -> it.all) summary.flame in
      let whole (it : Summary.worker) =
        it.ran + it.code + it.looking + it.parked + it.away + it.unknown = recording.duration
      in
      tasks = sum (fun (it : Summary.site) -> it.total) summary.sites
      && tasks = sum (fun (it : Summary.worker) -> it.ran) summary.workers
      && flame <= tasks
      && flame >= tasks - (tasks / 500 * List.length summary.sites)
      && List.for_all whole summary.workers)

(* {2 What the page tells} *)

open Yojson.Basic.Util

let ints name json = List.map to_int (to_list (member name json))
let total l = List.fold_left ( + ) 0 l

(* As the page reads it: the time of a band, told and summed; the number of spans that are told. *)
let of_band spans sums lane =
  let told = ints "length" (member spans lane) in
  (total told + total (ints "ns" (member sums lane)), List.length told)

let tells it recording =
  let spans = Spans.of_recording recording in
  let summary = Summary.of_spans recording spans in
  let shortest, text = Detail.to_string ~most:it.most recording spans summary in
  let json = Yojson.Basic.from_string text in
  let lanes = to_list (member "lanes" json) in
  let fits lane (worker : Summary.worker) =
    fst (of_band "spans" "sums" lane) = recording.duration
    && fst (of_band "gc" "gcsums" lane) = worker.minor + worker.major + worker.stop
    && List.for_all (fun n -> n >= 0) (ints "gap" (member "spans" lane))
  in
  let told =
    sum (fun lane -> snd (of_band "spans" "sums" lane) + snd (of_band "gc" "gcsums" lane)) lanes
  in
  let is_short lane =
    List.for_all (fun n -> n + 1 >= shortest) (ints "length" (member "spans" lane))
  in
  List.for_all2 fits lanes summary.workers
  && told <= it.most && List.for_all is_short lanes
  && not (String.contains text '<')

let nothing_missing =
  property "told one by one or summed, nothing is missing" (fun it -> tells it (read it))

(* A task's time and parent, from its columns. *)
let columns () =
  let recording = Made.recording ~tasks:200 ~seed:3 () in
  let spans = Spans.of_recording recording in
  let _, text = Detail.to_string recording spans (Summary.of_spans recording spans) in
  let json = Yojson.Basic.from_string text in
  let tasks = member "tasks" json in
  let column name = Array.of_list (ints name tasks) in
  let numbers = column "number" in
  Array.iteri (fun i d -> if i > 0 then numbers.(i) <- numbers.(i - 1) + d) (Array.copy numbers);
  let parents = column "parent"
  and more = column "more"
  and site = column "site"
  and of_ = column "of" in
  let sites = Array.of_list (List.map to_string (to_list (member "sites" json))) in
  let name i = if i < 0 then "?" else sites.(i) in
  let of_site n = match Recording.name recording n with "?" -> "unknown site" | it -> it in
  let check i number =
    let task = Hashtbl.find spans.tasks number in
    Alcotest.(check int) "parent" task.parent (number - parents.(i));
    Alcotest.(check int) "all its spans are told" 0 more.(i);
    Alcotest.(check string) "site" (of_site task.site) (name site.(i));
    match Hashtbl.find_opt spans.tasks task.parent with
    | Some parent -> Alcotest.(check string) "the parent's" (of_site parent.site) (name of_.(i))
    | None -> Alcotest.(check int) "no parent" (-1) of_.(i)
  in
  Alcotest.(check int) "every task" (Hashtbl.length spans.tasks) (Array.length numbers);
  Array.iteri check numbers

let page recording =
  let spans = Spans.of_recording recording in
  Html.to_string recording spans (Summary.of_spans recording spans)

(* All tasks are as long as each other, and there are 128 workers of long names. *)
let bounded () =
  let events ring =
    List.concat
      (List.init 1_500 (fun i ->
           [
             begins (i * 1000) ((ring * 1_500) + i + 1);
             ends ((i * 1000) + 999) ((ring * 1_500) + i + 1);
           ]))
  in
  let names = List.init 5_000 (fun i -> (i, String.make 2_000 'x' ^ string_of_int i)) in
  let sites = List.init 5_000 (fun i -> fork ~site:i 0 (i + 1)) in
  let timelines = List.init 128 (fun ring -> (if ring = 0 then sites else []) @ events ring) in
  let recording = { (Made.of_events ~names ~duration:1_500_000 timelines) with verdict = [] } in
  let text = page recording in
  Alcotest.(check bool)
    (Printf.sprintf "%d bytes" (String.length text))
    true
    (String.length text < Html.most_bytes)

let contains text part =
  let n = String.length part in
  let rec at i = i + n <= String.length text && (String.sub text i n = part || at (i + 1)) in
  at 0

let self_contained () =
  let recording = Made.recording ~tasks:50 ~seed:1 () in
  let long = String.concat " " (List.init 100 (Printf.sprintf "word %d")) in
  let recording = { recording with verdict = long :: recording.verdict } in
  let text = page { recording with names = (1, "</script><b>\xff") :: List.tl recording.names } in
  let absent =
    [
      "<script src";
      "<link";
      "http:";
      "https:";
      "url(";
      "@import";
      "</script><b>";
      "<nothing>";
      "@title@";
    ]
  in
  List.iter (fun part -> Alcotest.(check bool) part false (contains text part)) absent;
  List.iter
    (fun part -> Alcotest.(check bool) part true (contains text part))
    [
      "Main cause: made up.";
      long;
      "<title>Why ./prog &lt;&quot;size&quot;&gt; &amp;3</title>";
      "&lt;nothing&gt; &amp; go on";
    ];
  Alcotest.(check bool) "UTF-8" true (String.is_valid_utf_8 text)

let empty () =
  let nothing = { (Made.of_events ~duration:0 []) with ocaml_rings = false; verdict = [] } in
  let text = page nothing in
  List.iter
    (fun part -> Alcotest.(check bool) part true (contains text part))
    [ "told nothing"; "No task was traced" ];
  Alcotest.(check bool) "no empty part" false (contains text "Grain and latency")

(* {2 Perfetto} *)

let trace recording =
  let spans = Spans.of_recording recording in
  let file = Filename.temp_file "muster" ".json" in
  Out_channel.with_open_bin file (fun oc ->
      Perfetto.to_channel oc recording spans (Summary.of_spans recording spans));
  let json = Yojson.Basic.from_file file in
  Sys.remove file;
  (spans, to_list (member "traceEvents" json))

let text name json = to_string (member name json)
let of_phase phase = List.filter (fun it -> text "ph" it = phase)

(* Perfetto drops an arrow that begins in no span. *)
let from_outside () =
  let _, events = trace (made ~duration:30 [ [ fork 5 1; busy 10; begins 11 1; ends 20 1 ] ]) in
  let number name json = to_number (member name json) in
  let at = number "ts" (List.hd (of_phase "s" events)) in
  let holds it = number "ts" it <= at && at < number "ts" it +. number "dur" it in
  Alcotest.(check bool) "a span" true (List.exists holds (of_phase "X" events))

(* Spans of a thread do not overlap; each arrow ends where its task begins, and begins at its fork. *)
let perfetto =
  property "Perfetto's spans do not overlap, and its arrows fit" (fun it ->
      let spans, events = trace (read it) in
      let number name json = to_number (member name json) in
      let whole = of_phase "X" events in
      let threads = List.sort_uniq compare (List.map (number "tid") whole) in
      let apart thread =
        let mine = List.filter (fun it -> number "tid" it = thread) whole in
        let next last it =
          if number "ts" it >= last -. 1e-6 then number "ts" it +. number "dur" it else infinity
        in
        List.fold_left next 0. mine < infinity
      in
      let ids phase =
        List.sort compare (List.map (fun it -> to_int (member "id" it)) (of_phase phase events))
      in
      let both =
        Hashtbl.fold
          (fun n (it : Spans.task) l ->
            if it.forked >= 0 && it.began >= 0 && it.ran > 0 then n :: l else l)
          spans.tasks []
      in
      let is_known id = List.mem id (ids "s") in
      List.for_all apart threads
      && List.for_all is_known (ids "f")
      && List.length (ids "f") <= List.length both)

let properties = List.map QCheck_alcotest.to_alcotest

let () =
  let full = Array.mem "--full" Sys.argv in
  let argv = Array.of_list (List.filter (( <> ) "--full") (Array.to_list Sys.argv)) in
  Alcotest.run ~argv "report"
    [
      ( "spans",
        [
          case "states" states;
          case "shares of Team" shares;
          case "a task that is taken back" taken_back;
          case "busy, told twice" told_twice;
          case "a task that moves" moves;
          case "steals" stolen;
          case "the collector" collector;
          case "lost events" lost;
          case "events that are not kept" left_out;
          case "a program that was running" attached;
          case "one place" same_place;
          case "what makes no sense" strange;
        ]
        @ properties [ contiguous ] );
      ( "sums",
        [
          case "the flame" flame;
          case "a long chain of forks" chain;
          case "CPUs" load;
          case "a long wait for a CPU" long_wait;
          case "places" places;
          case "histogram" buckets;
        ]
        @ properties [ histogram; adds_up ] );
      ( "page",
        [
          case "columns" columns;
          case "its size" bounded;
          case "needs nothing else" self_contained;
          case "of nothing" empty;
        ]
        @ properties [ nothing_missing ] );
      ("perfetto", case "a fork outside the pool" from_outside :: properties [ perfetto ]);
      ("browser", User.tests ~full);
    ]
