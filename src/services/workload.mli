(** The ends of jobs, and how long they waited and worked. Any domain may note and look. *)

type outcome = Returned | Failed | Cancelled | Expired | Full | Draining
type t

val make : unit -> t
val note : t -> outcome -> unit

val waited : t -> since:int -> unit
(** A job has begun that has been there since this time, of [Machine.now]. *)

val worked : t -> since:int -> unit

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
