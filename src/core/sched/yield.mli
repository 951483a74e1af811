(** The looks of a worker between two steps of a task, and how a task gives way. *)

val look : Place.t -> unit
(** Reports what nobody awaits, and looks at the load and at the clock. *)

val look_up : Place.t -> unit
(** The same if the collector has called the worker up. The task leaves a dismissed worker. *)

val look_up_if_due : Place.t -> unit
(** The same, by the clock. *)

val step_aside : Place.t -> unit
(** Leaves the worker to others, if it is dismissed or the wait beneath the fiber is over. *)

val take_turns : Place.t -> unit
(** Looks at the clock; {!step_aside}; then the fiber goes behind all tasks that wait, if it can. *)

val take_turns_if_due : since:int ref -> Place.t -> unit
(** The same between two calls of a fiber that makes many, when its turn has lasted 200 us. *)

val poll : unit -> unit
(** By code that may wait in a loop: gives way every so often. 2 ns. *)
