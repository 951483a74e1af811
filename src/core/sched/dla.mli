(** Waits of libraries that know no scheduler: they ask domain-local-await (by Vesa Karvonen) how.
    Where that library is missing there is nothing to do. *)

val within : (unit -> 'a) -> 'a
(** [within f] is [f ()]; meanwhile waits through domain-local-await in the calling domain are
    {!Waiter.wait}. Nested calls must end in reverse order. So of a domain's threads only the one
    whose place domain-local storage shows may call it, unless {!has_each_its_own}. 15 ns. *)

val each_thread : self:(unit -> 'thread) -> id:('thread -> int) -> unit
(** From now on each thread of the calling domain has a way of waiting of its own. Raises [Failure]
    if that is so already. *)

val has_each_its_own : unit -> bool
(** Whether {!each_thread} was called in this domain. *)
