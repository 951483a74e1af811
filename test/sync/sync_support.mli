(** What the tests of locks share. *)

val suspend : unit -> unit
(** Surely suspends the calling task; in a thread outside all pools, a moment's sleep. *)

val suspend_in_task : unit -> unit
(** The same, surely in a task. *)

val letting_others_run : (unit -> unit) -> unit
(** On a pool of one worker: [f ()], after which all run that it made able to. *)

val all_waiting : int -> (int -> unit) -> unit Muster.Task.t list
(** On a pool of one worker: tasks of [f 0], …, each of which has come as far as it could. *)

val in_a_task_each : int -> (int -> unit) -> unit
(** [in_a_task_each n f] runs [f 0 … f (n - 1)] in a task each, and waits for them. *)

val callers : (string * ((int -> unit) -> unit)) list
(** Kinds of callers: [run f] calls [f 0], [f 1], … from as many tasks, threads, domains, or some of each, at
    once. There are {!several}. *)

val several : int

val on_callers : string -> (run:((int -> unit) -> unit) -> unit) -> unit Alcotest.test_case list
(** A case for each kind. *)

val pools : int list
(** Sizes to try. *)

val on_pools : (unit -> unit) -> unit -> unit

(** {1 Cancellation} *)

val waiting_task : (unit -> 'a) -> 'a Muster.Task.t
(** On a pool of one worker: a task of this function, which has come as far as it could. *)

val check_cancelled : string -> 'a Muster.Task.t -> unit
(** Cancels it, and checks that it ends so. *)

val random_cancels : tasks:int -> (int -> unit) -> int
(** Tasks of this function, many of which are cancelled at random moments; how many ended so. All
    have ended. *)
