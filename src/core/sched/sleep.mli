(** How workers go to sleep, and which of them a publisher wakes or calls: the policy above
    [Parking]. *)

(** {2 Tasks that wait} *)

val some_deque_has_work : Place.pool -> bool
val something_is_left : Place.pool -> bool
(** Whether a deque or the inbox has an entry; it may be stale. *)

val a_task_waits : Place.pool -> bool

val oldest_ready : Place.t -> Promise.any
(** Of its deque, below stale entries too; [Place.none] if there is none. *)

(** {2 More residents} *)

type help = {
  hire : Place.pool -> unit;  (** one more resident, if one is missing and can be had *)
  watch : unit -> unit;  (** starts the watchdog, if it is not there *)
}

val help : help ref
(** Pool sets it before there is a pool, as Resident and Watchdog lie above this module. *)

val hire : Place.pool -> unit

val need : Place.pool -> int -> ms:int -> unit
(** Allows so many residents for the next [ms] milliseconds, whatever the load. *)

val still_needed : Place.pool -> int
(** How many {!need} allows at this moment, or 0. *)

val ask_for_one : Place.pool -> unit
(** {!need} and {!val-hire}, for something that no caller waits for. *)

val promised : Place.pool -> int
(** Residents on which the pool's tasks of [async] may count, whatever the load. *)

val watch : unit -> unit
(** Starts the watchdog, if it is not there. *)

val is_watch_missing : Place.pool -> bool
(** Whether tasks may wait for each other unseen, as fewer residents are allowed than promised. *)

val lacks_stand_in : Place.pool -> bool
(** Whether a resident more may work, be it in a caller's stead. *)

val watch_if_missing : Place.pool -> unit

(** {2 Wakes} *)

val wake_for_work : Place.pool -> unit
(** After a task was put into a deque: wakes a sleeper, or asks for a resident. *)

val wake_for_inbox : Place.pool -> unit
(** After a task was put into the inbox. *)

val pass_on : Place.t -> unit
(** By a worker that was woken for a task and has no time for it. *)

(** {2 The way to sleep} *)

val idle_ms : int
(** How long a resident sleeps before it leaves. *)

val arrive : Place.t -> unit
(** A resident has come, and has not slept yet. *)

val region_pauses : Place.pool -> int
val search_pauses : Place.pool -> served:bool -> int

val spin : found:(unit -> bool) -> int -> bool
(** Looks for a while, with so many pauses first; whether something was found. *)

val park_aside : Place.t -> found:(unit -> bool) -> unit
(** Sleeps until it is woken, or [found] holds, for something of its own. *)

val search :
  Place.t ->
  pauses:int ->
  until:(unit -> bool) ->
  found:(unit -> bool) ->
  settle:(Place.t -> bool) ->
  unit
(** Spins until [found] holds; else calls [settle], which tells whether the worker takes nothing of
    others, and sleeps until it is woken or [found] holds. [until] ends its search for good. *)
