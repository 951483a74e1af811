(* https://prometheus.io/docs/instrumenting/exposition_formats/: a line for each number, with labels
   whose backslashes, quotes and ends of line are escaped. Bytes that are no UTF-8 would cost the
   whole page, so U+FFFD stands for them. *)

type stats = Job_stats.stats

let escaped label =
  let text = Buffer.create 32 in
  let rec from i =
    if i < String.length label then begin
      let found = String.get_utf_8_uchar label i in
      (match label.[i] with
      | '\\' -> Buffer.add_string text "\\\\"
      | '"' -> Buffer.add_string text "\\\""
      | '\n' -> Buffer.add_string text "\\n"
      | _ -> Buffer.add_utf_8_uchar text (Uchar.utf_decode_uchar found));
      from (i + Uchar.utf_decode_length found)
    end
  in
  from 0;
  Buffer.contents text

let histogram label (times : Job_stats.times) =
  let bucket (limit, n) = Printf.sprintf "_bucket{%s,le=\"%s\"} %d" label limit n in
  let limits = List.map (fun (s, n) -> (Printf.sprintf "%g" s, n)) (Histogram.doublings times) in
  let buckets = List.map bucket (limits @ [ ("+Inf", times.count) ]) in
  (* All digits: the differences of a sum that has grown for weeks count. *)
  let sum = Printf.sprintf "_sum{%s} %.9f" label times.seconds in
  let count = Printf.sprintf "_count{%s} %d" label times.count in
  buckets @ [ sum; count ]

let outcomes label (stats : stats) =
  let line (what, n) = Printf.sprintf "{%s,outcome=\"%s\"} %d" label what n in
  List.map line
    [
      ("returned", stats.returned);
      ("failed", stats.failed);
      ("cancelled", stats.cancelled);
      ("expired", stats.expired);
      ("full", stats.full);
      ("draining", stats.draining);
    ]

let label name = Printf.sprintf "name=\"%s\"" (escaped name)

(* Each metric has its head once, and then the lines of all. *)
let metric ppf all name kind ~help lines =
  Format.fprintf ppf "# HELP muster_workers_%s %s\n" name help;
  Format.fprintf ppf "# TYPE muster_workers_%s %s\n" name kind;
  let print line = Format.fprintf ppf "muster_workers_%s%s\n" name line in
  List.iter (fun (name, stats) -> List.iter print (lines (label name) stats)) all

let pp ppf all =
  let metric name = metric ppf all name in
  let gauge name ~help number =
    metric name "gauge" ~help (fun label stats -> [ Printf.sprintf "{%s} %d" label (number stats) ])
  in
  gauge "size" ~help:"Jobs that may run at a time." (fun (stats : stats) -> stats.workers);
  gauge "busy" ~help:"Jobs that run." (fun stats -> stats.busy);
  gauge "queued" ~help:"Jobs that wait." (fun stats -> stats.queued);
  metric "jobs_total" "counter" ~help:"Jobs by what became of them." outcomes;
  metric "queue_seconds" "histogram" ~help:"Time from the post of a job to its begin."
    (fun label stats -> histogram label stats.queue_time);
  metric "work_seconds" "histogram" ~help:"Time from the begin of a job to its end."
    (fun label stats -> histogram label stats.work_time)
