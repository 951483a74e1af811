(** Condition variables: wait for what another task, which holds the same mutex, will tell. A task
    that waits is suspended; a thread outside all pools blocks. *)

type t

val create : unit -> t

val wait : t -> Mutex.t -> unit
(** [wait c m] lets go of [m], waits for a signal and takes [m] again. No signal sent after [m] was
    let go is missed. Others may hold [m] between the signal and the return: ask again whether it
    is so, as in [while not (ready ()) do Condition.wait c m done].

    {b Raises} [Invalid_argument] if the caller does not hold [m].
    {b Order}: what happened before the {!signal} or {!broadcast} that ends the wait happens before the
    return, also if [m] was not held there; as does what happened before the last [Mutex.unlock].
    {b Cancels}: where it waits for the signal, and {e with [m] held}, for which it waits if it has
    to; so what follows it in a [protect] is as safe as ever. A signal is not lost on who is cancelled:
    it goes to another one who waits. *)

val signal : t -> unit
(** [signal c] wakes the one that has waited longest, if any. [m] need not be held.

    {b Cancels}: nowhere. *)

val broadcast : t -> unit
(** [broadcast c] wakes all who wait at this moment.

    {b Cancels}: nowhere. *)
