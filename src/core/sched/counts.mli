(** The counts of a worker. Its owner alone counts; others read a copy. *)

type t = private {
  mutable tasks : int;
  mutable forks : int;
  mutable steals : int;
  mutable parks : int;
  mutable regions : int;
  mutable waits : int;  (** noticed, for a CPU *)
  mutable waited : int;  (** in these, in ns *)
  mutable heap : int;  (** minor heap of the last thread here, in words; 0: it has not looked *)
}

val make : unit -> t

val copy : t -> t
(** Nobody changes it. *)

val add_task : t -> unit
val add_fork : t -> unit
val add_steal : t -> unit
val add_park : t -> unit
val add_region : t -> unit

val add_wait : t -> int -> unit
(** So many ns for a CPU. *)

val note_heap : t -> unit
(** The minor heap of the calling domain. *)
