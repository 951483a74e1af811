(** The entries of a promise: the waiters to wake at a task's end, or at its stop. They are
    immutable: a promise replaces them by its compare-and-sets. Entries that have lost their purpose
    are swept out when they might be more than half. *)

type waker = unit -> unit
(** Runs on the thread that ends or stops the task: short, and it does not raise. *)

type event = End | Stop
type t

val none : t

val add : event -> is_live:(unit -> bool) -> waker -> t -> t
(** One that is not live any more may be left out. *)

val only : event -> t -> t
(** Those for that event. *)

val always : unit -> bool
(** Is true. *)

val are_waiting : t -> bool
(** Whether one for the end is live. *)

val are_expecting : t -> bool
(** Whether one is [always] live. A scope's is: the scope raises the first failure of its tasks, and
    the others are not reported. *)

val fire : event -> t -> unit
(** Calls those for that event, the oldest first. An asynchronous exception (Ctrl-C) leaves no
    waiter asleep: it is raised afterwards. A second one is let through. *)
