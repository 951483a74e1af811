(** The past of a pool: decisions with their reasons. *)

(** Many decisions of one kind push out none of the others. *)
type kind =
  | Workers  (** how many a pool has *)
  | Heaps
  | Cpus  (** that the process has, or lends *)
  | Domains  (** that start and end *)

type decision = {
  at : int;  (** ns *)
  kind : kind;
  what : string;
  why : string;
}

type t = {
  since : int;  (** when it was made, in ns *)
  ended : int Atomic.t;  (** domains (Resident) *)
  told : bool Atomic.t;  (** whether its figures were printed (Report) *)
  log : decision list Atomic.t;  (** the newest first (Load) *)
}

val make : unit -> t

val add : kind -> string -> string -> decision list -> decision list
(** [add kind what why log] is [log] with one made now. *)
