(** Condition variables: a task waits until another task signals a change. *)

type t

val create : unit -> t
(** [create ()] is a new condition variable. *)

val wait : t -> Mutex.t -> unit
(** [wait c m] unlocks [m], waits for a signal and locks [m] again. No signal sent after the unlock
    is missed. Other tasks may hold [m] between the signal and the return, so wait in a loop:

    {[
      let take m c queue =
        Muster.Mutex.protect m (fun () ->
            while Queue.is_empty queue do Muster.Condition.wait c m done;
            Queue.pop queue)
    ]}

    {b Raises} [Invalid_argument] if the caller does not hold [m].
    {b Order}: everything before the {!signal} or {!broadcast} that ends the wait happens before the
    return; so does everything before the last [Mutex.unlock].
    {b Cancels}: while it waits for the signal, and raises with [m] {e locked}. The signal goes to
    another waiter. *)

val signal : t -> unit
(** [signal c] wakes the longest waiter, if there is one. The caller need not hold [m].

    {b Cancels}: nowhere. *)

val broadcast : t -> unit
(** [broadcast c] wakes all tasks and threads that wait now.

    {b Cancels}: nowhere. *)

(**/**)

val wait_as : Event.t -> t -> Mutex.t -> unit (* The same, with the wait's name. *)
