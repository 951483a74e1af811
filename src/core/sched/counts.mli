(** The counts of a worker. Its owner alone counts; others read a copy. Times are in ticks. *)

type wait = private {
  call : string;  (** as in {!Event} *)
  mutable times : int;
  mutable ticks : int;
}

type t = private {
  mutable tasks : int;
  mutable forks : int;
  mutable steals : int;
  mutable parks : int;
  mutable regions : int;
  mutable heap : int;  (** minor heap of the last thread here, in words; 0: it has not looked *)
  mutable busy : int;
  mutable idle : int;
  mutable since : int;  (** when it became busy; or idle, below 0; or 0: nobody is there *)
  mutable waits : wait list;  (** one for each call that has waited *)
}

val make : unit -> t

val copy : t -> t
(** Nobody changes it. *)

val add_task : t -> unit
val add_fork : t -> unit
val add_steal : t -> unit
val add_park : t -> unit
val add_region : t -> unit

val note_heap : t -> unit
(** The minor heap of the calling domain. *)

(** {2 Time}

    It is measured from {!start_timing} on. *)

val start_timing : unit -> unit

val turn_busy : t -> unit
(** It is at work, perhaps since before {!start_timing}. *)

val turn_idle : t -> unit
(** It looks for something to do, or sleeps. *)

val leave : t -> unit

val until : int -> t -> int * int
(** How long it was busy, and idle, until that time. *)

(** {2 Waits} *)

val cpu : string
(** Stands for those of its thread for a CPU. *)

val add_cpu_wait : t -> ns:int -> unit

val begin_wait : unit -> int
(** The time; 0 while none is measured. *)

val end_wait : t -> string -> int -> unit
(** One of that call, which began then. *)
