(** A bounded queue of jobs, and slots of which each is one job's at a time. *)

type refusal = Full | Closed

type 'w slot = {
  index : int;
  mutable value : 'w option;  (** by the job that holds the slot *)
}

type job
type 'w t

val create : workers:int -> bound:int -> 'w t
val new_job : 'w t -> job

val admit : 'w t -> job -> nested:bool -> priority:int -> (unit, refusal) result
(** Gives the job a slot, or a place in the queue. One that is [nested] never waits: where no slot
    is free, it gets an extra one. *)

val is_in : 'w t -> job -> bool
(** Whether the job was admitted and has not left. *)

val await_slot : 'w t -> job -> 'w slot
(** Waits until the job holds one. A cancellation ends the wait. *)

val is_extra : 'w t -> 'w slot -> bool
(** It goes when its job leaves. *)

val leave : 'w t -> job -> bool
(** Gives up the job's slot or place, at most once; whether it was this time. Never waits. *)

val withdraw : 'w t -> job -> bool
(** {!leave}, for a cancelled job that is still in the queue. *)

val close : 'w t -> unit
(** From now on no job is admitted, but nested ones. *)

val cut : 'w t -> unit
(** Also cancels all jobs. *)

val on_cut : 'w t -> job -> (unit -> unit) -> unit
(** [on_cut t job cancel]: {!cut} calls [cancel] for the job; at once if it has come already. By the
    job's poster, once. *)

val is_cut : 'w t -> bool

val join : 'w t -> unit
(** Waits until all jobs have left, after {!close}. *)

val take_free : 'w t -> 'w slot option
(** Takes away a slot that no job holds. *)

val busy_and_queued : 'w t -> int * int
