(** A scope: code that ends only when all tasks that it forked have ended, and that can be stopped
    together with them. The public calls are in Task. *)

type t = private {
  promise : unit Promise.t;  (** runs as long as anything in the scope does *)
  home : Promise.home;  (** the tasks' *)
  pool : Place.pool;
  pending : int Atomic.t;  (** parts that run; the scope's own code is one *)
  first : Outcome.failure option Atomic.t;  (** the first failure in time *)
  leave : Promise.attached;  (** called by each task at its end *)
}

val make : Place.t -> t
(** A scope within what the worker's fiber is a part of. *)

val inside :
  t -> Place.t -> failed:(Outcome.failure -> unit) -> (t -> 'a) -> ('a, Outcome.failure) result
(** Runs the function as the scope's code, and waits for the scope's tasks, whatever happens to it.
    [failed] is told of its failure before that wait. *)

val was_told : t -> Place.t -> bool
(** Whether the scope's code, which runs on that worker, has received its cancellation. *)

val task : t -> (unit -> 'a) -> 'a Promise.t
(** A task of the scope, for the caller to publish. Raises [Invalid_argument] if the scope has
    ended. *)

val guarded : t -> (unit -> 'a) -> unit -> 'a
(** The function as a task's body: its failure is the scope's, unless the task was stopped. *)

val fail : t -> Outcome.failure -> unit
(** Stops the scope, which will raise that failure if it is the first. *)

val stop : t -> unit

val stop_firmly : t -> unit
(** As {!stop}; an asynchronous exception that strikes meanwhile is raised afterwards. *)

(** {2 For models} *)

val end_one : unit Promise.t -> int Atomic.t -> unit
(** A part of the scope with that promise and that count has ended. *)
