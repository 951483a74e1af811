(** Where workers sleep. A wake is never lost: the proof is at the top of the implementation. *)

type t

val create : int -> t
(** Places for that many workers, numbered from 0. *)

(** {2 The worker of place [i]} *)

val announce : t -> int -> unit
(** From here on a waker sees the sleeper. The caller must now re-check every source of work,
    then {!sleep} or {!cancel}. *)

val announce_aside : t -> int -> unit
(** The same for a worker that waits for something of its own and will not look for work: only
    {!wake} and {!wake_all} wake it. *)

val sleep : t -> int -> limit_ms:int -> unit
(** Returns after a wake. Looks up every [limit_ms] milliseconds (negative: never), which lets
    the signals that came meanwhile be handled. *)

val doze : t -> int -> limit_ms:int -> bool
(** Returns after a wake, or after [limit_ms] without one; whether it was woken. The caller must
    {!cancel} then. Other threads get the signals meanwhile. *)

val cancel : t -> int -> unit

(** {2 Anyone} *)

val sleepers : t -> int
(** How many have announced and not been woken. One load. *)

val wake : t -> int -> bool
(** Wakes that worker, if it sleeps. *)

val wake_one : ?from:int -> ?upto:int -> t -> unit
(** To be called after publishing work: wakes a sleeper, of those numbered [from] to [upto]. One
    load if nobody sleeps; a wake costs its caller 10-16 us. *)

val wake_all : t -> unit
