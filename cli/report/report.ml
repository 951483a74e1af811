let added_up recording =
  let spans = Spans.of_recording recording in
  (spans, Summary.of_spans recording spans)

let html oc recording =
  let spans, summary = added_up recording in
  output_string oc (Html.to_string recording spans summary)

let perfetto oc recording =
  let spans, summary = added_up recording in
  Perfetto.to_channel oc recording spans summary
