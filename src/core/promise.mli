(** A task and the place of its result: a state machine, no scheduling. The protocol is at the
    top of the implementation. Every function may be called by any thread. *)

type waker = unit -> unit
(** Runs on the thread that ends the task: short, and it does not raise. *)

type owner = ..
(** Whose task it is: the scheduler adds what it wants to find there. *)

type owner += Nobody

type 'a t

type 'a state =
  | Ready of (unit -> 'a) * home * waker list  (** nobody has started it *)
  | Running of home * waker list
  | Returned of 'a
  | Raised of raised

and raised = {
  failure : Outcome.failure;
  heard : bool Atomic.t;
  mutable token : token;  (** lives as long as the promise; nobody reads it *)
}

and token = No_token | Token : 'a -> token

and home = private { owner : owner; unheard : unheard; running : 'a. 'a state }
(** What all tasks of a pool have in common. *)

and unheard = any -> raised -> unit
(** Called when a task fails while nobody waits for it. *)

and any = opaque t
(** A task of whatever type. *)

and opaque

exception Skipped
(** The result of a task that was {!skip}ped. *)

val home : unheard:unheard -> owner -> home

val nowhere : home
(** For a task whose maker is sure to look at the result. *)

val make : home -> (unit -> 'a) -> 'a t
(** 6 words. *)

val any : 'a t -> any
(** The same task. *)

val state : 'a t -> 'a state
(** At this moment. One load. *)

val claim : 'a t -> bool
(** The caller, and nobody else, shall run the task, if [true]. *)

val resolve : 'a t -> 'a state -> unit
(** Ends a task that the caller has claimed, with [Returned] or [Raised], and wakes who waits. *)

val run : 'a t -> 'a state
(** Claims the task and runs it to its end; does nothing if it is not ready. The state that it
    found or brought about. Never raises. *)

val run_from : 'a state -> 'a t -> 'a state
(** The same, for who has just read the state. *)

val skip : 'a t -> bool
(** Ends a task that nobody has started as {!Skipped}. *)

val on_done : 'a t -> waker -> unit
(** Calls the waker once the task has ended, at once if it has. *)

val is_ready : 'a t -> bool
val is_done : 'a t -> bool

val value : 'a state -> 'a
(** That of an ended task, or its exception with its backtrace. *)

val result : 'a t -> 'a
(** The value of an ended task, or its exception with its backtrace. *)
