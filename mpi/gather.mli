(** Arrays whose blocks lie on the ranks. Muster_mpi.Spread says what each call does. *)

val arrays : string -> on:int option -> (unit -> 'a array) -> 'a array
(** [arrays call ~on f]: the arrays [f ()] of all ranks, one after the other, on one rank or on all; a
    part of an operation, as [Collective.share]. Arrays of floats, and of values that are no pointers,
    go from one heap to the other as they are. *)

module Spread : sig
  type 'a t

  val init : int -> (int -> 'a) -> 'a t
  val map : ('a -> 'b) -> 'a t -> 'b t
  val length : 'a t -> int
  val first : 'a t -> int
  val own : 'a t -> 'a array
  val gather : ?on:int -> 'a t -> 'a array
end

module Array : sig
  val init : ?on:int -> int -> (int -> 'a) -> 'a array
  val map : ?on:int -> ('a -> 'b) -> 'a array -> 'b array
end
