(** A worker tells a tracing program of its work ([muster why]): a load and a test where none does.
    Trace says what each event means. *)

(** {2 What the place's worker does: for its counts, too} *)

val busy : Place.t -> unit
(** It has come, or found something to do, or is still at it. *)

val idle : Place.t -> Trace.event -> unit
(** It looks for something to do ([Idle]), or sleeps ([Park]). *)

val arrive : Place.t -> unit
(** Its thread, the calling one, begins to work there. *)

val leave : Place.t -> unit
val counts : Place.t -> unit
(** Publishes them. *)

(** {2 Events} *)

val steal : Place.t -> unit
val budget : Place.t -> lent:int -> unit

val fork : Place.t -> code:int -> int
(** Of a task that the place's fiber hands out, whose function has that code; its number, or 0. *)

val start : Place.t -> int -> int
(** The fiber runs that task; the one that it ran until then. *)

val finish : Place.t -> int -> back:int -> unit
(** The task has ended, and the fiber goes on with [back]. *)

val wait : Place.t -> Event.t -> int
(** The time; 0 if it is not traced. *)

val resume : Place.t -> Event.t -> int -> unit
(** After {!wait}, which gave that. *)

val joined : Event.t -> unit
(** The calling code goes on without the wait: its event was there. *)

val spin : (unit -> bool) -> bool
(** Looks whether a lock is free, for some turns. *)

val alone : int -> unit
(** A loop that has worked for so many ticks hands out the rest now. *)

val region : int -> unit
val region_end : unit -> unit

val job : Place.t -> queued:int -> unit
