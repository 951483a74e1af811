(** Runs a function over a source that can only be walked from its front, piece by piece.

    {2 Pieces} *)

type 's source = {
  skip : int -> 's -> 's;  (** by so many elements, or to the end *)
  is_end : 's -> bool;
}
(** How to walk. *)

type 's piece = private {
  mutable rest : 's;
  mutable left : int;
  start : int;
  mutable next : int;
  mutable refill : ('s piece -> int) option;
  source : 's source;
  code : int;
  unit : int;
}
(** A piece in work: [left] elements from [rest] on, or fewer if there is the end. [start] is the
    index of the first element of all. *)

val whole : int -> int -> int
(** [whole unit n] is [n], rounded up to a multiple of [unit] that is not 0. *)

val ended : 's piece -> 's -> int -> int
(** [ended p rest left]: the work on [p] has come to [rest] with [left] elements to go; there are
    none, or [left] is 0. The result is the number of elements from [rest] on that the piece is now.
    The work on it goes on until that is 0. *)

val reach : 's piece -> 's -> int -> unit
(** [reach p rest left] tells where work is that must not be given more: at an end, if it is
    over. *)

val is_over : 's piece -> bool
(** Whether the work on a piece, now over, has come to the end. *)

(** {2 Jobs} *)

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;  (** costs are remembered by it: the user's function's [Machine.code_of] *)
  unit : int;  (** pieces begin at multiples of it *)
  failures : Muster_core.Outcome.failure Muster_core.Leftmost.t;
  found : int -> bool;  (** whether all is over, left of this index *)
  kept : Muster_core.Outcome.failure Muster_core.Leftmost.t;
      (** failures that results tell of: the leftmost is raised where a cancellation comes instead
          of the results *)
}

val run_from : int -> ('s, 'r) job -> 's -> 'r list * 's
(** [run_from first job s] does the work of [job] on pieces that make up [s], whose first element
    has the index [first], a multiple of [unit]. The result is the results in order, and where the
    last piece ended. Pieces for which [found] holds may be left out.

    {b Raises} the exception of the leftmost piece that raises.
    {b Order}: all pieces happen before the return. *)

(** {2 Short work}

    Very short work begins without a job, as making one takes as long as ten cheap elements. *)

val is_short : int -> bool
(** Whether a function of that code is trusted to be very short (Adaptive). *)

val front : 's source -> code:int -> unit:int -> 's -> 's piece
(** A piece that begins with the first element, and is given more until sharing pays. *)

val go_on : ('s, 'r) job -> 's piece -> 'r list * 's
(** {!run_from} on the elements that are left after such a piece. *)

val run_long : int -> ('s, 'r) job -> 's -> 'r list * 's
(** {!run_from} for work that is not short: it does not ask again. *)
