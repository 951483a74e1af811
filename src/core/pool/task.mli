(** Tasks, which anybody may await from anywhere. Muster.Task says what each call does. *)

type 'a t = 'a Promise.t

exception Cancelled

val async : (unit -> 'a) -> 'a t
val await : 'a t -> 'a
val cancel : 'a t -> unit
val check : unit -> unit
val yield : unit -> unit
val on_cancel : (unit -> unit) -> unit
val with_on_cancel : (unit -> unit) -> (unit -> 'a) -> 'a
val set_uncaught_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit

(** {2 For scopes, and for Domainslib's pools} *)

val send : Place.pool -> 'a t -> 'a t
(** Sends a task to a pool from outside. Raises [Invalid_argument] if the pool is closed. *)

val offer : Place.t -> 'a t -> 'a t
(** Puts a task into the worker's own deque. *)

val begin_at : 'a t -> Place.t -> unit
(** Runs the task on top of the worker's fiber, if nobody has begun it. *)

val join : 'a t -> unit
(** Returns when the task has ended; until it begins, as {!await} does. *)

val at : int -> (unit -> unit) -> unit -> unit
(** [Timer.add], be it for a wait of another scheduler's fiber. The result forgets it. *)
