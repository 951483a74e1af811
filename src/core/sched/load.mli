(** The load controller: how many residents each pool may have at the moment. *)

val decide : ?pool:Place.pool -> Slot.kind -> string -> string -> unit
(** [decide kind what why] notes a decision, about one pool or about all. *)

val decisions : Place.pool -> Slot.decision list
(** The last of each kind that concern the pool, the newest first. *)

val of_all : Slot.decision list Atomic.t
(** Those that concern all pools. *)

val plural : int -> string -> string
(** [plural 2 "CPU"] is ["2 CPUs"]. *)

(** {2 The budget} *)

(** [MUSTER_GOVERNOR]. For tests, [random:SEED] draws all numbers, from 0 to [n - 1], also for pools
    that insist on theirs: so workers come and go all the time. *)
type mode = On | Off | Random of (int -> int)

val mode : mode

val ignored_mode : string option
(** The variable's value, if it is none of these. *)

val online : int
(** CPUs of the machine. *)

val governor : Governor.t Atomic.t

val callers : Place.pool -> int
(** Callers that work in the pool, and not in another one within it. *)

val share : cpus:int -> callers:int -> pools:int -> rank:int -> int
(** How many residents a pool may have beside its callers, the [rank]th of so many [pools] in use,
    with so many [callers] in all. *)

val share_out : unit -> unit
(** Tells all pools how many residents they may have. *)

val set_allowed : Place.pool -> int -> unit
(** Tells one pool's workers. *)

val resize : Place.pool -> unit
(** Fits the pool's size to {!Cpus.usable}. *)

val refresh_cpus : int -> unit
(** {!Cpus.refresh} at this time, for all pools. *)

val has_room : Place.pool -> bool
(** Whether a pool that opens may have a worker beside the caller. If not, a CPU is lent. *)

val stand_in : Place.pool -> unit
(** Asks for a resident in a caller's stead, where a task waits and no caller helps. By a thread
    that is about to wait. *)

val end_stand_in : Place.pool -> unit
(** After a caller has come: tells the resident that worked in its stead. *)

val note_shortage : unit -> unit
(** Notes for all checkpoints whether some pool has fewer workers than its size. *)

(** {2 A worker looks, by the owner of the place} *)

val every : int
(** Ticks between two looks. *)

val is_over_budget : Place.t -> bool
(** Whether the worker is a resident that has to leave. *)

val tell_budget : Place.t -> unit
(** To a tracing program. *)

val look : Place.t -> unit
val is_due : Place.t -> bool
val look_if_due : Place.t -> unit

val look_if_short : Place.t -> unit
(** {!look_if_due} where the pool has fewer workers than its size. *)

val settle_heap : Place.t -> unit
(** [Heap.settle] for a worker of the pool. *)
