(** A task and the place of its result: a state machine, no scheduling. The protocol is at the top
    of the implementation. Any thread may call every function. *)

type waker = Entries.waker

type owner = ..
(** The pool of a task, for the scheduler. *)

type owner += Nobody

type 'a t

type attached
(** The entries of a task that has not ended, and whether it was stopped. *)

type 'a state =
  | Ready of (unit -> 'a) * home * attached  (** nobody has started it *)
  | Running of home * attached
  | Returned of 'a
  | Raised of raised

and raised = {
  failure : Outcome.failure;
  heard : heard Atomic.t;
  mutable after_stop : bool;  (** it was stopped while it ran *)
  mutable canary : Machine.Canary.t option;  (** lives as long as the promise *)
}

and heard = Unheard | Noted | Heard

and home = private {
  owner : owner;
  unheard : unheard;
  lineage : lineage;
  opened_by : any option;  (** of a scope's promise: the task whose own code opened the scope *)
  locals : local list;  (** the values that its tasks inherit, one for each key *)
  running : 'a. 'a state;
}
(** Shared by all tasks of a pool, or of a scope in it. *)

and lineage =
  | Alone
  | Within of { part : any; outer : lineage Atomic.t }
      (** stopped when that promise is, or one of those around it *)

and local = Local : 'a Type.Id.t * 'a -> local  (** a key, and its value *)

and unheard = any -> raised -> unit
(** Called when a task fails while nobody waits for it; also, perhaps again, by {!forgo}. *)

and any = opaque t
(** A task of whatever type. *)

and opaque

exception Cancelled
(** The result of a task that was stopped. *)

exception Skipped
(** Stands for code that was left out because of an exception left of it; nobody sees it. *)

val home :
  ?lineage:lineage -> ?locals:local list -> ?opened_by:any -> unheard:unheard -> owner -> home

val nowhere : home
(** For a task whose maker is sure to look at the result. *)

val make : home -> (unit -> 'a) -> 'a t

val started : home -> 'a t
(** A promise without a function: its maker resolves it. *)

val attached_to : waker -> attached
(** A waiter from the start. *)

val make_attached : home -> attached -> (unit -> 'a) -> 'a t
val any : 'a t -> any
val state : 'a t -> 'a state
val is_ready : 'a t -> bool
val is_done : 'a t -> bool

val value : 'a state -> 'a
(** That of an ended task, or its exception with its backtrace. *)

val result : 'a t -> 'a
(** Its [value]. *)

(** {2 Run} *)

val claim : 'a t -> bool
(** Whether the caller, and nobody else, shall run the task. *)

val resolve : 'a t -> 'a state -> 'a state
(** Ends a task that the caller has claimed, with [Returned] or [Raised], and wakes the waiters. The
    state in which it has ended: {!Cancelled} in place of a value, if the task was stopped. *)

val result_of : ('a -> 'b) -> 'a -> 'b state
(** How the call ends; {!val-run} calls a task's function so. An asynchronous exception is the
    call's, unless it strikes before. *)

val try_resolve : 'a t -> 'a state -> bool
(** Ends a promise ({!started}) that several parties may end; whether it did. *)

val run : 'a t -> 'a state
(** Claims the task and runs it to its end, or stops it if a scope around it was stopped; does
    nothing if it is not ready. The state that it found or brought about. Raises none but
    asynchronous exceptions: before the claim, or when the waiters have been woken. *)

val on_done : ?is_live:(unit -> bool) -> 'a t -> waker -> unit
(** Calls the waker when the task has ended, at once if it has; perhaps twice, and by two domains at
    the same time. A waker that is not live any more may be left out. *)

val forgo : 'a t -> home -> unit
(** For a waiter ({!on_done}) that will not come for the result of the task, whose home that is:
    the end of a failed task may have told nobody. *)

(** {2 Stop} *)

val cancelled : Outcome.failure
(** The failure of a task that was stopped before it began. A scope's promise that was stopped has
    to end with this very one. *)

val raised : Outcome.failure -> 'a state

val stop : 'a t -> unit
(** A task that has not begun ends as {!Cancelled}. A running one is stopped from now on. *)

val is_marked : 'a state -> bool
(** Whether the task itself was stopped. One that has ended without a value still tells so, to tasks
    that outlive it. *)

val is_orphan : lineage -> bool
(** Whether one of these scopes was stopped. *)

val is_stopped : 'a t -> bool
(** Whether the task, or a scope around it, was stopped. Some loads, mostly. *)

val within : any -> lineage -> lineage
val link : any -> unit
(** To be called before anything is within the part: from now on the stops of the scopes around it
    mark it, too. *)

val on_stop : 'a t -> Entries.entry -> unit
(** The stop of the running task, or of a scope around it, shall call the entry's waker: at once if
    it has come; never, if the task ends before. *)

val set_kept : bool -> 'a t -> bool
(** Whether the value of the running task counts though it was stopped. Tells whether it is new. *)
