(** Who runs: one sequence of calls, which may wait and go on in another domain. It is what holds
    a lock.

    A task is one strand, with all that it calls. Of [both] and of loops, what another worker
    takes over is a strand of its own, and what stays is the caller's; but the bodies of a loop of
    [muster.domainslib] that may wait for one another are never the caller's. [Pool.run]'s function
    is its caller's strand. A thread outside all pools is one. *)

val current : unit -> int
(** The number of the calling strand, not 0, which no other has at the same time.

    {b Cost}: about 3 ns. *)

val another : unit -> int
(** From here on another strand runs, until [be number], where [number] is what [another] returns. What
    that strand sets aside because it waits keeps its own number. From outside all pools: nothing. *)

val be : int -> unit
(** After {!another}. *)

val watch : unit -> exn -> bool
(** [let was_cancelled = watch () in …] before some code: [was_cancelled exn] is whether [exn], which
    the code raised, is the calling strand's own cancellation. *)

val spins : unit -> int
(** How many turns it is worth to look out for what another strand is about to do, before one
    suspends; 0 where no other can run. *)
