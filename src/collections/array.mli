(** The stdlib's arrays, run in parallel where it pays. A program moves over by one line:

    {[
      module Array = Muster.Array

      let squares = Array.map (fun x -> x * x) [| 1; 2; 3 |]
      let () = assert (squares = [| 1; 4; 9 |])
      let () = assert (Array.fold ( + ) 0 (Array.init 1000 Fun.id) = 499_500)
    ]}

    What is not listed below is the stdlib's own function ([get], [blit], [fold_left],
    [to_seq], …). What has a stdlib name has its type, its result and its errors.

    {2:shared What holds for all of them}

    {b Effects.} The functions given may be called in any order and at the same time, so they must
    not depend on each other's effects; they may call anything of Muster. Results are in the
    order of the elements.

    {b Raises}: the exception of the leftmost element whose function raises, when all calls that
    had begun have ended; elements right of it may have been computed or not. What an operation
    itself raises is said below.

    {b Cost}: what calls of a function took is remembered, by its code. Where all calls would take
    less than about 12 us they run in place, for 20 to 80 ns more than the stdlib's function; else
    they are shared with the workers of the current pool, in chunks of about 8 us. Where the first call takes
    much longer than was remembered, the rest is shared after all; but not in what was very short (16 elements or more in
    1.5 us) when it was called last, within the last 6 us. Arrays of no or one element are left to the stdlib, at no cost.

    {b Domains}: any domain or thread, in a task or outside. An array must not be written while one
    of these reads it.

    {b Order}: what happened before the operation happens before every call; the calls are unordered
    but that those which made an operand, or a key, happen before the call that gets it; all
    happen before the return, and before the exception.

    {b Cancels}: a cancelled task leaves between two chunks. Where an operation works in place,
    some of its elements are written then, as after an exception. *)

include module type of struct
  include Stdlib.Array
end

(** {1 One result for each element} *)

val init : int -> (int -> 'a) -> 'a array
val map : ('a -> 'b) -> 'a array -> 'b array
val mapi : (int -> 'a -> 'b) -> 'a array -> 'b array

val map2 : ('a -> 'b -> 'c) -> 'a array -> 'b array -> 'c array
(** {b Raises} the stdlib's [Invalid_argument] if the lengths differ. *)

val map_inplace : ('a -> 'a) -> 'a array -> unit
val mapi_inplace : (int -> 'a -> 'a) -> 'a array -> unit

val combine : 'a array -> 'b array -> ('a * 'b) array
(** {b Raises} the stdlib's [Invalid_argument] if the lengths differ. *)

val split : ('a * 'b) array -> 'a array * 'b array

(** {1 Effects} *)

val iter : ('a -> unit) -> 'a array -> unit
val iteri : (int -> 'a -> unit) -> 'a array -> unit

val iter2 : ('a -> 'b -> unit) -> 'a array -> 'b array -> unit
(** {b Raises} the stdlib's [Invalid_argument] if the lengths differ. *)

(** {1 Reductions}

    They need an operation that is associative; it need not commute. The bracketing depends on the
    length alone, so that a sum of floats has the same bits on any number of domains. *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a array -> 'a
(** [fold op init a] is [fold_left op init a] for an associative [op]: [init] is the leftmost
    operand, once, so that it need not be neutral.

    {b Cost}: up to 32 elements it is [fold_left]; above, runs of 32 elements or 1/512 of the
    length, whichever is more, are folded from left to right. To combine few large values, use
    [Muster.parallel_reduce], which has a leaf for each. *)

val reduce : ('a -> 'a -> 'a) -> 'a array -> 'a option
(** [reduce op a] is [fold] without [init]; [None] if [a] is empty. *)

val scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
(** [scan op a] is the array of the inclusive prefixes: [a.(0)], [op a.(0) a.(1)], …

    {b Raises}: as [Muster.parallel_scan].
    {b Cost}: up to 1,024 elements one call of [op] each and no parallelism; above, two calls
    (Blelloch, {i Prefix Sums and Their Applications}, 1990), of which the first ones run while the
    result is allocated. *)

val min : ('a -> 'a -> int) -> 'a array -> 'a option
(** [min cmp a] is the least element, of equal ones the leftmost; [None] if [a] is empty. *)

val max : ('a -> 'a -> int) -> 'a array -> 'a option
(** [max cmp a] is the greatest element, of equal ones the leftmost; [None] if [a] is empty. *)

val count : ('a -> bool) -> 'a array -> int
(** [count p a] is how many elements satisfy [p]. *)

(** {1 Searches}

    They stop soon after something is found: what lies right of it in other chunks may have been
    asked for, too. An exception counts if nothing is found left of it. *)

val exists : ('a -> bool) -> 'a array -> bool
val for_all : ('a -> bool) -> 'a array -> bool

val exists2 : ('a -> 'b -> bool) -> 'a array -> 'b array -> bool
(** {b Raises} the stdlib's [Invalid_argument] if the lengths differ. *)

val for_all2 : ('a -> 'b -> bool) -> 'a array -> 'b array -> bool
(** {b Raises} the stdlib's [Invalid_argument] if the lengths differ. *)

val mem : 'a -> 'a array -> bool
val memq : 'a -> 'a array -> bool
val find_opt : ('a -> bool) -> 'a array -> 'a option
val find_index : ('a -> bool) -> 'a array -> int option
val find_map : ('a -> 'b option) -> 'a array -> 'b option
val find_mapi : (int -> 'a -> 'b option) -> 'a array -> 'b option

(** {1 Some of the elements}

    As the functions of [List] so called. *)

val filter : ('a -> bool) -> 'a array -> 'a array
(** [filter p a] is the array of the elements that satisfy [p].

    {b Cost}: a byte for each element meanwhile, above 1,000 elements. *)

val partition : ('a -> bool) -> 'a array -> 'a array * 'a array
(** [partition p a] is the elements that satisfy [p], and the others. [p] is called once for
    each. *)

val filter_map : ('a -> 'b option) -> 'a array -> 'b array
val concat_map : ('a -> 'b array) -> 'a array -> 'b array

(** {1 Sorting} *)

val sort : ('a -> 'a -> int) -> 'a array -> unit
(** [sort cmp a] sorts [a] in place. It is stable, as the two below.

    {b Cost}: another array of that length, above 8 elements, which the stdlib's [sort] does without. *)

val stable_sort : ('a -> 'a -> int) -> 'a array -> unit
val fast_sort : ('a -> 'a -> int) -> 'a array -> unit

val sort_uniq : ('a -> 'a -> int) -> 'a array -> 'a array
(** [sort_uniq cmp a] is a sorted copy of [a] that has of equal elements the leftmost alone.

    {b Cost}: less than {!sort}'s, the fewer different elements there are. *)

(** {1 Groups} *)

val group_by : ('a -> 'k) -> 'a array -> ('k * 'a array) array
(** [group_by key a] is each key with the array of its elements: keys in the order of their first
    elements, elements in that of [a]. Keys are told apart as by [compare k k' = 0] and
    [Hashtbl.hash].

    {b Raises} [compare]'s [Invalid_argument] where keys that contain functions hash alike. *)

val histogram : bins:int -> ('a -> int) -> 'a array -> int array
(** [histogram ~bins f a] has at [i] how many elements [f] maps to [i].

    {b Raises} [Invalid_argument] if [bins] is negative or more than [Sys.max_array_length], or [f]
    gives what is negative or not less than [bins].
    {b Cost}: an array of [bins] integers for each chunk that runs at the same time. *)
