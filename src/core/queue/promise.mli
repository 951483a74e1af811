(** A task and the place of its result: a state machine, no scheduling. The protocol is at the
    top of the implementation. Every function may be called by any thread. *)

type waker = Entries.waker

type owner = ..
(** Whose task it is: the scheduler adds what it wants to find there. *)

type owner += Nobody
type 'a t

type attached = {
  entries : Entries.t;
  stopped : bool;
  kept : bool;  (** its value counts, stopped or not *)
  before_end : (unit -> unit) option;  (** called first by the end, unless it was stopped *)
}

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

val result_of : (unit -> 'a) -> 'a state
(** The result of the function, for a party that has claimed its task and will {!resolve} it. Raises
    nothing. *)

val resolve : 'a t -> 'a state -> 'a state
(** Ends a task that the caller has claimed, with [Returned] or [Raised], and wakes the waiters. If
    the task was stopped until then a value is dropped: it ends as {!Cancelled}. The state in which
    it has ended. *)

val run : 'a t -> 'a state
(** Claims the task and runs it to its end; does nothing if it is not ready. The state that it found
    or brought about. Raises none but asynchronous exceptions: before it is claimed, or when its
    waiters have been woken. *)

val forgo : 'a t -> home -> unit
(** For a party that has waited ({!on_done}), and will not come for the result: if that is a
    failure, the party that ended the task may have told nobody. [home] is the task's. *)

val on_done : ?is_live:(unit -> bool) -> 'a t -> waker -> unit
(** Calls the waker when the task has ended, at once if it has. Sometimes it is called twice, and by
    two domains at the same time: by the one that ends the task, and by the one that waits and finds
    it ended. A waker that is not live any more may be left out. *)

val is_ready : 'a t -> bool
val is_done : 'a t -> bool

val value : 'a state -> 'a
(** That of an ended task, or its exception with its backtrace. *)

val result : 'a t -> 'a
(** The value of an ended task, or its exception with its backtrace. *)

(** {2 Stop}

    Of one task; {!Cancellation} knows of the scopes around it. *)

val cancelled : Outcome.failure
(** The failure of a task that was stopped before it began. A scope's promise that was stopped has
    to end with this very one. *)

val raised : Outcome.failure -> 'a state

val stop : 'a t -> unit
(** A task that has not begun ends as {!Cancelled}. A running one is stopped from now on. One that
    has ended stays as it is. *)

val add_hook : is_live:(unit -> bool) -> 'a t -> waker -> bool
(** The stop of a running task shall call the waker. False if it was stopped or has ended. *)

val change : 'a t -> (attached -> attached) -> bool
(** Of a running task, by a function that may be called again. Whether that changed something. *)

(** {2 A waiter from the start} *)

val attached_to : waker -> attached
val make_attached : home -> attached -> (unit -> 'a) -> 'a t
