(** The interface of Domainslib 0.5.2, on Muster's pools.

    A program moves over by one word in its dune file, [muster.domainslib] for [domainslib]. One
    program cannot have both, since both call their module [Domainslib].

    What is different, all of it without a change to the program:

    - {b Anywhere.} Every function works in and outside of {!Task.run}, from any domain or thread,
      however many there are, below C callbacks and in tasks of other pools. None raises
      [Effect.Unhandled] or fails an assertion.
    - {b Exceptions.} A loop returns or raises when all bodies that were started have ended. Of
      several exceptions the leftmost is raised, that of the smallest index; bodies right of it
      that were not started are skipped. Tasks that fail and are never awaited are reported on
      [stderr] ([Muster.Task.set_uncaught_handler]). Backtraces lead to the origin, if
      [Printexc.record_backtrace] was on where the task was made.
    - {b Waiting} burns no CPU beyond about 60 us, in [run] and [await] as well.
    - {b Workers.} A pool has no more of them than the process may use CPUs, and fewer while other
      programs need these, whatever number is asked for, unless its tasks need more (below). {!Task.get_num_domains} tells the number
      asked for. Their domains end when they are idle for 150 ms, or there is no CPU for them, and others
      come: so the numbers of [Domain.self] grow without end, and no array should be indexed by them, and what
      a worker keeps in [Domain.DLS] is not kept for ever.

    {b What may wait for what.} A task or loop body that waits by {!Task.await} or otherwise through
    this library or Muster leaves its worker to others, so tasks may wait for each other
    in any order without a circle, even with [~num_domains:0]; and so may bodies of a
    loop that are of different chunks (all of them with [~chunk_size:1]). Code that
    waits in another way, for a flag, in [Condition.wait] or in [Unix.read], keeps its worker. So tasks of {!Task.async} that
    wait so for each other need one worker each, and may count on as many as the pool was asked to have (one less while no caller
    is in [run]), whatever the machine has; and so may the chunks of a loop that are no more than that. Beyond the CPUs one more
    domain comes each time that a task has waited for 20 to 40 ms while the process used no CPU; for 40 to 100 ms while no worker
    began anything and collections were rare; and else for half a second, one or two (a recursion has tasks that wait, too, and
    each domain beyond the CPUs holds up all others at each collection). They leave when they are idle, or between two tasks
    after 50 or 200 ms. (A child of [Unix.fork], which OCaml allows where no domain was started yet, has to make its pools
    itself.)

    {b Cancellation.} A part of a task or scope of Muster's that is cancelled is told at a call of {!Task.async},
    {!Task.await} or a loop, as everywhere.

    {b Order.} What happened before a function was handed over happens before the function; what
    the function did happens before the return of the call that gives its result, also where that
    raises. Bodies of a loop are unordered. What happened before {!Task.setup_pool} happens before a
    {!Task.lookup_pool} that finds the pool, what its tasks did before the return of
    {!Task.teardown_pool}. Channels order as [Muster.Chan] does. *)

