(** A task and the place of its result: a state machine, no scheduling. The protocol is at the
    top of the implementation. Every function may be called by any thread. *)

type waker = unit -> unit
(** Runs on the thread that ends or stops the task: short, and it does not raise. *)

type owner = ..
(** Whose task it is: the scheduler adds what it wants to find there. *)

type owner += Nobody
type 'a t

type attached
(** Who waits for the task's end, or wants to know if it is stopped. *)

type 'a state =
  | Ready of (unit -> 'a) * home * attached  (** nobody has started it *)
  | Running of home * attached
  | Returned of 'a
  | Raised of raised

and raised = {
  failure : Outcome.failure;
  heard : heard Atomic.t;
  mutable after_stop : bool;  (** it was stopped while it ran *)
  mutable token : token;  (** lives as long as the promise; nobody reads it *)
}

and heard = Unheard | Noted | Heard
and token = No_token | Token : 'a -> token

and home = private {
  owner : owner;
  unheard : unheard;
  lineage : lineage;
  of_scope : bool;  (** that of a scope's promise, which is part of the strand that opened it *)
  running : 'a. 'a state;
}

(** What all tasks of a pool, or of a scope in it, have in common. *)

and lineage =
  | Alone
  | Within of any * lineage  (** stopped when that promise is, or one of those around it *)

and unheard = any -> raised -> unit
(** Called when a task fails while nobody waits for it; also, perhaps again, by {!forgo}. *)

and any = opaque t
(** A task of whatever type. *)

and opaque

exception Cancelled
(** The result of a task that was stopped. *)

exception Skipped
(** Stands for what was left out because of an exception left of it; nobody sees it. *)

val home : ?lineage:lineage -> ?of_scope:bool -> unheard:unheard -> owner -> home
val nowhere : home
(** For a task whose maker is sure to look at the result. *)

val make : home -> (unit -> 'a) -> 'a t
(** 6 words. *)

val started : home -> 'a t
(** A promise without a function: its maker resolves it. *)

val any : 'a t -> any
(** The same task. *)

val state : 'a t -> 'a state
(** At this moment. One load. *)

val claim : 'a t -> bool
(** The caller, and nobody else, shall run the task, if [true]. *)

val claim_from : 'a state -> 'a t -> bool
(** The same, for who has just read the state; [false] also if it has changed. *)

val result_of : (unit -> 'a) -> 'a state
(** What the function comes to, for who has claimed its task and will {!resolve} it. Raises nothing. *)

val resolve : 'a t -> 'a state -> 'a state
(** Ends a task that the caller has claimed, with [Returned] or [Raised], and wakes who waits. Of one that
    was stopped until then a value is dropped: it ends as {!Cancelled}. What it ended as. *)

val resolve_from : home -> 'a t -> 'a state -> 'a state
(** The same, for who knows the task's home. *)

val run : 'a t -> 'a state
(** Claims the task and runs it to its end; does nothing if it is not ready. A task whose scope has
    been stopped is not begun but {!stop}ped. The state that it found or brought about. Raises none but
    asynchronous exceptions: before it is claimed, or when its waiters have been woken. *)

val run_from : 'a state -> 'a t -> 'a state
(** The same, for who has just read the state. *)

val forgo : 'a t -> home -> unit
(** For one that has waited ({!on_done}), and will not come for the result: if that is a failure, whoever ended
    the task may have told nobody. [home] is the task's. *)

val on_done : ?is_live:(unit -> bool) -> 'a t -> waker -> unit
(** Calls the waker when the task has ended, at once if it has; sometimes twice, and by two domains at the same
    time: who ends the task finds the waker, and who waits finds the task ended. One that is not live any more may be left
    out. *)

val is_ready : 'a t -> bool
val is_done : 'a t -> bool

val has_ended_unstopped : 'a t -> bool
(** Nobody has stopped it, and nobody can any more. *)

val value : 'a state -> 'a
(** That of an ended task, or its exception with its backtrace. *)

val result : 'a t -> 'a
(** The value of an ended task, or its exception with its backtrace. *)

(** {2 Cancellation} *)

val cancelled : Outcome.failure
(** That a task ends with which was stopped before it began; the result of a scope's promise that
    was stopped has to be this very one. *)

val raised : Outcome.failure -> 'a state

val stop : 'a t -> unit
(** A task that nobody has started ends as {!Cancelled}. One that runs is from now on
    {!is_stopped}. One that has ended stays as it is. *)

val is_stopped : 'a t -> bool
(** Whether the task, or a scope around it, was stopped. Some loads for each scope. *)

val was_stopped : 'a t -> bool
(** The task itself. *)

val keep : any -> unit
(** Of the promise and the scopes around it: those that are stopped keep the value that they end with, ... *)

val keep_no_longer : any -> unit
(** ... until their strand is told. *)

val is_strand_of : any -> any -> bool
(** [is_strand_of p me]: whether [me] is [p], or a scope that [p]'s own code has opened, in others or not. *)

val is_within : any -> home -> bool
(** Whether that is the innermost scope around the tasks of that home. *)

val is_orphan : lineage -> bool
(** Whether one of these was stopped. *)

val on_stop : is_live:(unit -> bool) -> 'a t -> waker -> unit
(** Calls the waker once a running task is stopped, at once if it is; never, if it ends before. *)

val attached_to : waker list -> attached
(** To make tasks that have waiters from the start. *)

val make_attached : home -> attached -> (unit -> 'a) -> 'a t
