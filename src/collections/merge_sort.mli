(** A parallel merge sort with a parallel merge. *)

val sort : ('a -> 'a -> int) -> 'a array -> unit
(** [sort cmp a] sorts [a] in place and is stable: it is [Stdlib.Array.stable_sort cmp a], on all
    workers of the current pool. A [cmp] that is no order leaves the elements in some order.

    {b Raises} what [cmp] raises, once no call of it runs any more: of several exceptions that of
    the left half, else of the right half, else of merging the two. The array then holds the
    elements that it held, in some order; but for an asynchronous exception ([Sys.Break]) that
    strikes outside of [cmp].
    {b Cost}: at most [n log2 n] calls of [cmp], and 2 % more for cutting long merges; one array of
    [n] beside [a], nothing for 8 elements and fewer. Below about 12 us it stays with the caller,
    if [cmp] is as fast as it was the last time.
    {b Domains}: [cmp] runs on several at the same time. Nobody else may write [a] meanwhile.
    {b Order}: everything [cmp] did happens before the return.
    {b Cancels}: a cancelled task leaves at a fork; the array as after an exception. *)

val comparisons : int -> int
(** About how many calls of [cmp] sorting takes. *)

val unique : ('a -> 'a -> int) -> 'a array -> int
(** [unique cmp a] sorts [a] in place and is how many elements at its beginning are the result: of
    equal ones the first alone, unless that is more than {!long}, where more of them may be left. What
    follows is of no use, nor is what an exception leaves.

    {b Raises}: as {!sort}.
    {b Cost}: as {!sort}, and less the fewer different elements there are. *)

val long : int
