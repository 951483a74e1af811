(** The stdlib's arrays, run in parallel where it pays. A program moves over by one line:

    {[
      module Array = Muster.Parallel.Array

      let squares = Array.map (fun x -> x * x) [| 1; 2; 3 |]
      let () = assert (squares = [| 1; 4; 9 |])
      let () = assert (Array.fold ( + ) 0 (Array.init 1000 Fun.id) = 499_500)
    ]}

    Functions that are not listed below are the stdlib's own ([get], [blit], [fold_left], [to_seq],
    …). A function with a stdlib name has the stdlib's type, result and errors.

    {2:shared What holds for all of them}

    {b Effects.} The functions that you pass are called in any order and at the same time. They must
    not depend on each other's effects, and may call anything of Muster. Results come in the order
    of the elements. Do not write an array while one of these functions reads it.

    To fill one [Buffer], [Hashtbl] or [ref] within [iter] is a race: elements get lost, with no
    error, where the array is long. Fill one for each part by {!fold_parts}, or take a
    [Muster.Table], or a [Muster.Mutex]:

    {[
      let count words =
        let add table word =
          let n = Option.value (Hashtbl.find_opt table word) ~default:0 in
          Hashtbl.replace table word (n + 1);
          table
        and combine table other =
          Hashtbl.iter
            (fun word n ->
              let m = Option.value (Hashtbl.find_opt table word) ~default:0 in
              Hashtbl.replace table word (m + n))
            other;
          table
        in
        Array.fold_parts ~init:(fun () -> Hashtbl.create 16) ~add ~combine words

      let () = assert (Hashtbl.find (count [| "to"; "be"; "to" |]) "to" = 2)
    ]}

    {b Raises}: the exception of the leftmost element whose call raises, when all calls have ended.
    Some elements to the right of it may have been computed.
    {b Cost}: short work runs in place, for 20 to 80 ns more than the stdlib's function; longer work
    is shared. See {{!page-limits.section-cheap_loops_that_turn_dear}doc/limits.md, "Cheap loops
    that turn dear"}.
    {b Domains}: any domain or thread, inside or outside a task.
    {b Order}: everything before the operation happens before each call of your function, and each
    call before the return or exception. A call that makes an operand or a key happens before the
    call that gets it.
    {b Cancels}: between two chunks. An operation that works in place has then written some
    elements, as after an exception. *)

include module type of struct
  include Stdlib.Array
end

(** {1 One result for each element} *)

val init : int -> (int -> 'a) -> 'a array
val map : ('a -> 'b) -> 'a array -> 'b array
val mapi : (int -> 'a -> 'b) -> 'a array -> 'b array

val map_init : init:(unit -> 's) -> ('s -> 'a -> 'b) -> 'a array -> 'b array
(** [map_init ~init f a] is [map] with a state, such as a buffer or a parser. It calls [f s x],
    where [init] has made [s]. No other call has [s] meanwhile, even if [f] waits.

    {[
      let show buffer x =
        Buffer.clear buffer;
        Printf.bprintf buffer "<%d>" x;
        Buffer.contents buffer

      let shown = Array.map_init ~init:(fun () -> Buffer.create 80) show [| 1; 2 |]
      let () = assert (shown = [| "<1>"; "<2>" |])
    ]}

    [init] is called as often as [Muster.parallel_for_init] says, and not for an empty array. *)

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

    The operation must be associative; it need not commute. The bracketing depends on the length
    alone, so a sum of floats has the same bits on any number of domains. *)

