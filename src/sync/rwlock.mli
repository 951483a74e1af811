(** Locks for many readers or one writer. A task that waits is suspended; a thread outside all
    pools blocks. The lock may be held across calls that wait.

    {b Fairness}: in the order of arrival. Readers that come while a writer waits do so behind it,
    so no writer starves, and readers do not either. Therefore a task that reads must not ask to read
    again: with a writer in between, it would wait for itself; nor to write, for which it must let go
    first. That is not detected: who reads is not recorded, only how many.

    {b Cost}: uncontended, a pair of calls about 30 ns. *)

type t

val create : unit -> t

val lock_read : t -> unit
(** [lock_read l] returns once the caller is one of the readers.

    {b Raises} [Invalid_argument] if the caller is the writer.
    {b Order}: what happened before [unlock_write] happens before the return of every later
    [lock_read] and [lock_write], and what happened before [unlock_read] of every later [lock_write].
    So with the [try_] and [protect_] functions.
    {b Cancels}: where it waits; the caller does not hold the lock then, and who waited behind it
    alone goes on. *)

val lock_write : t -> unit
(** [lock_write l] returns once the caller is the writer and there are no readers. Otherwise as
    {!lock_read}. *)

val try_lock_read : t -> bool
(** Whether it could without waiting, and without overtaking anybody; so [try_lock_write]. {b Order}: as
    {!lock_read}, if it is true; else none. *)

val try_lock_write : t -> bool

val unlock_read : t -> unit
(** {b Raises} [Invalid_argument] if there are no readers.
    {b Cancels}: nowhere. *)

val unlock_write : t -> unit
(** {b Raises} [Invalid_argument] if there is no writer, or it is another task or thread than the
    caller (as {!Mutex} tells them apart).
    {b Cancels}: nowhere. *)

val protect_read : t -> (unit -> 'a) -> 'a
(** [protect_read l f] is [f ()] as a reader, which the caller ceases to be whether [f] returns or
    raises.

    {b Raises} what [f] raises; as {!lock_read} and {!unlock_read} do.
    {b Cancels}: as {!lock_read}, and where [f] does. *)

val protect_write : t -> (unit -> 'a) -> 'a
(** The same as the writer. *)
