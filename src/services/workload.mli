(** The ends of jobs, and how long they waited and worked. Any domain may note and look. *)

type outcome = Returned | Failed | Cancelled | Expired | Full | Draining
type t

val make : unit -> t
val note : t -> outcome -> unit

val waited : t -> int -> unit
(** A job has begun, so many nanoseconds after its post. *)

val worked : t -> int -> unit
(** A job has ended, so many after its begin. *)

val stats : t -> workers:int -> busy:int -> queued:int -> Job_stats.stats
