(** Code in fibers of Eio. *)

val in_eio : (Eio_posix.stdenv -> unit) -> unit -> unit
(** Runs a function in Eio's loop, with default pools of 1, 2 and 3 workers. *)

val here : (unit -> unit) -> unit -> unit
(** {!in_eio}, without the environment. *)

val pause : float -> unit
(** Suspends the fiber for so many seconds. *)

val until : (unit -> bool) -> unit
(** Looks again and again, and suspends the fiber meanwhile. *)

val beside_ticks : ?left:int -> string -> (unit -> unit -> unit) -> unit
(** [beside_ticks name make] runs [make ()] beside a fiber that ticks, and fails if fewer than 80 %
    of the ticks arrive. Beside other programs they may not, so it tries [left] times. *)
