(** Domainslib's pools: one of Muster's each, and Domainslib's facts about them. *)

type t = private {
  pool : Pool.t;
  home : Promise.home;  (** of its tasks *)
  asked : int;  (** workers, the caller's included *)
  torn_down : bool Atomic.t;
  runs : int Atomic.t;  (** calls of {!run} that are going on *)
  last_closes : bool Atomic.t;  (** the last of these tears the pool down *)
}

val setup : ?name:string -> num_domains:int -> unit -> t
val teardown : t -> unit
val lookup : string -> t option
val num_domains : t -> int

val check : t -> unit
(** Raises [Invalid_argument] if the pool is torn down. *)

val count_on_others : t -> unit
(** Tasks that wait by the stdlib's means, and keep their workers, are about to begin. *)

val enter : t -> (unit -> 'a) -> 'a
(** Runs a function in a fiber of the pool. *)

val run : t -> (unit -> 'a) -> 'a
val async : t -> (unit -> 'a) -> 'a Task.t
val await : t -> 'a Task.t -> 'a
