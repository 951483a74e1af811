(** Tasks, and their longest chain, found on the way. *)

type task = {
  site : int;
  parent : task option;
  every : int;  (** it stands for so many *)
  mutable base : strand;
  mutable own : int;  (** ns since [base] *)
  mutable best : strand;  (** of the children that have ended *)
  mutable wait_every : int;  (** its wait stands for so many *)
  mutable work : int;  (** ns *)
}

(** The longest chain of work up to some moment. *)
and strand = { span : int;  (** ns *) path : (int * int) list  (** by site *) }

val root : unit -> task
(** The code outside all pools, or of a task that is not known. *)

val fork : parent:task -> every:int -> site:int -> task

val run : task -> int -> unit
(** It worked for so many ns. *)

val join : task -> unit
(** It goes on, after children that have ended. *)

val finish : task -> parent:task -> unit

val strand : task -> strand
