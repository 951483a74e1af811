(** Runs a function over a source that can only be walked from its front, piece by piece. *)

type 's source = {
  skip : int -> 's -> 's;  (** by so many elements, or to the end *)
  is_end : 's -> bool;
}
(** How to walk. *)

(** {2 Pieces} *)

type 's piece = private {
  start : int;  (** the index of the first element of all *)
  mutable rest : 's;
  mutable left : int;
  mutable next : int;
  mutable more : 's piece -> int;
  mutable doubted : bool;
  mutable least : int;
}
(** A piece in work: [left] elements from [rest] on, or fewer if the source ends. *)

val ended : 's piece -> 's -> int -> int
(** [ended p rest left]: the work on [p] has come to [rest] with [left] elements to go; there are
    none, or [left] is 0. The result is the number of elements from [rest] on that the piece is now.
    The work on it goes on until that is 0. *)

val reach : 's piece -> 's -> int -> unit
(** [reach p rest left] ends work that must not be given more: at an end, if it is over. *)

val is_over : 's source -> 's piece -> bool
(** Whether the work on a piece, now over, has come to the end. *)

(** {2 Jobs} *)

type event = Found | Failed of Outcome.failure

val note_failure : event Leftmost.t -> int -> Outcome.failure -> unit
(** Of the piece at that index. *)

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;  (** of the user's function: costs are remembered by it *)
  unit : int;  (** pieces begin at multiples of it, a power of 2 *)
  events : event Leftmost.t;
      (** by the indices of pieces; pieces right of one are left out *)
  keeps : bool;  (** work notes its own failures: its results come back all the same, unless Ctrl-C
          has struck *)
  alone : int;  (** of more elements the rest is shared, however cheap they are *)
}

val run : int -> ('s, 'r) job -> 's -> 'r list * 's
(** [run first job s] does the work of [job] on pieces that make up [s], whose first element has the
    index [first], a multiple of [unit]. The result is the results in order, and where the last
    piece ended.

    {b Raises} the exception of the leftmost piece that raises.
    {b Order}: all pieces happen before the return. *)

val whole : int -> int -> int
(** [whole unit n] is [n], at least 1, rounded up to a multiple of [unit], which is a power of 2. *)
