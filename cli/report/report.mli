(** What [muster why] leaves of a run for eyes and for other tools. *)

val html : out_channel -> Recording.t -> unit
(** See {!Html}. *)

val perfetto : out_channel -> Recording.t -> unit
(** See {!Perfetto}. *)
