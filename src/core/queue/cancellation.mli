(** How a task's own code meets a stop. Any thread may call every function. *)

val keep : Promise.any -> unit
(** The task and the scopes that its own code has opened, as far as they are stopped, keep the value
    that they end with. Time in proportion to the number of these scopes. *)

val keep_no_longer : Promise.any -> unit
(** They drop it again. *)

val task_of : Promise.any -> Promise.any
(** The task whose own code has opened that scope, in others or not; of a task itself. *)
