(** Where workers sleep. No wake is lost: the proof is at the top of the implementation. *)

type t

val create : int -> t
(** Places for that many workers, numbered from 0. *)

val reach : t -> int -> unit
(** Makes a place for worker [i], if there is none, before anybody knows of that worker. *)

(** {2 The worker of place [i]} *)

val announce : t -> int -> unit
(** From here on a waker sees the sleeper. The caller must now re-check every source of work, then
    {!sleep} or {!cancel}. *)

val announce_aside : t -> int -> unit
(** The same for a worker that waits for something of its own and will not look for work: {!wake_one}
    passes it over. *)

val sleep : t -> int -> limit_ms:int -> bool
(** Returns after a wake, or after [limit_ms] milliseconds without one (negative: never); whether it
    was woken. If not, the caller sleeps again, or {!cancel}s. Then handles the signals that came. *)

val doze : t -> int -> limit_ms:int -> bool
(** The same for a worker that leaves the signals to other threads. *)

val cancel : t -> int -> unit

(** {2 Anyone} *)

val sleepers : t -> int
(** How many have announced, not aside, and not been woken. One load. *)

val is_asleep : t -> int -> bool
(** Whether that worker has announced, in either way, and not been woken. *)

val wake : t -> int -> bool
(** Wakes that worker, if it sleeps. *)

val wake_one : ?from:int -> ?upto:int -> t -> bool
(** To be called after publishing work: wakes a sleeper, of those numbered [from] to [upto], if there
    is one. One load if nobody sleeps; a wake costs its caller 10-16 us. *)

val wake_all : t -> unit
