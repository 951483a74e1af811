(** The report in a browser; skipped, with a line that says so, where there is none. *)

val tests : full:bool -> unit Alcotest.test_case list
(** With [full], also a page of a million events. *)
