(** How a worker runs what it has found, and how a strand of code lets go of its worker. *)

(** {2 Suspending} *)

type suspension

type _ Effect.t +=
  | Suspend : suspension -> unit Effect.t  (** Returns once the strand has been resumed. *)

val suspension : Place.pool -> (Promise.waker -> unit) -> suspension
(** [suspension pool register]: the strand goes on in [pool]. [register] gets the function that
    resumes it, which may be called twice. *)

val leave_to : Place.t -> Promise.any -> bool
(** Hands a strand to the sleeping thread of that place; whether it sleeps. *)

val aside : Place.t -> records:bool -> Fiber.t -> ('a -> unit) -> 'a -> unit
(** [aside w ~records fiber f x] is [f x] as code of that fiber. Afterwards the fiber that ran on
    [w] until now runs again. [records]: with backtraces. *)

val noting : bool ref -> (unit, unit) Effect.Deep.handler
(** The handler of [Suspend], which also sets the reference at the first wait. *)

(** {2 A caller's fiber} *)

type call
(** What a caller's thread and its fiber say to each other. *)

val call : Place.t -> call

val handler_of_call : call -> (unit, unit) Effect.Deep.handler
(** The handler of [Suspend], for the caller's fiber. *)

val strike : call -> Outcome.failure -> bool
(** By the caller's thread, which an exception has struck: the fiber raises it at its wait, now or
    the next time. False while the fiber has yet to raise an earlier one. *)

val take_strike : call -> Outcome.failure option

(** {2 Tasks} *)

val execute : Place.t -> records:bool -> Promise.any -> unit
(** Runs the task, in a fiber, unless it has begun or its region was broken off. *)

val on_top : Place.t -> Promise.any -> unit
(** Runs a task that the strand on the worker awaits, in a fiber on top of that strand. *)

val in_fiber : Promise.any -> unit
val in_fiber_under : (unit, unit) Effect.Deep.handler -> _ Promise.t -> unit

val refuse_endless : Place.t -> unit
(** Raises [Stack_overflow] where too many fibers lie on top of each other. *)

(** {2 Looking up, between two steps of a task} *)

val look : Place.t -> unit
(** For exceptions that nobody heard, the machine's load, and deadlines. *)

val look_up : Place.t -> unit
(** Looks if the collector has called the worker up, and moves the task away from a dismissed
    worker. *)

val look_up_if_due : Place.t -> unit
(** The same, by the clock. *)

(** {2 Shares of regions} *)

val note_failure : (int -> unit) -> int -> Mailbox.report -> unit
(** [note_failure share index report] is [share index], whose exception it notes. *)

val run_share : Place.t -> int -> (int -> unit) -> Mailbox.report -> unit
(** The same in place, as code that no task's cancellation concerns: it cannot suspend. *)

val run_share_on_top :
  Place.t ->
  int ->
  Mailbox.letter ->
  take:(unit -> bool) ->
  share:(int -> unit) ->
  ended:(here:bool -> unit) ->
  bool
(** Another caller's share, in a fiber. [take] gets the job and fills in the letter; the result is
    whether it got one. Then [ended] is called once; [here]: on the same worker. *)

val serve_one : Place.t -> on_top:bool -> bool
(** By the owner: runs the job in its mailbox, if there is one. [on_top]: of another strand. *)

val serve : Place.t -> unit
(** The same, on top of the strand on the worker. *)

val free_mailbox : Place.t -> unit
(** By the owner, which is to wait within a share: others may use its mailbox. *)

val wake_posters : Place.pool -> unit
(** Wakes the callers that wait for a mailbox. *)

val go_away : Place.t -> unit
(** Its thread works in another pool from now on: callers do this worker's shares themselves. *)

val come_back : Place.t -> unit
