(** The part of a place that its owner alone reads and writes, off the cache lines of the others. *)

type fiber = {
  mutable context : Promise.any;  (** the task or scope that its code is a part of *)
  mutable home : Promise.home;  (** of the tasks that it starts *)
  mutable number : int;  (** as the holder of a lock; 0: not drawn yet *)
  mutable checked : bool;
      (** was at a checkpoint, away or took a lock since its innermost deadline was set *)
  handled : bool;  (** whether [Suspend] finds a worker's handler *)
  mutable beneath : fiber;  (** on the same stack, where it waits; [idle] lies on itself *)
  mutable depth : int;  (** fibers beneath it *)
  mutable traced : int;  (** the task that it runs, as Trace numbers it, or 0 (Tell) *)
}
(** One sequence of calls. By the worker that runs it, and by Fiber only. *)

type t = private {
  mutable fiber : fiber;  (** that runs here *)
  idle : fiber;  (** runs here between two others *)
  mutable in_share : bool;  (** runs the job that its mailbox shows *)
  mutable filling : bool;  (** hands out tasks until the deque has [Place.high] *)
  mutable bored : bool;  (** has slept for as long as an idle worker stays *)
  mutable task : Promise.any;  (** taken out of a deque or the inbox, and perhaps not begun *)
  mutable records : bool;  (** backtraces: the thread that handed the task out *)
  mutable is_over : unit -> bool;  (** the wait beneath the tasks that run here *)
  mutable victim : int;  (** the place at which it looks first for tasks of others *)
  mutable polls : int;  (** checkpoints of code that may wait in a loop (Run.poll) *)
  cpu_wait : Cpu_wait.t;
  counts : Counts.t;
}

val none : Promise.any
(** Stands for no task. *)

val uncancelled : Promise.any
(** The context of code that no task's cancellation concerns. *)

val make : Promise.home -> int -> t
(** For the place of that index, in a pool with this home. *)

val run : t -> fiber -> unit
val set_in_share : t -> bool -> unit
val set_filling : t -> bool -> unit
val set_bored : t -> bool -> unit
val found : t -> Promise.any -> records:bool -> unit

val set_is_over : t -> (unit -> bool) -> unit

val count_poll : t -> unit

val put_back : t -> Promise.any -> unit
(** The task that was found before another one, which the worker ran meanwhile. *)

val turn_to : t -> int -> unit
(** The next victim. *)
