(** The ends of jobs, and how long they waited and worked. Any domain may note and look. *)

type outcome = Returned | Failed | Cancelled | Expired | Full | Draining
type t

val make : unit -> t
val note : t -> outcome -> unit

val waited : t -> int -> unit
(** A job has begun, so many nanoseconds after its post. *)

val worked : t -> int -> unit
(** A job has ended, so many after its begin. *)

(** Of Muster.Workers, which describes it. *)
module Public : sig
  type times = Histogram.shot = { counts : int array; count : int; seconds : float }

  val quantile : float -> times -> float

  type stats = {
    workers : int;
    busy : int;
    queued : int;
    returned : int;
    failed : int;
    cancelled : int;
    expired : int;
    full : int;
    draining : int;
    queue_time : times;
    work_time : times;
  }
end

val stats : t -> workers:int -> busy:int -> queued:int -> Public.stats
