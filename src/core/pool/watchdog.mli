(** One thread that notices when tasks wait and no worker comes for them. *)

val start : unit -> unit
(** Starts the thread, unless it is there or the system has none. *)
