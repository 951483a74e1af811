(** Tasks with a promise that anyone may await, from anywhere, and scopes. See Muster for what each
    call does. *)

type 'a t = 'a Promise.t
type scope = Scope.t

exception Cancelled
exception Deadline_exceeded

val async : (unit -> 'a) -> 'a t
val await : 'a t -> 'a
val cancel : 'a t -> unit
val check : unit -> unit
val on_cancel : (unit -> unit) -> unit
val set_uncaught_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
val scope : (scope -> 'a) -> 'a
val fork : scope -> (unit -> 'a) -> 'a t
val cancel_scope : scope -> unit
val with_deadline : float -> (unit -> 'a) -> 'a
val all : (unit -> 'a) list -> 'a list
val first : (unit -> 'a) list -> 'a

(** {2 For Domainslib's pools} *)

val send : Place.pool -> 'a t -> 'a t
(** Sends a task to a pool from outside. Raises [Invalid_argument] if the pool is closed. *)

val offer : Place.t -> 'a t -> 'a t
(** Puts a task into the worker's own deque. *)
