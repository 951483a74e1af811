(** A worker's share of a region, and the mailbox in which the worker gets it (Region). *)

(** {2 The mailbox, by its owner} *)

val begin_job : Place.t -> Mailbox.job -> bool
(** The mailbox showed that job; whether the owner is the one to do it. Unbroken (Outcome). *)

val end_job : Place.t -> here:bool -> Mailbox.report -> from:int -> unit
(** The share of that place's mailbox has ended, on its own worker ([here]) or on another. *)

val free_mailbox : Place.t -> unit
(** The owner is to wait within a share: others may use its mailbox. *)

val go_away : Place.t -> unit
(** Its thread works in another pool from now on: callers do this worker's shares themselves. *)

val come_back : Place.t -> unit

val wake_posters : Place.pool -> unit
(** By anyone: wakes the callers that wait for a mailbox. *)

(** {2 The function} *)

val note : Mailbox.report -> int -> exn -> unit
val note_failure : (int -> unit) -> int -> Mailbox.report -> unit
(** [note_failure share index report] is [share index], whose exception it notes. *)

val run : Place.t -> int -> (int -> unit) -> Mailbox.report -> unit
(** The same as code that no task's cancellation concerns, and that cannot suspend. *)

val run_in : Fiber.t -> Place.t -> int -> (int -> unit) -> Mailbox.report -> unit
(** The same in that fiber. Unbroken until the share's first step. *)
