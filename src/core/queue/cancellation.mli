(** How a stop reaches the tasks of a scope, and the waits on their behalf. Any thread may call
    every function. *)

val is_stopped : 'a Promise.t -> bool
(** Whether the task, or a scope around it, was stopped. Some loads for each scope. *)

val on_stop : is_live:(unit -> bool) -> 'a Promise.t -> Promise.waker -> unit
(** Calls the waker once a running task is stopped, at once if it is; never, if it ends before. *)

val keep : Promise.any -> unit
(** The task and the scopes that it has opened, as far as they are stopped, keep the value that they
    end with. *)

val keep_no_longer : Promise.any -> unit
(** They drop it again. *)

val is_own_part : Promise.any -> Promise.any -> bool
(** [is_own_part p me]: whether [me] is [p], or a scope that [p]'s own code has opened, in others or
    not. *)
