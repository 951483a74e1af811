(** Chrome's trace format (JSON), which ui.perfetto.dev opens.

    It is text that other tools read as well, and needs no library; Perfetto's own is protobuf. Every
    span is written: some 100 bytes for each, so the file has at most some 200 MB. *)

val to_channel : out_channel -> Recording.t -> Spans.t -> Summary.t -> unit
