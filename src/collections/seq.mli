(** Sequences: [Stdlib.Seq], with functions that use a sequence up run by all workers of the current
    pool, where that pays.

    What makes a sequence ([map], [filter], [scan], …) is the stdlib's: nothing happens before it
    is asked for, and infinite sequences are welcome. So are the searches ([find], [exists],
    [for_all], …): they force nothing right of what they look for, which might never come. To
    search in parallel, say how far: [List.find_opt p (List.of_seq (Seq.take 1000 s))].

    {b Effects}: elements are forced once each, in order, one at a time, though not always by the
    same domain. The functions that are passed are called in any order, and at the same time.
    {!iter} and the others of this kind force ahead of the calls: one element, or, where an element takes more than
    100 ns, to force it or in its call, 32 and later up to 8,192. All of them force the whole sequence; one that is endless,
    and left by an exception of the function, must be able to give these elements.
    {b Raises}: the exception of the leftmost element whose call raises; else what forcing the
    sequence raises, when the function has been called for what came before.
    {b Cost}: functions that were fast the last time (100 ns) are called by the caller, element by
    element, in 1.0 to 1.3 times the stdlib's time for a hundred and more.
    {b Domains}: any.
    {b Order}: what happened when an element was forced happens before its call, and all calls
    before the return.
    {b Cancels}: a cancelled task leaves between two blocks, or pieces of one. *)

include module type of struct
  include Stdlib.Seq
end

(** {1 Effects} *)

val iter : ('a -> unit) -> 'a t -> unit
val iteri : (int -> 'a -> unit) -> 'a t -> unit

(** {1 Reductions} *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a t -> 'a
(** As [List.fold], with the same bracketing. [fold_left] is the stdlib's, and sequential. *)

val reduce : ('a -> 'a -> 'a) -> 'a t -> 'a option
val count : ('a -> bool) -> 'a t -> int
val min : ('a -> 'a -> int) -> 'a t -> 'a option
val max : ('a -> 'a -> int) -> 'a t -> 'a option

val histogram : bins:int -> ('a -> int) -> 'a t -> int array
(** As [List]'s. *)

(** {1 Searches}

    Sequential. *)

val find_opt : ('a -> bool) -> 'a t -> 'a option
(** [find], by its name elsewhere. *)

val mem : 'a -> 'a t -> bool
(** Whether an element is equal, by [compare]. *)

(** {1 Sorting and groups}

    When the result is forced, the whole sequence is; again each time. *)

val sort : ('a -> 'a -> int) -> 'a t -> 'a t
val stable_sort : ('a -> 'a -> int) -> 'a t -> 'a t
val sort_uniq : ('a -> 'a -> int) -> 'a t -> 'a t

val group_by : ('a -> 'k) -> 'a t -> ('k * 'a t) t
(** As [List]'s. *)
