(** What a worker has found, and where it looks next. Its owner's alone (Search, Worker). *)

type t = private {
  mutable task : Promise.any;  (** taken out of a deque or the inbox, and perhaps not begun *)
  mutable records : bool;  (** backtraces: the thread that handed the task out *)
  mutable from_inbox : bool;  (** the task came from outside *)
  mutable victim : int;
  mutable turn : int;  (** how often it has looked for a task *)
}

val make : none:Promise.any -> int -> t
(** For the worker of that index. [none] stands for no task. *)

(** {1 What it has found} *)

val begin_to_look : t -> unit
val keep : t -> Promise.any -> records:bool -> unit
val keep_from_inbox : t -> Promise.any -> records:bool -> unit

val put_back : t -> Promise.any -> unit
(** The task that was kept before another one, which the worker ran meanwhile. *)

(** {1 Where it looks next} *)

val turn_to : t -> int -> unit
(** This victim had something. *)

val turn_away : t -> places:int -> unit
(** To the victim that follows, of so many. *)

(** What comes first. *)
type first = Newest | From_inbox | Own_oldest | From_another

val next_turn : t -> first
