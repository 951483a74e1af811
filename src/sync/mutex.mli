(** Mutual exclusion. A task that waits for the lock is suspended and its worker does other things;
    a thread outside all pools blocks. The lock may be held across [Task.await] and every other
    call that waits: the task that holds it may go on in another domain.

    The holder is a task, or a thread outside all pools. Of [both] and of loops, what another worker
    takes over counts as a task of its own, so whichever branch locks should unlock; and so may
    each chunk of a [parallel_for] of [muster.domainslib]. The function of [Pool.run] counts as its
    caller, and so does a task of [muster.domainslib] that is awaited before it has begun. (So it does where
    Ctrl-C has parted them and it goes on by itself: the caller cannot wait then for what it holds.)

    {b Fairness}: who waits is served in turn, but a lock that is free goes to whoever comes, so
    that it does not idle while a waiter is on its way to a worker. A waiter loses so at most once:
    then the lock is handed to it.
    {b Cost}: uncontended, [lock] and [unlock] together about 20 ns in a program of one domain, 40 ns
    in one of several, and 2 words. *)

type t

val create : unit -> t
(** [create ()] is a new mutex that nobody holds. *)

val lock : t -> unit
(** [lock m] returns once the caller holds [m].

    {b Raises} [Invalid_argument] if the caller holds it already.
    {b Order}: what happened before an [unlock] happens before the return of every later [lock], and
    of every later {!try_lock} that succeeds; so with {!protect}.
    {b Cancels}: where it waits; the caller does not hold [m] then. *)

val try_lock : t -> bool
(** [try_lock m] is whether the caller could lock [m] without waiting, and has done so; [false] if it
    holds [m]. {b Order}: as {!lock}, if it is true; else none. *)

val unlock : t -> unit
(** [unlock m] lets go of [m].

    {b Raises} [Invalid_argument] if [m] is not locked, or another task or thread holds it; [m] is
    as before then.
    {b Cancels}: nowhere. *)

val protect : t -> (unit -> 'a) -> 'a
(** [protect m f] is [f ()] with [m] locked meanwhile. [m] is unlocked whether [f] returns or raises:
    no exception makes a mutex unusable.

    {b Raises} what [f] raises; as {!lock} and {!unlock} do.
    {b Cancels}: as {!lock}, and where [f] does. *)

(**/**)

(* For Condition. *)

val is_mine : t -> bool

val relock : t -> unit
(** [lock], which cancellation does not end. *)
