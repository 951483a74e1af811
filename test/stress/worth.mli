(** What a graph is worth. *)

open Graph

exception Boom of int

(** How the parts of a graph are run. Where parts raise, a runner raises the exception of
    the leftmost of them. *)
module type RUNNER = sig
  val both : (unit -> int) -> (unit -> int) -> int * int
  val async : (unit -> int) list -> int list
  val shared : int -> (unit -> int) -> int list
  val all : (unit -> int) list -> int list
  val first : (unit -> int) list -> int
  val any : (unit -> int) list -> int
  val promised : (unit -> int) -> int

  val named : int -> (unit -> int) -> int
  (** With that value to inherit. *)

  val scope : (unit -> int) list -> int list
  val deadline : (unit -> int) -> int
  val cancel : early:bool -> (unit -> int) -> (unit -> int) -> int
  val for_ : grain:int option -> int -> (int -> unit) -> unit
  val reduce : grain:int option -> int -> ('a -> 'a -> 'a) -> 'a -> (int -> 'a) -> 'a
  val find : int -> (int -> int option) -> int option
  val scan : ('a -> 'a -> 'a) -> 'a array -> 'a array

  val team : team -> int -> (int -> unit) -> unit
  (** The body is called with every index below the count. *)

  val run : (unit -> int) -> int
  val elsewhere : (unit -> int) -> int
  val in_domain : (unit -> int) -> int
  val in_thread : (unit -> int) -> int
  val below_c : (unit -> int) -> int
  val fresh : (unit -> int) -> int
  val ported : (unit -> int) list -> int list

  val pipeline : bound:int option -> (int -> int) list -> (unit -> int) list -> int list
  (** Each result goes through all the functions. *)

  val bounded : max:int -> (unit -> int) list -> int list
  val windowed : window:int -> (unit -> int) list -> int list
  val selected : (unit -> int) list -> int list
  val meeting : meeting -> (unit -> int) list -> int list
  val blocking : (unit -> int) -> int

  val kernel : dynamic:bool -> int -> int
  (** The sum of [kernel_step] of all indices below the count. *)

  val collection : collection -> int array -> int array
  val hurried : (unit -> int) -> unit
  val dropped : (unit -> int) list -> unit
  val fault : fault -> unit

  val note : t -> unit
  (** Called with each graph and part that is run. *)
end

val mix : int -> int -> int
val kernel_step : int -> int
val letter : int -> char

module Value (_ : RUNNER) : sig
  val value : t -> int
  (** The graph's worth, or [Boom]: the same for every runner. *)
end

module Sequential : RUNNER
