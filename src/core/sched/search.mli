(** The order in which a worker looks for tasks. A task that it gets is in no queue any more;
    [Place.none] stands for none. *)

val find : Place.t -> Promise.any
(** The next task for the worker. *)

val find_what_is_stuck : Place.t -> Promise.any
(** For the watchdog's own caller: from the inbox, or from some other's deque. *)

val put_back : Place.t -> Promise.any -> unit
(** Notes the task again that was found before another one, which the worker ran meanwhile. *)

val steal : Place.t -> Promise.any
(** From some other's deque. *)

val has_work : Place.t -> bool
(** Whether {!find} or the worker's mailbox may have something for it. *)

val inbox_has_work : Place.t -> bool
(** Whether that is so of the inbox. *)

val stands_back : Place.t -> bool
(** Whether the worker takes nothing of others: it is a dismissed resident, or a caller whose domain
    works for another thread. *)
