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

val aside : Place.t -> records:bool -> Fiber.t -> ('a -> 'b) -> 'a -> 'b
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

val resumed : Promise.home
(** Of tasks that go on with a fiber: nobody awaits these. *)

val refuse_endless : Place.t -> unit
(** Raises [Stack_overflow] where the awaits on the stack are endless. *)

(** {2 Shares of regions} *)

val serve_one : Place.t -> on_top:bool -> bool
(** By the owner: runs the job in its mailbox, if there is one. [on_top]: of another fiber. *)

val serve : Place.t -> unit
(** The same, on top of the worker's fiber. *)
