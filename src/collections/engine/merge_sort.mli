(** A parallel merge sort with a parallel merge. *)

val sort : ('a -> 'a -> int) -> 'a array -> unit
(** [sort cmp a] sorts [a] in place and is stable: it is [Stdlib.Array.stable_sort cmp a], on all
    workers of the current pool. A [cmp] that is no order leaves the elements in some order.

    {b Raises} what [cmp] raises, once no call of it runs any more: of several exceptions that of
    the left half, else of the right half, else of merging the two. The array then holds the
    elements that it held, in some order; but for an asynchronous exception ([Sys.Break]) that
    strikes outside of [cmp].
    {b Cost}: at most [n log2 n] calls of [cmp], and 2 % more for cutting long merges; one array of
    [n] beside [a], nothing for 8 elements and fewer. A short sort stays with the caller.
    {b Domains}: [cmp] runs on several at the same time. Nobody else may write [a] meanwhile.
    {b Order}: everything [cmp] did happens before the return.
    {b Cancels}: a cancelled task leaves at a fork; the array as after an exception. *)

val comparisons : int -> int
(** About how many calls of [cmp] sorting takes. *)
