(** How a worker's tasks come into sight, and how a thread that is no worker hands its own in. *)

(** {2 The quiet word of a place: see Place} *)

val set_quiet : Place.t -> int -> unit

val rouse : Place.t -> unit
(** Makes the owner look at its deque at the next fork. By a thief, or by the owner. *)

val wants_tasks : Place.t -> bool
(** Whether the owner should hand tasks out; if not, it is quiet afterwards. *)

val hush : Place.t -> few:int -> unit
(** By the owner: no fork looks, until somebody steals or at most [few] tasks are left. *)

val watches_clock : Place.t -> bool
(** Whether the code that runs there may have a deadline. *)

val call_up : Place.t -> unit
(** Makes the owner look up (Yield.look) at the next fork, or between two chunks of a loop. *)

val heed_call : Place.t -> unit
(** The owner looks up now. *)

(** {2 Tasks} *)

val offer : Place.t -> wake:bool -> Promise.any -> unit
(** By the owner: puts a task into its deque, and wakes a worker. *)

val retract : Place.t -> Promise.any -> unit
(** By the owner: takes the entry out again, if it is the newest. *)

val send : Place.pool -> Promise.any -> unit
(** Puts a task into the inbox, and wakes a resident. *)

val submit : Place.pool -> Promise.any -> unit
(** To the deque of the calling thread if it is a worker of that pool, else to the inbox. *)

(** {2 Leaving and closing} *)

val announce_leave : Place.pool -> unit
(** A worker or a caller has left: others may be able to leave now, or to finish closing. *)

val count_suspended : Place.pool -> int -> unit
(** So many more tasks wait for something; the pool does not close meanwhile. *)

val kept_open : Place.pool -> (unit -> 'a) -> 'a
(** Calls the function, for a thread without a place there; the pool does not close meanwhile. *)

val while_a_task_waits : Place.pool -> (Place.pool -> unit) -> unit
(** The same, if a task waits there: so the pool has not closed either. *)
