(** Waiting for libraries that know no scheduler: they wait through domain-local-await (by Vesa
    Karvonen), which asks the current domain's scheduler how. Without that library there is
    nothing to do. *)

val within : (unit -> 'a) -> 'a
(** [within f] is [f ()]; meanwhile what waits through domain-local-await in the calling domain
    waits as {!Waiter.wait} does. Afterwards it waits as before: another scheduler of the domain
    gets its own way back.

    {b Cost}: about 15 ns.
    {b Domains}: nested calls must end in reverse order; so of a domain's threads only the one
    whose place domain-local storage shows may call it, unless {!has_each_its_own}.
    {b Cancels}: the wait raises, which domain-local-await allows. *)

val each_thread : self:(unit -> 'thread) -> id:('thread -> int) -> unit
(** From now on each thread of the calling domain has a way of waiting of its own.

    {b Raises} [Failure] if that is so already. *)

val has_each_its_own : unit -> bool
(** Whether {!each_thread} was called in this domain. *)
