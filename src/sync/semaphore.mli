(** Counting semaphores: a number of permits, taken and given back one at a time.

    {[
      let connections = Muster.Semaphore.make 8
      let limited f = Muster.Semaphore.with_permit connections f
    ]}

    {b Fairness}: waiters are woken in turn. A newcomer may take a free permit before a woken
    waiter. A waiter that finds none gets the next that is given back. So it is passed over once at
    most.
    {b Cost}: uncontended, [acquire] and [release] together 10 to 30 ns. *)

type t

val make : int -> t
(** [make n] has [n] permits.

    {b Raises} [Invalid_argument] if [n < 0]. *)

val acquire : t -> unit
(** [acquire s] takes a permit, and waits until there is one.

    {b Order}: with [n] permits at first, everything before the [k]th {!release} happens before the
    return of the [k + n]th [acquire], successful {!try_acquire}s included.
    {b Cancels}: while it waits; the caller has no permit then. *)

val try_acquire : t -> bool
(** [try_acquire s] takes a permit if one is free. It tells whether it did.

    {b Order}: as {!acquire}, if it is true; else none. *)

val release : t -> unit
(** [release s] gives one permit back, and wakes a waiter. Any task or thread may call it.

    {b Raises} [Invalid_argument] if there are [max_int] permits already.
    {b Cancels}: nowhere. *)

val get_value : t -> int
(** [get_value s] is the number of free permits now. {b Order}: none. *)

val with_permit : t -> (unit -> 'a) -> 'a
(** [with_permit s f] is [f ()] with a permit, which it gives back whether [f] returns or raises.

    {b Raises} what [f] raises; as {!release} does.
    {b Cancels}: as {!acquire}, and where [f] does. *)