val fold : ('a -> 'a -> 'a) -> 'a -> 'a array -> 'a
(** [fold op init a] is [fold_left op init a] for an associative [op]. [init] is the leftmost
    operand, once, so it need not be neutral.

    It folds runs of 32 elements or more from left to right, and then combines the runs. To combine
    few large values use [Muster.parallel_reduce] instead. It passes floats in boxes: to sum them
    take {!sum}, or [Muster.parallel_reduce_range]. *)

val fold_parts :
  init:(unit -> 'b) -> add:('b -> 'a -> 'b) -> combine:('b -> 'b -> 'b) -> 'a array -> 'b
(** [fold_parts ~init ~add ~combine a] folds to another type: a table, a buffer, a record of
    several sums. It cuts [a] into parts. For each it makes an accumulator by [init] and [add]s the
    elements from left to right. Then it [combine]s neighbours. [add] and [combine] may change their
    left argument and return it. For an empty array it is [init ()].

    There are up to 32 parts, of 32 elements or more. For few elements that take long use
    {!map_reduce}.

    {b Cost}: [init] and [combine] for each part, and as {!fold}.
    {b Cancels}: between two parts. *)

val map_reduce : combine:('b -> 'b -> 'b) -> init:'b -> ('a -> 'b) -> 'a array -> 'b
(** [map_reduce ~combine ~init f a] is [fold combine init (map f a)], without that array, maybe in
    another bracketing. Each call of [f] may be a job of its own. [combine] is called between the
    calls of [f], as soon as it may be. *)

val reduce : ('a -> 'a -> 'a) -> 'a array -> 'a option
(** [reduce op a] is [fold] without [init]; [None] if [a] is empty. *)

val scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
(** [scan op a] is the array of the inclusive prefixes: [a.(0)], [op a.(0) a.(1)], …

    {b Raises}: as [Muster.parallel_scan].
    {b Cost}: two calls of [op] for each element; one up to 1,024 elements, without parallelism. *)

val min : ('a -> 'a -> int) -> 'a array -> 'a option
(** [min cmp a] is the least element, of equal ones the leftmost; [None] if [a] is empty. *)

val max : ('a -> 'a -> int) -> 'a array -> 'a option
(** [max cmp a] is the greatest element, of equal ones the leftmost; [None] if [a] is empty. *)

val count : ('a -> bool) -> 'a array -> int
(** [count p a] is the number of elements that satisfy [p]. *)

(** {1 Numbers}

    Of arrays of floats, by loops of C that box nothing. Bits depend on the length [n] alone.

    {b Accuracy.} A sum adds by halves. Its error is at most (16 + log2 n) u s, where u = 2{^-53},
    and s is the sum of the absolute values. A loop's bound is n u s. An overflow on the way counts,
    as in a loop. The sum is nan where an element is, or where there are infinities of both signs.

    {b Cost}: 0.1 ns for an element in the cache, else what memory takes. About 10^5 elements or
    more are shared. *)

val sum : float array -> float
(** [sum a] is the sum of the elements, [0.] if [a] is empty or all are [-0.]. *)

val sum_ints : int array -> int
(** [sum_ints a] is the sum of ints. It wraps around. *)

val dot : float array -> float array -> float
(** [dot a b] is the sum of [a.(i) *. b.(i)]. Each product is rounded, too: 17 for the 16 above.

    {b Raises} [Invalid_argument] if the lengths differ. *)

val mean : float array -> float option
(** [mean a] is [sum a] divided by the length; [None] if [a] is empty. *)

val min_max : float array -> (float * float) option
(** [min_max a] is the least and the greatest element, by [Float.min] and [Float.max]: [-0.] is less
    than [0.], and one nan makes both nan. It is [None] if [a] is empty. *)

(** {1 Searches}

    The result is the leftmost one. Some elements to the right of it may have been searched too. An
    exception is raised if nothing is found to the left of it. *)

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

    They do the same as the functions of these names in [List]. *)

val filter : ('a -> bool) -> 'a array -> 'a array
(** [filter p a] is the array of the elements that satisfy [p].

    {b Cost}: one byte more for each element, above 1,000 elements, until it returns. *)

val partition : ('a -> bool) -> 'a array -> 'a array * 'a array
(** [partition p a] is the array of the elements that satisfy [p], and that of the others. It calls
    [p] once for each element. *)

val filter_map : ('a -> 'b option) -> 'a array -> 'b array
val concat_map : ('a -> 'b array) -> 'a array -> 'b array

(** {1 Sorting} *)

val sort : ('a -> 'a -> int) -> 'a array -> unit
(** [sort cmp a] sorts [a] in place. It is stable, as the two below are.

    {b Cost}: above 8 elements, memory for another array of that length. *)

val stable_sort : ('a -> 'a -> int) -> 'a array -> unit
val fast_sort : ('a -> 'a -> int) -> 'a array -> unit

val sort_uniq : ('a -> 'a -> int) -> 'a array -> 'a array
(** [sort_uniq cmp a] is a sorted copy of [a], with the leftmost of equal elements only. *)

(** {1 Groups} *)

val group_by : ('a -> 'k) -> 'a array -> ('k * 'a array) array
(** [group_by key a] is each key with the array of its elements. Keys come in the order of their
    first elements, elements in the order of [a]. Keys are compared with [compare] and hashed with
    [Hashtbl.hash].

    {[
      let parities = Array.group_by (fun x -> x mod 2) [| 1; 2; 3 |]
      let () = assert (parities = [| (1, [| 1; 3 |]); (0, [| 2 |]) |])
    ]}

    {b Raises} [compare]'s [Invalid_argument] where two keys of one hash contain functions. *)

val histogram : bins:int -> ('a -> int) -> 'a array -> int array
(** [histogram ~bins f a] counts, for each [i] from 0 to [bins - 1], the elements that [f] maps to
    [i].

    {b Raises} [Invalid_argument] if [bins] is negative or more than [Sys.max_array_length], or [f]
    gives a number outside of the bins.
    {b Cost}: an array of [bins] integers for each worker. *)
