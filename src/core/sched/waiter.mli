(** One wait of one task, or of a thread outside all pools, for one event. Whoever brings the event
    {!grant}s it: the first grant counts. If the waiting task is cancelled, no grant does. *)

type t

val wait : (t -> unit) -> unit
(** [wait register] calls [register w], which puts [w] where somebody finds it that will grant it
    (or grants it itself), and returns once [w] is granted. The task is suspended meanwhile, and
    its worker does other things; a thread that is no worker blocks.

    {b Raises} what [register] raises; the reason of the cancellation, if the task is cancelled
    before the grant: [w] is dead then. A dead waiter may stay where it was put, until it is
    found there; whoever keeps many lets go of them in time ({!is_waiting}).
    {b Order}: what happened before the grant happens before the return. *)

val wait_firmly : (t -> unit) -> unit
(** The same, but cancellation does not end it. *)

val wait_or_leave : (t -> unit) -> leave:(unit -> bool) -> unit
(** The same. If an exception ends the wait, [leave ()] tells whether the event had come all the
    same, though nobody has granted it yet. Then a cancellation does not count: the wait returns,
    as after a grant, and the task is told at its next checkpoint. *)

val need_not_wait : unit -> unit
(** A thing that is free counts as obtained in time, as after a {!wait} ([Task.with_deadline]). To
    be called before it is taken, as an asynchronous exception may strike here. *)

val grant : t -> bool
(** Ends the wait, unless it is over; whether it did. If not, the event goes to somebody else. From
    any thread. *)

val has_granted : t -> bool
(** {!grant}, for who may have granted it before and was cut short by an asynchronous exception, or
    knows that nobody but a party to the same event may have: that counts too. *)

val grant_all : t list -> unit
(** Grants each. An asynchronous exception goes on afterwards. *)

val is_waiting : t -> bool
(** Whether a grant would count at this moment. *)

val was_granted : t -> bool
(** Whether somebody's {!grant} has counted. Once true, it stays so; if it is false when a grant has
    just failed, the waiter is dead and it stays false. So several parties may offer one event to
    one waiter, and all learn the same about how that ended. *)
