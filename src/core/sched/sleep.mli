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

val ask_for_one : Place.pool -> unit
(** {!Budget.need} and {!val-hire}, for something that no caller waits for. *)

val watch : unit -> unit
(** Starts the watchdog, if it is not there. *)

val hire_for_work : ?is_missing:(Place.pool -> bool) -> Place.pool -> unit
(** For a task that waits: hires a resident that is missing ([Budget.is_missing]), and starts the
    watchdog where that is missing. *)

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

val pause : Place.t -> found:(unit -> bool) -> settle:(Place.t -> bool) -> unit
(** Spins until [found] holds; else calls [settle], and sleeps until it is woken, or [found] holds,
    for something of its own. *)

val search :
  Place.t ->
  pauses:int ->
  until:(unit -> bool) ->
  found:(unit -> bool) ->
  settle:(Place.t -> bool) ->
  unit
(** Spins until [found] holds; else calls [settle], which tells whether the worker takes nothing of
    others, and sleeps until it is woken or [found] holds. [until] ends its search for good. *)
