(** Counting semaphores: a number of permits, taken and given back one at a time. A task that waits
    for one is suspended; a thread outside all pools blocks.

    {b Fairness}: permits go to who waits in the order of arrival; nobody overtakes.
    {b Cost}: uncontended, [acquire] and [release] together about 10 ns in a program of one domain,
    30 ns in one of several. *)

type t

val make : int -> t
(** [make n] has [n] permits.

    {b Raises} [Invalid_argument] if [n < 0]. *)

val acquire : t -> unit
(** [acquire s] takes a permit, and waits until there is one for it.

    {b Order}: of [n] permits at first, what happened before the [k]th {!release} happens before the
    return of the [k + n]th [acquire]; so with {!try_acquire} where it succeeds, and {!with_permit}.
    {b Cancels}: where it waits; the caller has no permit then. *)

val try_acquire : t -> bool
(** [try_acquire s] is whether it could take a permit without waiting, and so without overtaking, and
    has done so. {b Order}: as {!acquire}, if it is true; else none. *)

val release : t -> unit
(** [release s] gives a permit to who has waited longest, or back. Whoever calls it: permits are
    nobody's.

    {b Raises} [Invalid_argument] if there are [max_int] permits already.
    {b Cancels}: nowhere. *)

val get_value : t -> int
(** [get_value s] is the number of permits at this moment, 0 while somebody waits. {b Order}: none. *)

val with_permit : t -> (unit -> 'a) -> 'a
(** [with_permit s f] is [f ()] with a permit taken meanwhile, which is given back whether [f]
    returns or raises.

    {b Raises} what [f] raises; as {!release} does.
    {b Cancels}: as {!acquire}, and where [f] does. *)
