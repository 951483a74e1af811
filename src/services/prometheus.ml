(* https://prometheus.io/docs/instrumenting/exposition_formats/: a line for each number, with labels
   whose backslashes, quotes and ends of line are escaped. *)

type stats = Workload.Public.stats

let escaped label =
  let escape = function
    | '\\' -> "\\\\"
    | '"' -> "\\\""
    | '\n' -> "\\n"
    | c -> String.make 1 c
  in
  String.concat "" (List.map escape (List.of_seq (String.to_seq label)))

let metric ppf name ~kind ~help lines =
  Format.fprintf ppf "# HELP muster_workers_%s %s\n" name help;
  Format.fprintf ppf "# TYPE muster_workers_%s %s\n" name kind;
  List.iter (fun line -> Format.fprintf ppf "muster_workers_%s%s\n" name line) lines

let gauge ppf label name ~help n =
  metric ppf name ~kind:"gauge" ~help [ Printf.sprintf "{%s} %d" label n ]

let histogram ppf label name ~help (times : Histogram.shot) =
  let bucket (limit, n) = Printf.sprintf "_bucket{%s,le=\"%s\"} %d" label limit n in
  let limits = List.map (fun (s, n) -> (Printf.sprintf "%g" s, n)) (Histogram.doublings times) in
  let buckets = List.map bucket (limits @ [ ("+Inf", times.count) ]) in
  (* All digits: the differences of a sum that has grown for weeks count. *)
  let sum = Printf.sprintf "_sum{%s} %.9f" label times.seconds in
  let count = Printf.sprintf "_count{%s} %d" label times.count in
  metric ppf name ~kind:"histogram" ~help (buckets @ [ sum; count ])

let outcomes (stats : stats) =
  [
    ("returned", stats.returned);
    ("failed", stats.failed);
    ("cancelled", stats.cancelled);
    ("expired", stats.expired);
    ("full", stats.full);
    ("draining", stats.draining);
  ]

let pp ppf ~name (stats : stats) =
  let label = Printf.sprintf "name=\"%s\"" (escaped name) in
  let outcome (what, n) = Printf.sprintf "{%s,outcome=\"%s\"} %d" label what n in
  gauge ppf label "size" ~help:"Jobs that may run at a time." stats.workers;
  gauge ppf label "busy" ~help:"Jobs that run." stats.busy;
  gauge ppf label "queued" ~help:"Jobs that wait." stats.queued;
  metric ppf "jobs_total" ~kind:"counter" ~help:"Jobs by what became of them."
    (List.map outcome (outcomes stats));
  histogram ppf label "queue_seconds" ~help:"Time from the post of a job to its begin."
    stats.queue_time;
  histogram ppf label "work_seconds" ~help:"Time from the begin of a job to its end."
    stats.work_time
