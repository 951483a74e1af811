(** The entries of a promise: the wakers to call at a task's end, or at its stop. Immutable: a
    promise replaces them by its compare-and-sets. *)

type waker = unit -> unit
(** Runs on the thread that ends or stops the task: short, and it does not raise. *)

type event = End | Stop
type t

val none : t

val add : event -> is_live:(unit -> bool) -> waker -> t -> t
(** An entry that is not live any more may be left out. *)

val only : event -> t -> t
val always : unit -> bool

val are_waiting : t -> bool
(** Whether an entry for the end is live. *)

val are_expecting : t -> bool
(** Whether an entry is [always] live. A scope's is: the scope raises the first failure of its
    tasks, and the others are not reported. *)

val fire : event -> t -> unit
(** Calls the wakers for that event, the oldest first. An asynchronous exception is raised
    afterwards; a second one is let through. *)
