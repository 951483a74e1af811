(** Locks for many readers or one writer. A task may hold the lock across calls that wait.

    A reader must not lock again, for reading or for writing: with a writer waiting in between, it
    would wait for itself. This is not detected, since the lock only counts its readers.

    {b Fairness}: waiters are woken in turn. A newcomer may enter before a woken waiter. A waiter
    that cannot enter then goes before all that come later. So each is passed over once at most, and
    neither readers nor writers starve.
    {b Cost}: uncontended, a pair of calls about 30 ns. *)

type t

val create : unit -> t
(** [create ()] is a new lock, free. *)

val lock_read : t -> unit
(** [lock_read l] returns once the caller is one of the readers.

    {b Raises} [Invalid_argument] if the caller is the writer.
    {b Order}: all before an [unlock_write] happens before the return of every later lock; all
    before an [unlock_read] happens before the return of every later [lock_write].
    {b Cancels}: while it waits; the caller does not hold the lock then. *)

val lock_write : t -> unit
(** [lock_write l] returns once the caller is the writer and there are no readers. Otherwise as
    {!lock_read}. *)

val try_lock_read : t -> bool
(** [try_lock_read l] locks [l] for reading if that needs no wait. It tells whether it did.

    {b Order}: as {!lock_read}, if it is true; else none. *)

val try_lock_write : t -> bool
(** [try_lock_write l] is the same for writing. *)

val unlock_read : t -> unit
(** [unlock_read l] ends one reader's hold.

    {b Raises} [Invalid_argument] if there are no readers.
    {b Cancels}: nowhere. *)

val unlock_write : t -> unit
(** [unlock_write l] ends the writer's hold.

    {b Raises} [Invalid_argument] unless the caller is the writer (as {!Mutex} tells holders apart).
    {b Cancels}: nowhere. *)

val protect_read : t -> (unit -> 'a) -> 'a
(** [protect_read l f] is [f ()] as a reader, until [f] returns or raises.

    {b Raises} what [f] raises; as {!lock_read} and {!unlock_read} do.
    {b Cancels}: as {!lock_read}, and where [f] does. *)

val protect_write : t -> (unit -> 'a) -> 'a
(** [protect_write l f] is the same as the writer. *)
