(** How many times were so long, in buckets that are 6 to 12 % wide. *)

type t

val make : unit -> t

val note : t -> int -> unit
(** One more time of so many nanoseconds. Any domain. *)

type shot = { counts : int array; count : int; seconds : float  (** all times together *) }

val shot : t -> shot
(** The counts now. *)

val quantile : float -> shot -> float
(** In seconds, from above. 0 if there is none. Raises [Invalid_argument] for Muster.Workers. *)

val doublings : shot -> (float * int) list
(** The times of which each is twice the one before, in seconds, with the number of shorter ones. *)
