(** Random task graphs, and what they are worth. *)

exception Boom of int

type team = For_n | For_n_dynamic | For_slices | Broadcast

(** Every way to use the library, with what hangs below it. [fails_at] is the index whose
    body raises, if it is within the range. *)
type t =
  | Leaf of int
  | Fail of int
  | Both of t * t
  | Async of t list  (** begun in order, awaited in order *)
  | Shared of int * t  (** one task, awaited by that many others *)
  | All of t list
  | First of t list  (** at most one of them can succeed *)
  | Scope of t list  (** begun in order in a scope, awaited in order *)
  | Deadline of t  (** one that is never reached *)
  | Cancel of { early : bool; victim : t; rest : t }
      (** worth [rest]; the victim is cancelled before it or after it, whatever it does *)
  | For of { count : int; grain : int option; fails_at : int; body : t }
  | Reduce of { count : int; grain : int option; fails_at : int; body : t }
  | Find of { count : int; found_at : int; fails_at : int }
  | Scan of int
  | Team of { team : team; count : int; fails_at : int; body : t }
  | Run of t  (** the same pool again *)
  | Elsewhere of t  (** another pool *)
  | In_domain of t
  | In_thread of t
  | Below_c of t

val random : Random.State.t -> blocked:bool -> t
val to_string : t -> string

(** How the parts of a graph are run. Where parts raise, a runner raises the exception of
    the leftmost of them. *)
module type RUNNER = sig
  val both : (unit -> int) -> (unit -> int) -> int * int
  val async : (unit -> int) list -> int list
  val shared : int -> (unit -> int) -> int list
  val all : (unit -> int) list -> int list
  val first : (unit -> int) list -> int
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
end

module Value (_ : RUNNER) : sig
  val value : t -> int
  (** The graph's worth, or [Boom]: the same for every runner. *)
end

module Sequential : RUNNER
