(** Mutual exclusion for tasks and threads. A task may hold the lock across [Task.await] and every
    other wait.

    {[
      let counter = ref 0
      let lock = Muster.Mutex.create ()
      let count () = Muster.Mutex.protect lock (fun () -> incr counter)
    ]}

    The holder is a task, a fiber of another scheduler, or a thread outside all pools. A branch of
    [both], or a chunk of a loop, that another worker runs is a task of its own. It should unlock
    the locks that it takes. See {{!page-limits.section-who_holds_a_lock}doc/limits.md, "Who holds a
    lock"}.

    {b Fairness}: waiters are woken in turn. A newcomer may take a free lock before a woken waiter.
    A waiter that finds it taken gets it at the next [unlock]. So it is passed over once at most.
    {b Cost}: uncontended, [lock] and [unlock] together 20 to 40 ns, and 4 words. *)

type t

val create : unit -> t
(** [create ()] is a new mutex, unlocked. *)

val lock : t -> unit
(** [lock m] returns once the caller holds [m].

    {b Raises} [Invalid_argument] if the caller holds it already.
    {b Order}: everything before an [unlock] happens before the return of every later [lock],
    {!try_lock} that is true, and {!protect}.
    {b Cancels}: while it waits; the caller does not hold [m] then. *)

val try_lock : t -> bool
(** [try_lock m] locks [m] if that needs no wait, and tells whether it did. It is [false] if the
    caller holds [m] already.

    {b Order}: as {!lock}, if it is true; else none. *)

val unlock : t -> unit
(** [unlock m] releases [m].

    {b Raises} [Invalid_argument] if [m] is not locked, or another task or thread holds it.
    {b Cancels}: nowhere. *)

val protect : t -> (unit -> 'a) -> 'a
(** [protect m f] is [f ()] with [m] locked meanwhile. It unlocks [m] whether [f] returns or raises.

    {b Raises} what [f] raises; as {!lock} and {!unlock} do.
    {b Cancels}: as {!lock}, and where [f] does. *)

(**/**)

val protect_as : Event.t -> t -> (unit -> 'a) -> 'a (* The same, with the wait's name. *)

(* For Table, Condition and Workers. *)

val locked : unit -> t
(** A new one, which the caller holds. *)

val lock_as : Event.t -> t -> unit
val holder : t -> int
val is_mine : t -> bool

val relock : t -> unit
(** [lock], which no cancellation ends. *)
