(** Fork Union's calls: the whole pool at once, each worker knowing its index. *)

val broadcast : Pool.t -> (int -> unit) -> unit

val for_slices :
  Pool.t -> int -> (worker:int -> start:int -> count:int -> unit) -> unit

val for_n : Pool.t -> int -> (worker:int -> int -> unit) -> unit
val for_n_dynamic : Pool.t -> int -> (worker:int -> int -> unit) -> unit

(** {2 For kernels} *)

type loop = {
  n : int;
  chunk : worker:int -> int -> int -> unit;  (** bounds included *)
  code : int;
  most : int;  (** workers that may take part *)
  to_the_end : bool;  (** see Region *)
}

val run_dynamic : unit Caller.closed -> Pool.t -> loop -> unit
