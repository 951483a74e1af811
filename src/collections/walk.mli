(** Runs a function over what can only be walked from its front, piece by piece. *)

open Muster_core

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
  mutable since : int;
  mutable refill : 's piece -> int;
  source : 's source;
  code : int;
  unit : int;
  made : int;
}
(** A piece: [left] elements from [rest] on, or fewer if there is the end; [start] is the index of
    the first, and [made] its job's. *)

val ended : 's piece -> 's -> int -> int
(** [ended p rest left]: work on [p] has come to [rest] with [left] elements to go, of which there are
    none, or [left] is 0. Of how many elements from [rest] on the piece is now; it has to be worked
    on until that is 0. *)

val is_over : 's piece -> bool
(** Whether the work on a piece, now over, has come to the end. *)

val reach : 's piece -> 's -> int -> unit
(** [reach p rest left] tells where a work is that must not be given more; at an end, if no more
    need be done. *)

type ('s, 'r) job = {
  source : 's source;
  work : 's piece -> 'r;
  code : int;  (** what costs are remembered by: the user's function's {!Machine.code_of} *)
  unit : int;  (** pieces begin at multiples of it; it divides 16 *)
  made : int;  (** {!a_cell}, or 0, as each element makes one *)
  failures : Outcome.failure Leftmost.t;
  found : int -> bool;  (** whether all is over, left of this index *)
  kept : Outcome.failure Leftmost.t;
      (** failures that results tell of: the leftmost is raised where a cancellation comes instead of
          the results *)
}

val worth : int
(** What is likely to take less stays with the caller, in ticks. *)

val a_cell : int
(** What it takes to collect cells of a long list later, in ticks for each 1,000: shared, if the list is. *)

val trial : int
(** So long may a wrong memory go unnoticed, by its own measure, in ticks. *)

val few : int
(** So many elements that are remembered as short begin in one go. *)

val trivial : int
(** What one of these costs at most (Site). *)

val run_from : int -> ('s, 'r) job -> 's -> 'r list * 's
(** [run_from first job s] does the work of [job] on pieces that make up [s], whose first element has the index
    [first], a multiple of [unit]; it is the results in order, and where the last piece ended. Pieces for which
    [found] holds may be left out.

    {b Raises} the exception of the leftmost piece that raises.
    {b Cost}: 30 to 60 ns beside the work, for what lasts less than 50 us; else one more walk,
    shared between the workers, and about 100 ns for each piece of 8 us.
    {b Order}: all pieces happen before the return. *)

(** {2 Short work}

    What is remembered as very short begins without a job, as making one takes as long as ten cheap
    elements. *)

val is_short : int -> bool
(** Whether a function's elements, of that code, are remembered so, and that can be trusted (Site, which
    takes each call for the beginning of such work). *)

val begins_short : int -> bool
(** The same of the first elements, where a search may end. *)

val run_long : int -> ('s, 'r) job -> 's -> 'r list * 's
(** {!run_from} for what is not short: it does not ask again. *)

val front : 's source -> code:int -> unit:int -> made:int -> int -> 's -> 's piece
(** [front source ~code ~unit ~made first s] is a piece that begins with [s], of index [first], and is
    given more for as long as sharing does not pay. What is left when the work on it is over is
    for {!go_on}.

    {b Cost}: 5 ns. *)

val beginning : 's source -> code:int -> unit:int -> int -> 's -> 's piece
(** [front], of what {!begins_short}. *)

val go_on : ('s, 'r) job -> 's piece -> 'r list * 's
(** {!run_from} on what is left after such a piece. *)
