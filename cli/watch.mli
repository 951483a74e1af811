(** Watching a process: its rings, and what the system says of its threads, until it is told to end. *)

type seen =
  | Nothing  (** no ring: no program of OCaml 5 *)
  | Rings  (** a ring, but no worker has told anything *)
  | Muster

(** What was seen. *)
type run = {
  outcome : Recording.outcome;
  seen : seen;
  measures : Measures.t;
  cpu : float;  (** seconds of CPU time *)
  kernel : float;  (** of these in the kernel, from the first sample to the last *)
  room : Procfs.room;
  throttled : float;  (** seconds for which a quota has stopped it, summed over CPUs *)
  pace : float option;  (** what {!Gauge} found meanwhile *)
  lost : int;  (** see {!Rings.lost} *)
  interrupted : bool;  (** by Ctrl-C, of the command *)
  recording : Recording.t Lazy.t;  (** without measures and verdict *)
}

type t

val make : ?gauged:bool -> attached:bool -> dir:string -> since:int -> int -> t
(** Of the process of that number, whose rings lie, or will lie, in [dir]. Events before [since] do
    not count. It may start the one that has rings, if it is not [attached]. [gauged]: with a
    {!Gauge}, which takes a hundredth of a CPU. *)

val until : t -> over:(int -> 'a option) -> 'a
(** Watches until [over], which gets the time, gives something. *)

val is_replaced : t -> bool
(** Its process runs another program by now. *)

val has_begun : t -> bool
(** Whether a worker has told anything: what a running program did before does not count. *)

val cpu : t -> float
(** Seconds of CPU time, from the first sample to the last. *)

val run :
  t ->
  program:string list ->
  outcome:Recording.outcome ->
  cpu:float ->
  interrupted:bool ->
  run
(** At the end. *)
