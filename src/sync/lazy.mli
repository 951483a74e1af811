(** Lazy values that many tasks may force at once, on any domain. One of them computes; the others
    wait, suspended (a thread outside all pools blocks). The stdlib's raise [Undefined] then.

    {b Cost}: [force] of a computed value about 1 ns. *)

type 'a t

exception Undefined
(** The stdlib's [Lazy.Undefined]. *)

val from_fun : (unit -> 'a) -> 'a t
(** [from_fun f] is computed by [f ()], when it is forced first. *)

val from_val : 'a -> 'a t
(** [from_val v] is computed already. *)

val force : 'a t -> 'a
(** [force l] is the value of [l]. It is computed once, whoever forces it. If the computation raises,
    every [force] raises the same exception, with the backtrace of its origin.

    If the task that computes is cancelled and the computation ends with that, it counts as not
    done: one of those who wait for it begins anew, or whoever forces [l] next.

    {b Raises} what the computation raised; [Undefined] if the computation itself, in the same
    task, forces [l]. (One that forces it in another task, and waits for that, waits for ever.)
    {b Order}: what happened before [from_fun] happens before the computation, whoever forces it; and
    what that did before the return of every [force], also if it raises.
    {b Cancels}: where it waits, and where the computation does. *)

val is_val : 'a t -> bool
(** [is_val l] is whether [l] has been computed, to a value. {b Order}: if so, as {!force}. *)

val map : ('a -> 'b) -> 'a t -> 'b t
(** [map f l] is [from_fun (fun () -> f (force l))]. *)

val map_val : ('a -> 'b) -> 'a t -> 'b t
(** [map_val f l] is [from_val (f v)] if [l] has been computed to [v], else [map f l]. *)
