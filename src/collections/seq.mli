(** The stdlib's sequences, with the functions that use a sequence up run in parallel where it pays.

    {[
      let squares = Seq.map (fun x -> x * x) (Seq.init 1000 Fun.id)
      let () = assert (Muster.Parallel.Seq.fold ( + ) 0 squares = 332_833_500)
    ]}

    Functions that make a sequence ([map], [filter], …) are the stdlib's own: they are lazy, and
    infinite sequences are welcome. So are the searches ([find], [exists], …), which force no more
    elements than they need. To search in parallel, say how far: [List.find_opt p (List.of_seq
    (Seq.take 1000 s))].
    To map in parallel, in order and in bounded memory, there is [Muster.Task.with_map].

    {b Effects}: elements are forced once each, in order, one at a time, on any domain. The
    functions that you pass are called in any order and at the same time. Elements may be forced
    ahead of the calls: see {{!page-limits.section-sequences_are_read_ahead}doc/limits.md,
    "Sequences are read ahead"}.

    {b Raises}: the exception of the leftmost element whose call raises; else the exception of
    forcing the sequence, after the calls for the elements before it.
    {b Cost}: functions of less than about 100 ns run in place, in 1.1 to 1.5 times the stdlib's
    time.
    {b Domains}: any.
    {b Order}: the forcing of an element happens before the call that gets it, and each call before
    the return.
    {b Cancels}: between two blocks of elements, or pieces of one. *)

include module type of struct
  include Stdlib.Seq
end

(** {1 Effects} *)

val iter : ('a -> unit) -> 'a t -> unit
val iteri : (int -> 'a -> unit) -> 'a t -> unit

(** {1 Reductions} *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a t -> 'a
(** [fold op init s] is [List.fold op init] of the elements, with the same bracketing. [fold_left]
    is the stdlib's, and sequential. *)

val fold_parts :
  init:(unit -> 'b) -> add:('b -> 'a -> 'b) -> combine:('b -> 'b -> 'b) -> 'a t -> 'b
(** As [List.fold_parts]. Parts have 256 elements, as nobody knows how many there are. *)

val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> ('a -> 'b) -> 'a t -> 'b
(** As [List.map_reduce]. Four elements are one job. *)

val sum : float t -> float
(** As [List.sum], at the cost of {!fold}. *)

val sum_ints : int t -> int
val reduce : ('a -> 'a -> 'a) -> 'a t -> 'a option
val count : ('a -> bool) -> 'a t -> int
val min : ('a -> 'a -> int) -> 'a t -> 'a option
val max : ('a -> 'a -> int) -> 'a t -> 'a option

val histogram : bins:int -> ('a -> int) -> 'a t -> int array
(** As [List.histogram]. *)

(** {1 Searches}

    Sequential. *)

val find_opt : ('a -> bool) -> 'a t -> 'a option
(** [find_opt] is [find]. *)

val mem : 'a -> 'a t -> bool
(** [mem x s] tells whether an element is equal to [x], by [compare]. *)

(** {1 Sorting and groups}

    Forcing the result forces the whole sequence, each time anew. *)

val sort : ('a -> 'a -> int) -> 'a t -> 'a t
val stable_sort : ('a -> 'a -> int) -> 'a t -> 'a t
val sort_uniq : ('a -> 'a -> int) -> 'a t -> 'a t

val group_by : ('a -> 'k) -> 'a t -> ('k * 'a t) t
(** As [List.group_by]. *)
