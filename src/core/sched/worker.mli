(** The loop of a worker, and how code waits. *)

val work : Place.t -> on_top:bool -> until:(unit -> bool) -> unit
(** Runs tasks and shares, and sleeps where there are none, until [until] holds. [on_top]: of other
    code of the calling thread, for whose sake it waits. *)

val execute_next : Place.t -> (Place.t -> Promise.any) -> bool
(** Runs the task that the function finds; whether there was one. *)

val search : Place.t -> pauses:int -> until:(unit -> bool) -> unit
(** Looks for something to do, and sleeps if there is nothing. *)

val pause : Place.t -> found:(unit -> bool) -> unit
(** Sleeps until the worker is woken, or [found] holds, and runs nothing meanwhile. *)

(** {2 The waiting door: every wait for a promise comes through here} *)

val wait :
  firmly:bool ->
  Event.t ->
  ready:(unit -> bool) ->
  register:(Promise.waker -> unit) ->
  unit
(** Returns when [ready] holds, and looks after each call of the waker that it registers. A task is
    suspended meanwhile, also a fiber of another scheduler; other code of a worker runs tasks; any
    other thread sleeps. If [firmly], a fiber whose scheduler cancels it goes on to wait. *)

val help : Place.t -> ready:(unit -> bool) -> register:(Promise.waker -> unit) -> unit
(** {!wait} of code that cannot be suspended: its worker runs tasks on top of it. *)

(** {2 Asynchronous exceptions that strike where nobody can raise them} *)

val stash : Place.pool -> exn -> unit
(** By a resident between two tasks, or a thread of the crew whose call nobody waits for. *)

val raise_later : exn -> unit
(** By the thread of a wait, or a job, that has just ended: it raises it soon, or passes it on. *)

val leave_stray : Place.pool -> exn -> unit
(** For any caller of the pool; where it is that of [Place.nobody], for any thread outside. *)

val take_stray : Place.pool -> unit
(** Raises one that is left for the calling thread, if there is one. *)
