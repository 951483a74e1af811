(** How many residents may work in a pool at this moment, and whether one is missing. *)

val allowed : Place.pool -> int
val allow : Place.pool -> int -> unit
(** The load controller's share of the CPUs. *)

val need : Place.pool -> int -> ms:int -> unit
(** Allows so many residents for the next [ms] milliseconds, whatever the load. *)

val needed : Place.pool -> int
(** How many {!need} allows at this moment, or 0. *)

val may_work : Place.pool -> int
(** With the one that stands in for a caller where none helps. *)

val is_over : Place.pool -> int -> bool
(** Whether so many residents are more than that. *)

val wants_more : Place.pool -> bool
(** Whether fewer workers are allowed than the pool's size. *)

val promise : Place.pool -> int -> unit
(** From now on the pool's tasks may count on so many residents: they may wait for each other in a
    way that the pool does not see. *)

val promise_one : Place.pool -> unit
(** For a task of [Task.async], but in a pool of one worker. ([both] and loops promise nothing.) *)

val promised : Place.pool -> int

val breaks_promise : Place.pool -> bool
(** Whether fewer are there, or allowed, than promised. *)

val is_missing : Place.pool -> bool
(** Of those that the load controller allows. *)

val lacks_stand_in : Place.pool -> bool
(** Of those, or the one that stands in for a caller. *)

val lacks_watch : Place.pool -> bool
(** Whether tasks may wait for each other unseen, and the watchdog is not there. *)
