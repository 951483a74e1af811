(** How a worker runs what it has found, and how a fiber lets go of its worker. *)

(** {2 Suspending} *)

type _ Effect.t +=
  | Suspend : ((unit, unit) Effect.Deep.continuation -> unit) option -> unit Effect.t
        (** Returns once the fiber has been resumed. *)

val suspension :
  Place.pool -> (Promise.waker -> unit) -> ((unit, unit) Effect.Deep.continuation -> unit) option
(** [suspension pool register]: the fiber goes on in [pool]. [register] gets the function that
    resumes it, which may be called twice. *)

val handler : (unit, unit) Effect.Deep.handler
(** Of [Suspend]. *)

val aside : Place.t -> records:bool -> Fiber.t -> ('a -> unit) -> 'a -> unit
(** [aside w ~records fiber f x] is [f x] as code of that fiber, on top of the one that runs on [w].
    [records]: with backtraces. *)

(** {2 A caller's fiber} *)

val call : unit -> Slot.call
val has_waited : Slot.call -> bool

(** {2 Tasks} *)

val execute : Place.t -> records:bool -> Promise.any -> unit
(** Runs the task, in a fiber, unless it has begun or was stopped. *)

val on_top : Place.t -> Promise.any -> unit
(** Runs a task that the worker's fiber awaits, in a fiber on top of it. *)

val in_fiber : Promise.any -> unit
(** Runs the task under the handler of [Suspend], as the worker's fiber. *)

val refuse_endless : Place.t -> unit
(** Raises [Stack_overflow] where the awaits on the stack are endless. *)

(** {2 Between two steps of a task} *)

val look : Place.t -> unit
(** Reports what nobody awaits, and looks at the load and at the clock. *)

val look_up : Place.t -> unit
(** The same if the collector has called the worker up. The task leaves a dismissed worker. *)

val look_up_if_due : Place.t -> unit
(** The same, by the clock. *)

val step_aside : Place.t -> unit
(** Leaves the worker to others, if it is dismissed or the wait beneath the fiber is over. *)

val take_turns : Place.t -> unit
(** Looks at the clock; {!step_aside}; then the fiber goes behind all tasks that wait, if it can. *)

val take_turns_if_due : since:int ref -> Place.t -> unit
(** The same between two calls of a fiber that makes many, when its turn has lasted 200 us. *)

val poll : unit -> unit
(** By code that may wait in a loop: gives way every so often. 2 ns. *)

(** {2 Shares of regions} *)

val note_failure : (int -> unit) -> int -> Mailbox.report -> unit
(** [note_failure share index report] is [share index], whose exception it notes. *)

val run_share : Place.t -> int -> (int -> unit) -> Mailbox.report -> unit
(** The same as code that no task's cancellation concerns, and that cannot suspend. *)

val serve_one : Place.t -> on_top:bool -> bool
(** By the owner: runs the job in its mailbox, if there is one. [on_top]: of another fiber. *)

val serve : Place.t -> unit
(** The same, on top of the worker's fiber. *)

val free_mailbox : Place.t -> unit
(** By the owner, which is to wait within a share: others may use its mailbox. *)

val wake_posters : Place.pool -> unit
(** Wakes the callers that wait for a mailbox. *)

val go_away : Place.t -> unit
(** Its thread works in another pool from now on: callers do this worker's shares themselves. *)

val come_back : Place.t -> unit
