(** How a resident's domain starts, works and ends. *)

val hire_all : Place.pool -> size:int -> int
(** Starts the domains of a new pool for so many workers. How many workers it has then. *)

val hire_one : Place.pool -> unit
(** Starts one more domain, if the pool may have one and one is to be had. *)

val may_close : Place.pool -> bool
(** Whether the pool is closing, and has nothing left to do. *)

val join : Place.t -> unit
(** Joins the last domain that worked in that place. *)
