(** What each worker did when: a recording's events as spans of time. *)

type what =
  | Task of int  (** by its number *)
  | Code  (** a caller's own code, a task that is not traced, or the scheduler *)
  | Region  (** a call of [Team] *)
  | Looking  (** for work *)
  | Parked
  | Away  (** in no pool *)
  | Unknown  (** events were lost *)

type 'what span = { start : int; stop : int; what : 'what }

type task = {
  number : int;
  mutable site : int;  (** 0 where it is not known *)
  mutable parent : int;
  mutable forked : int;
      (** when it was handed out; -1 where that is not known, as for the others *)
  mutable began : int;
  mutable ended : int;
  mutable ran : int;  (** its spans, in all *)
  mutable thief_of : int;  (** the worker that it was stolen from, or -1 *)
}

type lane = {
  ring : int;
  spans : what span array;  (** one after the other, from 0 to the end of the recording *)
  gc : Recording.phase span array;  (** the innermost phases *)
  threads : (int * int) list;  (** from when on which of the system's threads, in order *)
  workers : (int * int) list;  (** the pools and workers that it was *)
  steals : int;
}

type t = {
  lanes : lane list;
  tasks : (int, task) Hashtbl.t;
  queued : int list;  (** how long jobs of services have waited in the queue *)
  waited : int list;  (** how long tasks have waited otherwise *)
  sampled : bool;  (** whether not all tasks were traced *)
}

val of_recording : Recording.t -> t
