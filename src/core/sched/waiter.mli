(** One wait of one task, or of a thread outside all pools, for one event. The party that brings the
    event {!grant}s the waiter: the first grant counts. If the waiting task is cancelled, none does:
    the waiter is dead then. *)

type t

val wait : Event.t -> (t -> unit) -> unit
(** [wait event register] calls [register w], which puts [w] where the granting party will find it
    (or grants it itself), and returns once [w] is granted. The task is suspended meanwhile; a
    thread that is no worker blocks. A dead waiter may stay where it was put ({!is_waiting}).

    {b Raises} what [register] raises; [Cancelled].
    {b Order}: everything before the grant happens before the return. *)

val wait_for : Event.t -> _ Promise.t -> unit
(** {!wait} for the end of the promise. *)

val wait_firmly : Event.t -> (t -> unit) -> unit
(** The same, but cancellation does not end it. *)

val wait_or_leave : Event.t -> (t -> unit) -> leave:(unit -> bool) -> unit
(** {!wait}. If an exception ends it, [leave ()] tells whether the event had come all the same, yet
    ungranted. Then a cancellation does not count: the task is told at its next checkpoint. *)

val need_not_wait : unit -> unit
(** To be called before a thing that is free is taken: that counts as obtained in time, as after a
    {!wait} ([Task.with_deadline]). The task may give way first ({!Yield.poll}). *)

val grant : t -> bool
(** Ends the wait, unless it is over; whether it did. If not, the event goes to another. *)

val has_granted : t -> bool
(** {!grant}, where one by the same party, or by another for the same event, counts too. *)

val is_waiting : t -> bool
(** Whether a grant would count at this moment. *)
