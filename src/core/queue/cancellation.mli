(** What is stopped with what: the scopes around a task, and the waits on its behalf. The protocol
    is at the top of the implementation. Every function may be called by any thread. *)

val was_stopped : 'a Promise.t -> bool
(** Whether the task itself was stopped. *)

val has_ended_unstopped : 'a Promise.t -> bool
(** The task was not stopped, and cannot be any more. *)

val is_orphan : Promise.lineage -> bool
(** Whether one of these scopes was stopped. *)

val is_stopped : 'a Promise.t -> bool
(** Whether the task, or a scope around it, was stopped. Some loads for each scope. *)

val run : 'a Promise.t -> 'a Promise.state
(** [Promise.run]. But a task whose scope was stopped is not begun: it is stopped. *)

val on_stop : is_live:(unit -> bool) -> 'a Promise.t -> Promise.waker -> unit
(** Calls the waker once a running task is stopped, at once if it is; never, if it ends before. *)

val keep : Promise.any -> unit
(** Of the task and the scopes that it has opened, those that are stopped keep the value that they
    end with. *)

val keep_no_longer : Promise.any -> unit
(** They drop it again. *)

val is_strand_of : Promise.any -> Promise.any -> bool
(** [is_strand_of p me]: whether [me] is [p], or a scope that [p]'s own code has opened, in others
    or not. *)
