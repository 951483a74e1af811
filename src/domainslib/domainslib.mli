(** The interface of Domainslib 0.5.2, on Muster's pools.

    A program moves over by one word in its dune file: [muster.domainslib] for [domainslib]. One
    program cannot have both, since both call their module [Domainslib].

    These things are different, without a change to the program:

    - {b Anywhere.} Every function works inside and outside of {!Task.run}, from any domain or
      thread, below C callbacks and in tasks of other pools. None raises [Effect.Unhandled].
    - {b Exceptions.} A loop returns or raises when all bodies that it started have ended. Of
      several exceptions the one of the smallest index is raised. Tasks that fail and are never
      awaited are reported on [stderr] (see [Muster.Task.set_uncaught_handler]).
    - {b Waiting} uses no CPU for more than about 60 us, in [run] and [await] as well.
    - {b Workers.} A pool uses at most as many CPUs as the process has, and fewer while other
      programs need them. {!Task.get_num_domains} tells the number asked for. Domains come and go,
      so do not index arrays by [Domain.self]. See
      {{!page-limits.section-domains_that_come_and_go}doc/limits.md, "Domains that come and go"}.
    - {b Cancellation.} A cancelled task or scope of Muster ends at {!Task.async}, {!Task.await} and
      loops, too.

    {b Waiting for each other.} A task or loop body that waits through this library or Muster leaves
    its worker to others. So tasks may wait for each other in any order without a circle, and so may
    bodies of different chunks.

    Code that blocks in another way (a flag, [Condition.wait], [Unix.read]) keeps its worker. If all
    workers are stuck so, Muster starts another domain, up to the number asked for. Each takes 20 ms
    to 2 s: see {{!page-limits.section-tasks_that_block_each_other}doc/limits.md, "Tasks that block
    each other"}.

    {b Order.} Everything before a call happens before the functions that it is given. All that a
    function does happens before the return, or the exception, of the call that gives its result.
    Bodies of a loop are unordered. Channels order as [Muster.Chan] does. *)

(** Tasks, loops and the pools that run them. *)
module Task : sig
  type 'a task = unit -> 'a

  type !'a promise
  (** A promise of a task's result. *)

  type pool

  (** {2 Pools} *)

  val setup_pool : ?name:string -> num_domains:int -> unit -> pool
  (** [setup_pool ~num_domains ()] is a new pool for [num_domains] workers beside the caller.
      {!lookup_pool} finds it by its [name]. As with Domainslib, the caller's [Random] goes on as if
      it had spawned [num_domains] domains.

      {b Raises} [Invalid_argument] if [num_domains < 0].
      {b Cost}: about 100 us for each domain.
      {b Order}: everything before the call happens before a {!lookup_pool} that finds the pool. *)

  val teardown_pool : pool -> unit
  (** [teardown_pool pool] waits for all tasks of [pool], awaited or not, and ends its domains. Any
      later use of [pool] raises [Invalid_argument], another [teardown_pool] too.

      Inside a {!run} of [pool] it returns at once, and the last such [run] does the work when it
      ends. So a task may call [exit] in a program that tears its pools down [at_exit].

      {b Raises} [Invalid_argument] in a task of [pool] while no {!run} is going on.
      {b Order}: all that the tasks of [pool] did happens before the return. *)

  val lookup_pool : string -> pool option
  (** [lookup_pool name] is the newest pool of that name that was not torn down. *)

  val get_num_domains : pool -> int
  (** [get_num_domains pool] is [num_domains + 1], as it was asked for.

      {b Raises} [Invalid_argument] if [pool] is torn down, as all functions below do. *)

  val run : pool -> 'a task -> 'a
  (** [run pool f] is [f ()], and the calling thread works for [pool] meanwhile. In a task of [pool]
      it is just [f ()]. No call needs a [run], but within one each call is about 0.2 us faster.

      {b Raises} what [f] raises. *)

  (** {2 Tasks} *)

  val async : pool -> 'a task -> 'a promise
  (** [async pool f] starts a task of [pool] that runs [f], whether or not its result is awaited.

      {b Cost}: with its [await] about 25 ns, if no other worker takes it. From outside the pool
      about 100 ns, and 10 to 16 us if a worker has to be woken. *)

  val await : pool -> 'a promise -> 'a
  (** [await pool p] is the result of [p]'s task, which may belong to any pool. If no worker has
      started the task, the caller runs it.

      {b Raises} the task's exception. *)

  (** {2 Loops}

      Ranges include both bounds, and are empty if [finish < start]. [chunk_size] is the number of
      indices that one worker takes at a time. By default it is an eighth of each worker's part, as
      with Domainslib. *)

  val parallel_for :
    ?chunk_size:int -> start:int -> finish:int -> body:(int -> unit) -> pool -> unit
  (** [parallel_for ~start ~finish ~body pool] calls [body i] for each [i] of the range, in any
      order and at the same time. A body that waits for a promise or a channel holds up only the
      rest of its chunk. Each chunk is a task; the caller runs some of them itself.

      {b Raises} the exception of the smallest index that raises. *)

  val parallel_for_reduce :
    ?chunk_size:int ->
    start:int ->
    finish:int ->
    body:(int -> 'a) ->
    pool ->
    ('a -> 'a -> 'a) ->
    'a ->
    'a
  (** [parallel_for_reduce ~start ~finish ~body pool op init] combines [init], [body start], …,
      [body finish] by [op], in this order, in some bracketing. It is [init] for an empty range.
      [op] must be associative and need not commute.

      The bracketing is Domainslib's, so sums of floats are equal to its sums. It depends on the
      range, on [chunk_size] and, if that is left out, on {!get_num_domains}.

      {b Raises} the leftmost exception of [body] and [op]. *)

  val parallel_scan : pool -> ('a -> 'a -> 'a) -> 'a array -> 'a array
  (** [parallel_scan pool op a] is the array of the inclusive prefixes, [a.(0)], [op a.(0) a.(1)], …
      [op] must be associative. The bracketing is Domainslib's. It depends on the length of [a] and
      on {!get_num_domains}. *)

  val parallel_find :
    ?chunk_size:int -> start:int -> finish:int -> body:(int -> 'a option) -> pool -> 'a option
  (** [parallel_find ~start ~finish ~body pool] is [body i] for some [i] of the range where that is
      not [None]; [None] if there is no such [i]. Once one is found, no other [body] is started.

      {b Raises} the leftmost exception of the bodies that were called. *)
end

(** Channels. A task that waits is suspended, and its worker runs other tasks; a thread outside all
    pools blocks. Messages of one sender arrive in order. Waiting senders and receivers are served
    in the order of their arrival. *)
module Chan : sig
  type !'a t

  val make_bounded : int -> 'a t
  (** [make_bounded n] is a channel whose buffer holds up to [n] messages. With 0, each {!send}
      waits for its receiver.

      {b Raises} [Invalid_argument] if [n < 0]. *)

  val make_unbounded : unit -> 'a t
  (** [make_unbounded ()] is a channel where {!send} never waits. *)

  val send : 'a t -> 'a -> unit
  (** [send c v] gives [v] to a waiting receiver, or puts it into the buffer. While that is full, it
      waits.

      {b Order}: everything before it happens before the return of the {!recv} that gets [v]. *)

  val send_poll : 'a t -> 'a -> bool
  (** [send_poll c v] sends [v] if that needs no wait, and tells whether it did. *)

  val recv : 'a t -> 'a
  (** [recv c] takes the oldest message. While there is none, it waits. *)

  val recv_poll : 'a t -> 'a option
  (** [recv_poll c] takes the oldest message; [None] if there is none. *)
end
