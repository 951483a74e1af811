(** Waiting for libraries that know no scheduler: they wait through domain-local-await (by Vesa
    Karvonen), which asks the current domain's scheduler how. Without that library there is
    nothing to do. *)

val within : (unit -> 'a) -> 'a
(** [within f] is [f ()]; meanwhile what waits through domain-local-await in the calling domain
    waits as {!Waiter.wait} does. Afterwards it waits as before: another scheduler of the domain
    gets its own way back.

    {b Cost}: about 15 ns.
    {b Domains}: nested calls must end in reverse order; so of a domain's threads only the one
    whose place domain-local storage shows may call it.
    {b Cancels}: the wait raises, which domain-local-await allows. *)
