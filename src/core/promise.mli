(** A task and the place of its result: a state machine, no scheduling. The protocol is at the
    top of the implementation. Every function may be called by any thread. *)

type waker = unit -> unit
(** Runs on the thread that ends the task: short, and it does not raise. *)

type 'a state =
  | Ready of (unit -> 'a) * waker list  (** nobody has started it *)
  | Running of waker list
  | Returned of 'a
  | Raised of raised

and raised = { failure : Outcome.failure; heard : bool Atomic.t }

type 'a t = private { state : 'a state Atomic.t; unheard : unheard }
and any = Any : 'a t -> any [@@unboxed]

and unheard = any -> raised -> unit
(** Called when a task fails while nobody waits for it. *)

exception Skipped
(** The result of a task that was {!skip}ped. *)

val make : unheard:unheard -> (unit -> 'a) -> 'a t

val ignored : unheard
(** For a task whose maker is sure to look at the result. *)

val claim : 'a t -> bool
(** The caller, and nobody else, shall run the task, if [true]. *)

val resolve : 'a t -> 'a state -> unit
(** Ends a task that the caller has claimed, with [Returned] or [Raised], and wakes who waits. *)

val run : 'a t -> unit
(** Claims the task and runs it to its end; does nothing if it is not ready. Never raises. *)

val skip : 'a t -> bool
(** Ends a task that nobody has started as {!Skipped}. *)

val on_done : 'a t -> waker -> unit
(** Calls the waker once the task has ended, at once if it has. *)

val is_ready : 'a t -> bool
val is_done : 'a t -> bool

val result : 'a t -> 'a
(** The value of an ended task, or its exception with its backtrace. *)
