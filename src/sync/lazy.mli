(** Lazy values that many tasks may force at once, on any domain. One task computes the value, and
    the others wait. (Stdlib's [Lazy] raises [Undefined] in the others.)

    {b Cost}: [force] of a computed value takes about 1 ns. *)

type 'a t

exception Undefined
(** Stdlib's [Lazy.Undefined]. *)

val from_fun : (unit -> 'a) -> 'a t
(** [from_fun f] computes [f ()] when it is forced first. *)

val from_val : 'a -> 'a t
(** [from_val v] is computed already. *)

val force : 'a t -> 'a
(** [force l] is the value of [l], which is computed once. If the computation raises, every [force]
    raises the same exception with the backtrace of its origin.

    If the computing task is cancelled before it has the value, a waiter computes it anew. A
    computation that waits for another task which forces [l] never ends.

    {b Raises} what the computation raised; [Undefined] if the computation forces [l] in its own
    task.
    {b Order}: [from_fun] happens before the computation; the computation before the return of every
    [force], also if it raises.
    {b Cancels}: while it waits, and where the computation does. *)

val is_val : 'a t -> bool
(** [is_val l] tells whether [l] has been computed to a value. {b Order}: if so, as {!force}. *)

val map : ('a -> 'b) -> 'a t -> 'b t
(** [map f l] is [from_fun (fun () -> f (force l))]. *)

val map_val : ('a -> 'b) -> 'a t -> 'b t
(** [map_val f l] is [from_val (f v)] if [l] has been computed to [v], else [map f l]. *)
