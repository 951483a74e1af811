(** How a resident's domain starts, works and ends. *)

type hired =
  | Hired
  | Taken  (** a resident is there, comes or leaves *)
  | Refused  (** the runtime gives no domain (it has 128), or the system no thread *)

val spawn : Place.pool -> Place.t -> hired
(** Starts a domain for that place. *)

val hire_one : Place.pool -> unit
(** Starts one more domain, if the pool may have one and one is to be had. *)

val may_close : Place.pool -> bool
(** Whether the pool is closing, and has nothing left to do. *)

val join : Place.t -> unit
(** Joins the last domain that worked in that place. *)
