(** How a resident's domain starts, works and ends. *)

(** What came of the wish for one more resident. *)
type hired =
  | Hired
  | Taken  (** somebody is there, comes or leaves *)
  | Refused  (** the runtime gives no domain (it has 128), or the system no thread *)

val spawn : Place.pool -> Place.t -> hired
(** Starts a domain for that place. *)

val refusal_ns : int
(** So long after a refused domain, or thread, nobody asks for another. *)

val hire_one : Place.pool -> unit
(** Starts one more domain, if the pool may have one and one is to be had. *)

val may_close : Place.pool -> bool
(** Whether the pool is closing, and has nothing left to do. *)

val nothing_left : Place.pool -> bool
(** Whether the inbox and all deques are empty. *)

val join_all : Place.t -> unit
(** Joins the domains that worked in that place. *)
