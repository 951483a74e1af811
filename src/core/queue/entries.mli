(** The entries of a promise: the wakers to call at a task's end, or at its stop. Immutable but for
    {!forget}: a promise replaces them by its compare-and-sets. *)

type waker = unit -> unit
(** Runs on the thread that ends or stops the task: short, and it does not raise. *)

type entry
type t

val entry : ?is_live:(unit -> bool) -> waker -> entry
(** One that is not live any more may be left out. By default it is always live. *)

val forgotten : waker
val forget : entry -> unit
(** It is live no more, wherever it stands, and keeps nothing in memory. A thread that has just
    reached it may still call the waker. *)

val nobodys : entry
(** One that is forgotten, for where none is made yet. *)

(** {2 An entry for several events, one after the other}

    Its owner arms it for each, and lets it rest between them. One at rest may be forgotten. *)

val is_at_rest : entry -> bool

val arm : entry -> waker -> bool
(** Gives it a waker; whether it was at rest. If not, it may be in no list: the owner adds it. *)

val rest : entry -> waker -> unit
(** Lets it rest, if it has that waker. *)

(** {2 Lists} *)

val none : t
val add : entry -> t -> t

val union : t -> t -> t
(** Takes time in proportion to the shorter one. *)

val live : t -> t
(** Those that are live, if they are few: else it would cost more than to keep the others. *)

val is_none : t -> bool

val are_waiting : t -> bool
(** Whether an entry is live. *)

val are_expecting : t -> bool
(** Whether an entry is always live. A scope's is: the scope raises the first failure of its
    tasks, and the others are not reported. *)

val fire : t -> unit
(** Calls the wakers, the oldest first. An asynchronous exception is raised afterwards; a second one
    is let through. *)
