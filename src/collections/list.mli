(** The stdlib's lists, run in parallel where it pays. A program moves over by one line:

    {[
      module List = Muster.Parallel.List

      let () = assert (List.map (fun x -> x * x) [ 1; 2; 3 ] = [ 1; 4; 9 ])
      let () = assert (List.fold ( + ) 0 (List.init 1000 Fun.id) = 499_500)
    ]}

    Functions that are not listed below are the stdlib's own.

    {b Effects}: the functions that you pass are called in any order and at the same time.
    {b Raises}: the exception of the leftmost element whose call raises, when all calls have ended;
    the stdlib's exceptions.
    {b Cost}: work of less than about 50 us runs in place, within 60 ns of the stdlib's time. So
    does a function hardly slower than the walk along the list. No function needs a deep stack.
    {b Domains}: any; the functions that you pass run on several at once.
    {b Order}: everything before the operation happens before each call of your function, and each
    call before the return or exception. A call that makes an operand or a key happens before the
    call that gets it.
    {b Cancels}: between two pieces of some 10 us. *)

include module type of struct
  include Stdlib.List
end

(** {1 Lists from lists} *)

val init : int -> (int -> 'a) -> 'a list
val map : ('a -> 'b) -> 'a list -> 'b list
val mapi : (int -> 'a -> 'b) -> 'a list -> 'b list

val map_init : init:(unit -> 's) -> ('s -> 'a -> 'b) -> 'a list -> 'b list
(** [map_init ~init f l] calls [f s x] with a state [s] that no other call has meanwhile. See
    [Array.map_init]. *)

val map2 : ('a -> 'b -> 'c) -> 'a list -> 'b list -> 'c list
(** {b Raises} [Invalid_argument] if the lengths differ, after the calls for all pairs. *)

val filter : ('a -> bool) -> 'a list -> 'a list
val find_all : ('a -> bool) -> 'a list -> 'a list
val filteri : (int -> 'a -> bool) -> 'a list -> 'a list
val filter_map : ('a -> 'b option) -> 'a list -> 'b list
val concat_map : ('a -> 'b list) -> 'a list -> 'b list
val partition : ('a -> bool) -> 'a list -> 'a list * 'a list

val scan : ('a -> 'a -> 'a) -> 'a list -> 'a list
(** [scan op l] is the list of the inclusive prefixes: [x0], [op x0 x1], … [op] must be associative.
    The bracketing depends on the length alone.

    {b Raises}: as [Muster.parallel_scan].
    {b Cost}: two calls of [op] for each element; one up to 1,024 elements, without parallelism. *)

(** {1 Effects} *)

val iter : ('a -> unit) -> 'a list -> unit
val iteri : (int -> 'a -> unit) -> 'a list -> unit

(** {1 Reductions} *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a list -> 'a
(** [fold op init l] is [fold_left op init l] for an associative [op], which need not commute.
    [init] is the leftmost operand, once, so it need not be neutral. The bracketing depends on the
    length alone, so a sum of floats has the same bits on any number of domains. [fold_left] and
    [fold_right] are the stdlib's, and sequential. *)

val fold_parts :
  init:(unit -> 'b) -> add:('b -> 'a -> 'b) -> combine:('b -> 'b -> 'b) -> 'a list -> 'b
(** [fold_parts ~init ~add ~combine l] folds to another type. It makes an accumulator by [init] for
    each part of the list, [add]s the elements to it, and [combine]s neighbours. [add] and [combine]
    may change their left argument and return it. There are up to 32 parts, of 32 elements or more.

    {b Cost}: the list is walked once more, to count. *)

val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> ('a -> 'b) -> 'a list -> 'b
(** [map_reduce ~combine ~init f l] is [fold combine init (map f l)], without that list, maybe in
    another bracketing. Of up to 512 elements each may be a job of its own.

    {b Cost}: up to 20 ns more than the calls, for each element of such a list. *)

val reduce : ('a -> 'a -> 'a) -> 'a list -> 'a option
(** [reduce op l] is [fold] without [init]; [None] for the empty list. *)

val sum : float list -> float
(** [sum l] is the sum of floats. Its error is at most (16 + log2 n) u s, as that of [Array.sum].

    {b Cost}: as this and {!sum_ints} take no longer than the walk, the caller makes them alone. *)

val sum_ints : int list -> int
(** [sum_ints l] is the sum of ints. It wraps around. *)

val count : ('a -> bool) -> 'a list -> int
(** [count p l] is the number of elements that satisfy [p]. *)

val min : ('a -> 'a -> int) -> 'a list -> 'a option
(** [min cmp l] is the first of the least elements by [cmp], if there is one. *)

val max : ('a -> 'a -> int) -> 'a list -> 'a option
(** [max cmp l] is the first of the greatest elements by [cmp], if there is one. *)

(** {1 Searches}

    The result is the leftmost one. Some elements to the right of it may have been searched too. An
    exception is raised if nothing is found to the left of it. *)

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

    Lists are sorted by a parallel merge sort on an array. All sorts are stable. *)

val sort : ('a -> 'a -> int) -> 'a list -> 'a list
val stable_sort : ('a -> 'a -> int) -> 'a list -> 'a list
val fast_sort : ('a -> 'a -> int) -> 'a list -> 'a list

val sort_uniq : ('a -> 'a -> int) -> 'a list -> 'a list
(** [sort_uniq cmp l] is [l] sorted, with the first of equal elements only. *)

(** {1 Groups} *)

val group_by : ('a -> 'k) -> 'a list -> ('k * 'a list) list
(** As [Array.group_by]. *)

val histogram : bins:int -> ('a -> int) -> 'a list -> int array
(** As [Array.histogram]. *)
