(** How many times were so long, in buckets that are 6 to 12 % wide. *)

type t

val make : unit -> t

val note : t -> int -> unit
(** One more time of so many nanoseconds. Any domain. *)

val times : t -> Job_stats.times
(** The counts now. *)

val quantile : float -> Job_stats.times -> float
(** In seconds, from above. 0 if there is none. Raises [Invalid_argument] for Muster.Workers. *)

val doublings : Job_stats.times -> (float * int) list
(** The times of which each is twice the one before, in seconds, with the number of shorter ones. *)
