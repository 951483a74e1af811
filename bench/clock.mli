(** A monotonic clock. *)

val time : (unit -> unit) -> float
(** [time f] is how long [f ()] took, in nanoseconds. *)

val today : unit -> string
(** [today ()] is the date, as [2026-11-20]. *)
