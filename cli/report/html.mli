(** The report of [muster why --html]: one page that needs nothing else. *)

val most_bytes : int
(** The page has fewer. *)

val to_string : Recording.t -> Spans.t -> Summary.t -> string
