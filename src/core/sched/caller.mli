(** How a caller's thread comes to work in a pool, and leaves it. *)

(** {2 Where the calling thread is} *)

val place_in : Place.pool -> Place.t option
(** Where it works now, if that is in this pool. *)

val has_place : Place.pool -> bool
(** Whether the calling thread is in that pool, be it that it works in another one meanwhile. *)

(** {2 Working in a pool} *)

(** How a function runs in the pool. *)
type how =
  | Anywhere
      (** As {!Here}; for a fiber of another scheduler as a task, which may outlast the fiber's
          wait. *)
  | Here  (** on the calling thread, in a fiber of its own *)
  | Plainly  (** on the calling thread: it never suspends, such as a region *)

(** How a closed pool answers. *)
type 'a closed =
  | Refuse of string  (** raises [Invalid_argument] for that public function *)
  | Instead of (unit -> 'a)
  | Stay  (** lets the caller in, and waits for it *)

val with_worker : how -> 'a closed -> Place.pool -> (Place.t -> 'a) -> 'a
(** Calls the function with a place of the pool: the one at which the thread works, or a new one. *)

val keeps_time : Place.pool -> bool
(** Whether a suspended task may have a deadline, so that a worker has to look at the clock. *)

(** {2 Waiting} *)

val wait : Event.t -> _ Promise.t -> unit
(** Until the promise has a result. A task is suspended meanwhile; see {!Worker.wait}. *)

val wait_as : Place.t -> _ Promise.t -> unit
(** The same for code that cannot be suspended; see {!Worker.help}. *)

val waiting_for :
  _ Promise.t ->
  (ready:(unit -> bool) -> register:(Promise.waker -> unit) -> unit) ->
  unit
(** [waiting_for p wait] waits for the promise by [wait]. Once an exception has ended that, its
    entries count for nothing. *)

(** {2 Refusals} *)

val invalid : string -> ('a, unit, string, 'b) format4 -> 'a
(** [invalid fn text] raises [Invalid_argument] for the public function [fn]. *)

val refuse : string -> Place.pool -> unit -> 'a
(** The same for a closed pool. *)

val is_late : Place.pool -> bool
(** Whether the pool is closing, and the thread has no place there: closing waits for it. *)

val send : Place.pool -> Promise.any -> bool
(** Puts a task into the inbox, unless {!is_late}; whether it has. *)