(** Tasks, loops and the pools that run them. *)
module Task : sig
  type 'a task = unit -> 'a

  type !'a promise
  (** Of a task's result. *)

  type pool

  (** {2 Pools} *)

  val setup_pool : ?name:string -> num_domains:int -> unit -> pool
  (** [setup_pool ~num_domains ()] is a new pool for [num_domains] workers beside the caller.
      A pool of a [name] is found by {!lookup_pool}, and hides older ones of that name. The caller's generator of
      [Random] goes on as if it had spawned that many domains, up to 1,000 of them, as it does with Domainslib.

      {b Raises} [Invalid_argument] if [num_domains < 0].
      {b Cost}: about 100 us a domain. *)

  val teardown_pool : pool -> unit
  (** Waits for all tasks of the pool, awaited or not, and ends its domains. Any later use of the
      pool raises [Invalid_argument], tearing it down again too. In the code of a {!run} of that pool, and in its tasks
      while there is one, it returns at once, and the last such [run] does this when it ends: so a task may call [exit] in a
      program that tears its pools down [at_exit].

      {b Raises} [Invalid_argument] in a task of the pool that was begun outside of all {!run}s, which it would wait for. *)

  val lookup_pool : string -> pool option
  (** The newest pool of that name that was not torn down. *)

  val get_num_domains : pool -> int
  (** [num_domains + 1] as it was asked for. {b Raises} [Invalid_argument] if torn down, as all that
      follow do. *)

  val run : pool -> 'a task -> 'a
  (** [run pool f] is [f ()], and the calling thread works for the pool meanwhile. In a task of [pool]
      it is just [f ()]. Nothing has to be in a [run]: it spares calls in a row the entering of
      the pool, about 0.2 us each.

      {b Raises} what [f] raises. *)

  (** {2 Tasks} *)

  val async : pool -> 'a task -> 'a promise
  (** [async pool f] is a task of [pool] that runs [f], whether or not somebody awaits it.

      {b Cost}: with its [await] about 25 ns in a task of the pool, if no other worker took it; from
      outside about 100 ns, and 10-16 us if a worker has to be woken. *)

  val await : pool -> 'a promise -> 'a
  (** [await pool p] is the result of [p]'s task, which may be any pool's. A task that nobody has
      started may run in place.

      {b Raises} the task's exception. *)

  (** {2 Loops}

      Ranges include both bounds, and are empty if [finish < start]. [chunk_size] is the number of
      indices that one worker takes at a time; where it is left out or not positive, it is an eighth
      of each worker's part, as with Domainslib. *)

  val parallel_for :
    ?chunk_size:int -> start:int -> finish:int -> body:(int -> unit) -> pool -> unit
  (** [parallel_for ~start ~finish ~body pool] calls [body i] for each [i] of the range, in any order
      and at the same time. A body that waits for a promise or a channel holds up those of
      its chunk that follow, and no others. Chunks are tasks; the caller runs some of them itself.

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
  (** [parallel_for_reduce ~start ~finish ~body pool op init] is
      [op init (op (body start) (op … (body finish)))], in some bracketing, and [init] for an empty
      range. [op] must be associative and need not commute. [init] counts once.

      The bracketing is that of Domainslib, so sums of floats are equal to its sums: it depends
      on the range, on [chunk_size] and, if that is left out, on {!get_num_domains}.

      {b Raises} the leftmost exception of [body] and [op]. *)

  val parallel_scan : pool -> ('a -> 'a -> 'a) -> 'a array -> 'a array
  (** [parallel_scan pool op a] is the array of the inclusive prefixes, [a.(0)], [op a.(0) a.(1)], …
      [op] must be associative. The bracketing is Domainslib's; it depends on the length of [a] and
      on {!get_num_domains}. [a] is not changed. *)

  val parallel_find :
    ?chunk_size:int -> start:int -> finish:int -> body:(int -> 'a option) -> pool -> 'a option
  (** [parallel_find ~start ~finish ~body pool] is what [body i] is for some [i] of the range where it
      is not [None]; [None] if there is none. Once one is found, no other [body] is started.

      {b Raises} the leftmost exception of the bodies that were called. *)
end

(** Channels. Who waits inside a task suspends it, and its worker does other things; a thread
    outside of all pools blocks. Messages of one sender arrive in order, and waiting senders and receivers are
    served in the order in which they came. *)
module Chan : sig
  type !'a t

  val make_bounded : int -> 'a t
  (** [make_bounded n] holds up to [n] messages that nobody has received. With 0 each {!send} waits for its
      receiver.

      {b Raises} [Invalid_argument] if [n < 0]. *)

  val make_unbounded : unit -> 'a t
  (** A channel where {!send} never waits. *)

  val send : 'a t -> 'a -> unit
  (** [send c v] gives [v] to a waiting receiver or puts it into the buffer; while that is full, it
      waits. {b Order}: what happened before it happens before the return of the {!recv} that gets
      [v]. *)

  val send_poll : 'a t -> 'a -> bool
  (** [send_poll c v] sends [v] if that can be done without waiting; whether it did. *)

  val recv : 'a t -> 'a
  (** The oldest message; while there is none, it waits. *)

  val recv_poll : 'a t -> 'a option
  (** The oldest message, or [None] if there is none. *)
end
