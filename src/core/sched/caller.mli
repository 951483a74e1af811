(** How a caller's thread comes to work in a pool, and leaves it. *)

val most_callers : int
(** In one pool at the same time. *)

(** {2 Where the calling thread is} *)

val place_in : Place.pool -> Place.t option
(** Where it works now, if that is in this pool. *)

val inside : Place.pool -> bool
(** Whether it works in that pool now. *)

val has_place : Place.pool -> bool
(** The same, but it may work in another pool meanwhile. *)

(** {2 Working in a pool} *)

val with_worker :
  ?if_closed:(unit -> 'a) ->
  string ->
  Place.pool ->
  in_place:(unit -> 'a) ->
  (Place.t -> 'a) ->
  'a
(** [with_worker fn pool ~in_place f] calls [f] with a place of the pool: the thread's own, or a
    new one, where it runs in a fiber of its own. Where all places are taken it is [in_place ()],
    and where the pool is closed [if_closed ()]; without that, [Invalid_argument] names [fn]. For a
    fiber of another scheduler [f] is a task, and may go on after the fiber was cancelled. *)

val with_worker_here :
  ?if_closed:(unit -> 'a) ->
  string ->
  Place.pool ->
  in_place:(unit -> 'a) ->
  (Place.t -> 'a) ->
  'a
(** The same, but [f] is never a task: the code of a fiber may use its own scheduler. *)

val with_worker_plainly :
  ?if_closed:(unit -> 'a) ->
  string ->
  Place.pool ->
  in_place:(unit -> 'a) ->
  (Place.t -> 'a) ->
  'a
(** The same for a function that never suspends, such as a region: it needs no fiber. *)

val with_worker_to_the_end : Place.pool -> in_place:(unit -> 'a) -> (Place.t -> 'a) -> 'a
(** {!with_worker}, also in a pool that closes, which waits for it. *)

val something_is_left : Place.pool -> bool
(** Whether a task lies in the inbox or in a deque. *)

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

val refuse_late : string -> Place.pool -> unit
(** Refuses a closing pool, unless the thread has a place there: closing waits for it. *)

val refuse_or_send : string -> Place.pool -> Promise.any -> unit
(** Puts a task into the inbox of a pool that is not closing. *)
