(** Lists: [Stdlib.List] with the functions below run by all workers of the current pool, where that
    pays. [module List = Muster.List] moves a program over.

    {b Effects} of the functions that are passed come in any order, and at the same time.
    {b Raises}: the exception of the leftmost element whose call raises, once no call runs any
    more; what the stdlib's function raises.
    {b Cost}: what takes less than 50 us stays with the caller, where the passed function is as
    fast as it was the last time: 10 to 30 ns more than the stdlib's, a fold 40 to 60. Where the first call takes longer
    than that, the rest is shared after all; but not in what was very short when it was called last, within the last 6 us. What
    is longer is walked
    once more, which the workers share, and the parts of a resulting list are linked, not copied.
    A function that takes less than twice the step to the next element, which is measured, stays with the caller, too; so does
    one of less than 15 ns for the first 50 us, of less than 10 until 400 us, and of less than 5 then. (From there on what makes
    a list counts as 10 ns more, as it is to be collected.)
    Lists of no or one element allocate what the stdlib allocates. No function needs stack in
    proportion to the length.
    {b Domains}: any; the passed functions run on several at once.
    {b Order}: what happened before the function happens before every call; a call that gets what
    others made happens after them; all happen before the return, and before the exception.
    {b Cancels}: a cancelled task leaves between pieces of some 10 us. *)

include module type of struct
  include Stdlib.List
end

(** {1 Lists from lists} *)

val init : int -> (int -> 'a) -> 'a list
val map : ('a -> 'b) -> 'a list -> 'b list
val mapi : (int -> 'a -> 'b) -> 'a list -> 'b list

val map2 : ('a -> 'b -> 'c) -> 'a list -> 'b list -> 'c list
(** {b Raises} [Invalid_argument] for different lengths: when [f] has been called for all pairs that there
    are, if these are two or more; before any call otherwise. *)

val filter : ('a -> bool) -> 'a list -> 'a list
val find_all : ('a -> bool) -> 'a list -> 'a list
val filteri : (int -> 'a -> bool) -> 'a list -> 'a list
val filter_map : ('a -> 'b option) -> 'a list -> 'b list
val concat_map : ('a -> 'b list) -> 'a list -> 'b list
val partition : ('a -> bool) -> 'a list -> 'a list * 'a list

val scan : ('a -> 'a -> 'a) -> 'a list -> 'a list
(** [scan op l] is the list of the inclusive prefixes: [x0], [op x0 x1], … [op] must be
    associative; the bracketing depends on the length alone.

    {b Raises}: as [Muster.parallel_scan].
    {b Cost}: up to 1,024 elements one call of [op] each and no parallelism; above, two calls. *)

(** {1 Effects} *)

val iter : ('a -> unit) -> 'a list -> unit
val iteri : (int -> 'a -> unit) -> 'a list -> unit

(** {1 Reductions} *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a list -> 'a
(** [fold op init l] is [fold_left op init l] for an associative [op], which need not commute: [init] is the
    leftmost operand, once, so that it need not be neutral. The bracketing depends on the length alone, so
    that a sum of floats has the same bits on any number of domains. [fold_left] and [fold_right] are the
    stdlib's, and sequential. *)

val reduce : ('a -> 'a -> 'a) -> 'a list -> 'a option
(** The same without [init]; [None] for the empty list. *)

val count : ('a -> bool) -> 'a list -> int
(** [count p l] is how many elements satisfy [p]. *)

val min : ('a -> 'a -> int) -> 'a list -> 'a option
(** [min cmp l] is the first of the least elements by [cmp], if there is one. *)

val max : ('a -> 'a -> int) -> 'a list -> 'a option
(** [max cmp l] is the first of the greatest elements by [cmp], if there is one. *)

(** {1 Searches}

    What is found is the leftmost. Elements right of it may have been looked at, too. Of what is
    found and what is raised, the leftmost counts. *)

val find : ('a -> bool) -> 'a list -> 'a
val find_opt : ('a -> bool) -> 'a list -> 'a option
val find_index : ('a -> bool) -> 'a list -> int option
val find_map : ('a -> 'b option) -> 'a list -> 'b option
val find_mapi : (int -> 'a -> 'b option) -> 'a list -> 'b option
val exists : ('a -> bool) -> 'a list -> bool
val for_all : ('a -> bool) -> 'a list -> bool
val mem : 'a -> 'a list -> bool
val memq : 'a -> 'a list -> bool

(** {1 Sorting}

    A merge sort with a parallel merge ({!Merge_sort}), on an array.

    {b Raises} of several exceptions of [cmp] that of the left half, else of the right half, else of
    merging the two. *)

val sort : ('a -> 'a -> int) -> 'a list -> 'a list
val stable_sort : ('a -> 'a -> int) -> 'a list -> 'a list
val fast_sort : ('a -> 'a -> int) -> 'a list -> 'a list

val sort_uniq : ('a -> 'a -> int) -> 'a list -> 'a list
(** Of equal elements, the first. *)

(** {1 Groups} *)

val group_by : ('a -> 'k) -> 'a list -> ('k * 'a list) list
(** [group_by key l] is the elements by their keys: keys in the order of their first occurrence, the
    elements of each in the order of [l]. Keys are compared with [compare] and hashed with
    [Hashtbl.hash]. *)

val histogram : bins:int -> ('a -> int) -> 'a list -> int array
(** [histogram ~bins f l] is how many elements [f] puts into each bin, from 0 to [bins - 1].

    {b Raises} [Invalid_argument] if [bins] is negative, or [f] answers with another bin. *)
