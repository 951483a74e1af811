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
(** The same for a worker that will not look for work: {!wake_one} passes it over. *)

val sleep : t -> int -> limit_ms:int -> bool
(** Whether the worker was woken before the limit (negative: none). Then handles the signals that
    came. If not, the caller sleeps again, or {!cancel}s. *)

val doze : t -> int -> limit_ms:int -> bool
(** The same for a worker that leaves the signals to other threads. *)

val cancel : t -> int -> unit

(** {2 Anyone} *)

val sleepers : t -> int
(** How many have announced, not aside, and not been woken. One load. *)

val is_asleep : t -> int -> bool
(** Whether that worker has announced, in either way, and not been woken. *)

val wake : t -> int -> bool
(** Wakes that worker, if it sleeps, in 10-16 us. *)

val wake_one : ?from:int -> t -> bool
(** To be called after publishing work: wakes a sleeper, of those numbered [from] or more. *)

val wake_all : t -> unit
