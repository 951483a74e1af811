(** A monotonic clock. *)

val now : unit -> float
(** Nanoseconds since the machine started, the same for all processes. *)

val time : (unit -> unit) -> float
(** [time f] is how long [f ()] took, in nanoseconds. *)

val show : float -> string
(** [show ns] is that many nanoseconds in a fitting unit, as [1.25 ms]. *)

val today : unit -> string
(** [today ()] is the date, as [2026-11-20]. *)
