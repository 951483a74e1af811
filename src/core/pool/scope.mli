(** Scopes: code that ends only when all tasks that it forked have ended, and that can be stopped
    together with them. Muster.Task says what each call does. [code]: as in Fiber.traced. *)

type t = private {
  promise : unit Promise.t;  (** runs as long as anything in the scope does *)
  home : Promise.home;  (** the tasks' *)
  pool : Place.pool;
  pending : int Atomic.t;  (** parts that run; the scope's own code is one *)
  first : Outcome.failure option Atomic.t;  (** the first failure in time *)
  leave : Promise.attached;  (** ends the task's part of the scope *)
}

exception Deadline_exceeded

val within : (t -> 'a) -> 'a
(** Muster.Task.scope. *)

val fork : ?code:int -> t -> (unit -> 'a) -> 'a Promise.t
val stop : t -> unit
val with_deadline : float -> (unit -> 'a) -> 'a

(** {2 For Several} *)

val fork_unguarded : t -> (unit -> 'a) -> 'a Promise.t
(** {!fork}, but the task's failure is not the scope's. *)

val fail : t -> Outcome.failure -> unit
(** Stops the scope, which raises that failure if it is the first. *)

(** {2 For models} *)

val make : Place.t -> t
(** A scope within what the worker's fiber is a part of. *)

val end_one : unit Promise.t -> int Atomic.t -> unit
(** A part of the scope with that promise and that count has ended. *)

val task : t -> (unit -> 'a) -> 'a Promise.t
(** A task of the scope, yet unpublished. Raises [Invalid_argument] if the scope has ended. *)
