(** Where a program's time went: all events of a run, in the order of time, become a few sums. Its
    memory depends on the tasks that are under way, and on the number of places, not on the length
    of the run. *)

type t

val make : cpus:float -> main:int -> attached:bool -> since:int -> t
(** [main]: the program's first thread. [attached]: the program had begun before [since]. *)

val rings : int
(** That there may be. *)

val event : t -> ring:int -> at:int -> Recording.event -> unit
(** In the order of time. Times in ns. *)

val name : t -> id:int -> string -> unit

(** What the system said of a thread. *)
type thread = {
  thread : int;
  cpu : int;  (** ns on a CPU, in all *)
  queue : int;  (** ns of waiting for one, in all *)
  sleeps : string option;  (** it sleeps, in that system call (or [""]) *)
}

val sample : t -> at:int -> until:int -> thread list -> unit
(** In the order of time with the events. It was asked at [at], and told by [until]. *)

val close : t -> at:int -> unit
(** The end of the run. *)

val has_muster : t -> bool
(** Whether any worker has told anything. *)

val began : t -> int
(** When that was, of a program that had begun before; else the beginning. *)

val counter : t -> string -> int -> unit
(** One of the runtime's, by its name. *)

val measures : t -> Measures.t
