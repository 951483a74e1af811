(** Multicore for OCaml: fork-join tasks and parallel loops on one pool of domains.

    {[
      let rec fib n =
        if n < 2 then n
        else
          let a, b = Muster.both (fun () -> fib (n - 1)) (fun () -> fib (n - 2)) in
          a + b

      let () = assert (fib 20 = 6765)
    ]}

    {2 What holds everywhere}

    {b Pool.} Every call acts on the {e current} pool: that of the running task, or of the innermost
    {!Pool.run} of the calling thread, else the default pool, which starts on first use. {!Team}'s calls are
    given theirs. A pool runs as many workers
    as the machine has CPUs for at the moment: see {!Pool.create}.

    {b Exceptions.} A task's exception is raised where its result is asked for, with the backtrace
    of its origin, if [Printexc.record_backtrace] was on where the task was forked (and last set there, if that
    has changed since; where whoever awaits a task runs it in place, there). A call that
    runs several functions returns or raises only when all that were started have ended; of
    several exceptions the leftmost wins (of the smallest index, of the first function), which is
    the one the sequential program would raise; what was not started, right of an exception, is
    skipped. An asynchronous exception ([Sys.Break]) that strikes a caller while it waits for
    such functions is raised when they have ended; further ones end the wait: up to two for each branch or body
    that waits.

    {b Domains.} Every function may be called from any domain, any systhread, in or outside a
    task, below a C callback, under any effect handler. A thread that is not in the pool takes a
    free worker's place, or sends the work to the pool and blocks. None raises [Effect.Unhandled].
    A task may go on in another domain after a call that waits, after a fork, and between two
    chunks of a loop: where its worker has to leave, it moves.

    {b Order.} What happened before a function was handed over happens before the function; what
    the function did happens before the return of the call that gives its result, also where that
    raises. Where more holds, it is said. Calls that only look ({!Pool.size}, {!Pool.stats},
    {!Chan.length}, …) order nothing, unless it is said. Of two who each do something with a
    promise, a channel or a lock, and then look for what the other did, at least one sees it.

    {b Waiting} burns no CPU beyond about 60 us; a task that waits leaves its worker to others. So
    it does if it waits in a library that asks [domain-local-await] how to (Kcas does), if that was
    there when Muster was built. What knows nothing of tasks blocks the worker that runs it, and
    only that one: Stdlib's [Mutex] and [Condition], [Thread.delay], I/O. See {!Task.blocking}.

    {b Cost} is measured on one 2-core x86-64 machine: see [bench/README.md]. *)

(** {1 Fork and join} *)

val both : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** [both f g] is [(f (), g ())], where [g] may run on another worker at the same time. It
    promises parallelism, not concurrency: [f] must not wait for something that [g] does.

    {b Raises} what [f] raises, else what [g] raises. If [f] raises, a [g] that was not started
    is skipped.
    {b Cost}: about 2 ns more than the two calls, where the worker has enough tasks handed out
    already; else about 40 ns. No cut-off is needed. At most 12 words with two closures that
    capture one value each. A recursion along a list has the rest as [g]: were it [f], which runs first, only the outermost eight
    forks would be handed out.
    {b Order}: [f] and [g] are unordered; both happen before the return. *)

(** {1 Loops} *)

val parallel_for : ?grain:int -> start:int -> finish:int -> (int -> unit) -> unit
(** [parallel_for ~start ~finish f] calls [f i] for every [i] from [start] to [finish], both
    included, like [for]. Nothing if [finish < start]; any [int]s will do. Iterations may run in
    any order and at the same time.

    [grain] (default 1) is the least number of iterations worth a task. It is rarely needed: the
    time that an iteration takes is measured.

    {b Raises} the exception of the smallest index that raises; [Invalid_argument] if [grain < 1].
    {b Cost}: within 60 ns of the [for] loop with the same closure, where the loop is too short to
    share; the first run of a loop is shared without asking. Where the first iteration takes much longer than was remembered,
    the rest is shared after all; but not in what was very short (16 iterations or more in 1.5 us) when it was called last,
    within the last 6 us.
    {b Order}: iterations are unordered; all happen before the return. *)

val parallel_reduce :
  ?grain:int -> start:int -> finish:int -> combine:('a -> 'a -> 'a) -> init:'a -> (int -> 'a) -> 'a
(** [parallel_reduce ~start ~finish ~combine ~init f] is
    [combine (f start) (combine … (f finish))], in some bracketing, and [init] for an empty range.
    [combine] must be associative, need not commute, and [init] must be neutral for it.

    The bracketing depends on the range and [grain] alone, so that a sum of floats has the same
    bits on any number of domains. [grain] is the length of the runs that are combined from left
    to right, by default 1/512 of the range. Where that has more than [max_int] integers they have
    2{^54}, whatever [grain] says.

    {b Raises} the leftmost exception of [f] and [combine]; [Invalid_argument] if [grain < 1].
    {b Order}: the calls that made a value happen before the [combine] that gets it; all calls
    before the return. *)

val parallel_scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
(** [parallel_scan op a] is the array of the inclusive prefixes: [a.(0)], [op a.(0) a.(1)], … [op]
    must be associative; the bracketing depends on the length of [a] alone.

    {b Raises} the exception of the leftmost prefix that raises, the one that is raised from left to
    right, with the same operands if [op] is associative to the last bit. Where it raises in another
    bracketing alone (a block of elements overflows, and no prefix does) that exception.
    {b Cost}: up to 1,024 elements one call of [op] each and no parallelism; above, two calls.
    {b Order}: as {!parallel_reduce}. *)

val parallel_find : ?grain:int -> start:int -> finish:int -> (int -> 'a option) -> 'a option
(** [parallel_find ~start ~finish f] is [f i] for the smallest [i] of the range where that is not
    [None]; [None] if there is no such [i]. [f] may be called for some larger indices too.

    {b Raises} the exception of the smallest index, if no smaller one is found;
    [Invalid_argument] if [grain < 1].
    {b Order}: all calls of [f], those for larger indices too, happen before the return. *)

(** {1 Tasks} *)

(** Tasks whose result is asked for later, by anyone. *)
module Task : sig
  type 'a t
  (** A promise of the task's result. *)

  val async : (unit -> 'a) -> 'a t
  (** [async f] is a task that runs [f], on whichever worker is free. It runs whether or not
      somebody awaits it, at the latest when the pool is closed; the end of the program does not
      wait for it.

      Code that waits for it otherwise than by {!await}, say for a flag that it sets, keeps its own
      worker busy, so another one has to begin the task. In a pool of several workers ({!Pool.size})
      one does: one that is free, at once; where the machine has no CPU for it, within about 60 ms (for each
      caller that has such tasks) and what the machine makes it wait, by the one worker that stays for it. While
      that one is itself busy with a task that does not end, the next one begins (or goes on, if it had begun
      and had to leave its worker) when the machine has a CPU for one more worker, if the code that waits
      passes checkpoints, say {!check}; so it is while the runtime or the system gives no domain. (A thread
      that is in the pool is one of its workers: while none is, a pool of two has one.) In a pool of
      one worker, and for {!both} and loops in any pool, nobody promises that.

      {b Cost}: with its [await] about 20 ns, if no other worker took it; from outside the pool
      about 100 ns, and 10-16 us if a worker has to be woken.
      {b Order}: what happened before happens before [f]. *)

  val await : 'a t -> 'a
  (** [await t] is the result of [t]. A task of the same scope that nobody has started runs in place where that holds up nobody:
      the caller is no task that could be cancelled by itself, or the last 64 tasks of that function have ended within 20 us or so and come
      to nothing that might have made them wait.

      {b Raises} the task's exception; [Invalid_argument] where a task awaits itself.
      {b Cost}: see {!async}. 0.5 to 2 us where the caller may be cancelled and the task may wait: that one gets a stack of
      its own.
      {b Order}: all that [t] did happens before the return, and before its exception is raised, also
      {!Cancelled} if [t] was cancelled. (Not if the caller is.)
      {b Cancels}: ends at once; where it runs [t] in place, when that ends. So a task that waits keeps its waiter from being
      told only if it is the first of its function that does, after others that did not, or where more than 1,000 tasks that have
      not ended await each other in a row. *)

  val all : (unit -> 'a) list -> 'a list
  (** [all fs] runs all of [fs] as tasks; the results are in the order of [fs].

      {b Raises} the leftmost exception. Those right of a task that raises are skipped, or cancelled if they have begun; those
      left of it are waited for, as their exception would come first.
      {b Order}: all that they did happens before the return.
      {b Cancels} all of them; it returns when they have ended. *)

  val first : (unit -> 'a) list -> 'a
  (** [first fs] runs all of [fs] as tasks; the result is that of the one that succeeds first.
      The others are cancelled, with the tasks that they have started, and waited for. What one of them returns all the same is dropped, with the
      message, say, that it had received: the first of several channels is {!Chan.select}'s.

      {b Raises} the leftmost exception if all fail; [Sys.Break] (Ctrl-C) if one of them raises that, whoever
      succeeds; [Invalid_argument] if [fs] is empty.
      {b Order}: all that they did, the losers too, happens before the return. *)

  val blocking : (unit -> 'a) -> 'a
  (** [blocking f] is [f ()], for an [f] that waits for something outside the program's tasks: a
      system call such as [Unix.read], [Thread.delay], a Stdlib [Mutex] or [Condition]. Made by a
      task as they are, such calls hold its worker, and no other, until they return. With
      [blocking] the task is suspended meanwhile, and its worker runs others.

      [f] runs in a systhread. Those of all blocking calls live in one domain, which starts
      with the first of them and ends when there was none for 150 ms. Calls do not wait for each
      other, however many there are; but what they compute, they compute in turns of up to 50 ms.
      [f] sees neither the effect handlers of the task nor its domain-local storage, and has to
      unlock the mutexes that it locks. It is outside all pools: calls of Muster within act on
      the default pool. Outside a task [blocking f] is just [f ()].

      {b Raises} what [f] raises, which may be [Sys.Break]: [f] takes signals, too.
      {b Cost}: 6 us if a thread of an earlier call is still there, 0.25 ms if the domain
      has to start; some 0.1 ms to come back where all slept meanwhile. While [f] waits, minor
      collections have one more idle domain to wake.
      {b Domains}: any.
      {b Order}: what happened before happens before [f], and that before the return.
      {b Cancels}: if the task is cancelled while it waits, [blocking] raises at once; [f] goes on
      to its end, and its result is dropped. {!Pool.close} waits for a task whose call goes on, but
      neither it nor the end of the program waits for such an [f]. *)

  (** {2 Cancellation}

      Cancelling is cooperative. A task that is cancelled goes on to its next checkpoint: a fork
      ({!both}, {!async}, {!fork}, a loop), the end of a loop's chunk (some 10 us, where an iteration
      takes about as long as those before it), an {!await} or any
      other wait of this library, or {!check}. There {!Cancelled} is raised, also in the branches
      and loops that the task runs on other workers; a wait ends at once. It is raised once: the
      code that cleans up may fork and wait, in [Fun.protect] or elsewhere. Code that catches it and goes
      on as if nothing had happened is not told again, and must not wait for what was cancelled with
      it. A program in which nothing is ever cancelled pays one load for a checkpoint; some ns while a pool has
      fewer workers than its {!Pool.size}.

      What is cancelled with a task is what it runs itself: its branches, loops and scopes. Tasks that
      it has started with {!async} are not; but those that were started within a scope are cancelled
      with the scope, and with what the scope is a part of, also when it has ended. ({!with_deadline}, {!all} and
      {!first} are scopes, too.) *)

  exception Cancelled

  val cancel : 'a t -> unit
  (** [cancel t] cancels [t]. One that was not started never will be. From then on [await t] raises
      {!Cancelled}: a value that [t] still returns is dropped; an exception is not. But if [t] waits, and
      what it waits for has come before the cancel, it keeps what it returns without a further checkpoint:
      a message that is on its way to [t] is not lost. Nothing happens if [t] has ended.

      {b Cost}: about 100 ns for each worker of all pools, which look up at their next fork, and 1 to 3 us for each task within
      that waits.
      {b Domains}: any.
      {b Order}: what happened before happens before the {!Cancelled} that [t] and what it runs get,
      and before the hooks of {!on_cancel}.
      {b Cancels}: nothing of what a signal's handler or a finaliser calls in the midst of [t]; what that
      starts is no part of [t] either. Two exceptions: on Windows a handler is part of [t]; and a
      thread that has blocked some handled signal since it first used a pool is not told within
      OCaml code that C calls. *)

  val check : unit -> unit
  (** A checkpoint: for long computations that contain none.

      {b Raises} {!Cancelled} if the task, or a scope around it, is cancelled.
      {b Cost}: about 5 ns.
      {b Order}: with who has cancelled, as {!cancel} says. *)

  val on_cancel : (unit -> unit) -> unit
  (** [on_cancel hook] calls [hook] when the running task, or the innermost scope around the caller,
      is cancelled before it ends; at once if it is already. On the thread of who cancels, or, if the task has
      noticed before and ends, on its own:
      it should be short; where it waits, that thread goes on, but one outside all pools waits with it: there it must not wait
      for what is being cancelled. It is part of nothing that is cancelled, nor of the
      task that it interrupts. Its exceptions go to the handler of {!set_uncaught_handler}, but
      [Sys.Break] (Ctrl-C) to the thread's code. In code that
      cleans up, after {!Cancelled} was raised, the task no longer counts as cancelled: a [hook]
      made there is that of a scope opened there, or is not called.

      {b Order}: what happened before, and before the cancel, happens before [hook]. Nobody waits
      for the hook. *)

  (** {2 Scopes} *)

  type scope

  val scope : (scope -> 'a) -> 'a
  (** [scope f] is [f s], and ends when all tasks of [s] have ended too. The first exception, of
      [f] or of a task, cancels the scope, and is raised when all have ended. (So hooks of {!on_cancel} are called, those
      of the task that has failed as well.) A task that was cancelled by {!cancel} is no failure of its scope.

      {b Raises} that exception; {!Cancelled} if the scope is cancelled.
      {b Cost}: where scopes are nested, a task's first wait takes 0.1 to 0.3 us for each one around it.
      {b Order}: all that the tasks did happens before the return, and before the exception. *)

  val fork : scope -> (unit -> 'a) -> 'a t
  (** [fork s f] is a task of [s] that runs [f]. In a scope that was cancelled it never begins.

      {b Raises} [Invalid_argument] if the scope has ended.
      {b Domains}: any, in any task: the tasks run in the pool in which the scope was opened.
      {b Order}: what happened before happens before [f]. *)

  val cancel_scope : scope -> unit
  (** Cancels the scope's code and its tasks. {b Order}: as {!cancel}. *)

  exception Deadline_exceeded

  val with_deadline : float -> (unit -> 'a) -> 'a
  (** [with_deadline seconds f] is [f ()] if that ends within so many seconds. It is a scope: at the
      deadline [f] is cancelled, and with it the tasks that were started within. It is noticed
      by workers that are at a checkpoint, collect garbage or sleep. (Where forks follow each other
      within a microsecond, not all of them look at the clock.) So a pool keeps a domain while a
      task is suspended and a deadline is to come.

      {b Raises} {!Deadline_exceeded} if [f] was told that time is up, at a checkpoint, or, where it
      met none, at its end; what else [f] raises; [Invalid_argument] if [seconds] is not a number.
      With 0 or less [f] is not called. One that was not told keeps its value, though that be late: a
      message that it got at the last moment is not lost, nor a lock or permit: to take one that is free counts as
      a checkpoint here. ([try_] calls are none, nor is what a thread does meanwhile.)
      {b Order}: all that [f] did happens before the return, and before {!Deadline_exceeded}. *)

  (** {2 Failures that nobody sees} *)

  val set_uncaught_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
  (** What to do with the exception of a task that nobody awaits; by default it is printed on
      [stderr]. Called once for each, when it is certain: when the promise has been collected, the
      pool closed, or the program ends. Workers look for collected ones while they work or have nothing to do; a pool that is not
      used, for ten seconds after the failure. The end of the program, or of a pool, waits for handlers that are running, a second
      at most. Not for the tasks of a {!scope}, which raises the first failure
      itself: those that follow, from tasks that clean up, say, are dropped. What the handler does is part of
      no task; what it raises is printed on [stderr], but [Sys.Break].

      {b Order}: what happened before, and all that the task did, happens before the call. *)
end

(** {1 Pools} *)

(** Programs seldom need more than the default pool. *)
module Pool : sig
  type t

  val create :
    ?name:string -> ?domains:int -> ?oversubscribe:bool -> ?minor_heap_words:int -> unit -> t
  (** A new pool. [domains] counts the caller, and defaults to {!Cpu.available}; the pool has as
      many workers as that, as there are CPUs and as the runtime can give domains, whichever is
      least. [~oversubscribe:true] leaves the CPUs out of it: for tests, since more domains than
      CPUs make every minor collection wait for the machine.

      That is the most. Fewer work where the machine has other things to do: a worker that has stood
      in the kernel's queue while more threads wanted to run than there are CPUs ends its domain,
      for every minor collection of the program would wait for it. Another one starts when a CPU is
      free again. All pools and callers of a process share one number of CPUs (a caller counts in the innermost
      pool that it is in, unless it has slept there for 20 ms, as it waits for others), which is
      read again while the pool works, at most once a second. A domain that found nothing to do for
      150 ms ends, too, and another starts on use, which takes about 0.2 ms. (One that owns weak
      pointers, ephemerons or values with finalisers stays: OCaml before 5.5 lets weak ones of
      ended domains dangle. So does one in which a task has started a systhread, as long as that goes
      on.) Calls work as before with fewer workers; {!Team.broadcast} has them all come. A pool of
      [~oversubscribe:true] keeps its number, whatever the machine does; when idle its domains end all
      the same. The environment variable [MUSTER_GOVERNOR=off] keeps pools from heeding the machine's
      other work.

      With several workers the minor heap of each, and of the calling domain, becomes
      [minor_heap_words], in whole pages. By default it becomes 512 k words (4 MB), and 1 M where 1 %
      or more of what a worker allocates survives its collections, unless the program has changed it
      ([OCAMLRUNPARAM], [Gc.set]): every minor collection stops all domains. Of two workers on CPUs with
      2 MB or more of second-level cache, one of whose allocation less than 0.1 % survives, while both are
      at work, gets three quarters of that cache, 4 MB at most. A caller that has
      allocated for 100 ms or more within the pool gets the heap back that it came with, when it leaves.

      {b Raises} [Invalid_argument] if [domains] or [minor_heap_words] is less than 1, or
      [minor_heap_words] more than 2{^28}.
      {b Cost}: about 100 us a domain.
      {b Order}: what happened before happens before a {!find} that gives the pool. *)

  val run : t -> (unit -> 'a) -> 'a
  (** [run pool f] is [f ()] with [pool] as the current pool, from any domain, systhread or fiber.
      The calling thread works for the pool meanwhile, be it beside others that do; if there are more of these than
      the pool has places for (15), it just runs [f]. Where [f] has waited, it may go on on another worker, which does not see the
      effect handlers around [run]. In a task of [pool] it is just [f ()];
      a task of another pool keeps its worker there until [f] has ended, also where [f] waits.

      {b Raises} what [f] raises; [Invalid_argument] if [pool] is closed. An asynchronous exception
      ([Sys.Break]) that strikes the caller while [f] waits for something is raised at once, and [f]
      goes on by itself.
      {b Order}: what happened before happens before [f], and that before the return. *)

  val close : t -> unit
  (** Waits for all tasks, those that nobody awaits too, and ends the domains. A task that never
      ends makes it wait for ever; Ctrl-C ends the wait. Closing again does nothing; any other
      later use is [Invalid_argument] with the pool's name.

      {b Raises} [Invalid_argument] in a task of this pool.
      {b Order}: all that the pool's tasks did happens before the return. *)

  val with_ : ?name:string -> ?domains:int -> ?oversubscribe:bool -> (t -> 'a) -> 'a
  (** [with_ f] is [f pool] for a new pool that is closed afterwards, whatever happens.

      {b Order}: as {!close}. *)

  val default : unit -> t
  (** The pool that is used where no other is current. Need not be closed: a program that ends,
      ends at once; what its tasks have printed by [Format] and not flushed is lost then, as is
      what their domains would do at [Domain.at_exit]. {b Order}: none. *)

  val size : t -> int
  (** Workers, the caller's included: as many as there can be at once, of which fewer may be present
      ({!stats}). It changes only if the CPUs that the process may use do. {b Order}: none. *)

  val find : string -> t option
  (** An open pool of that name. {b Order}: see {!create}. *)

  type decision = {
    seconds_ago : float;
    what : string;  (** such as ["lend a CPU: use 1 of 2 CPUs"] *)
    why : string;  (** ["a worker waited 3.8 ms for a CPU: 3 runnable threads for 2 CPUs"] *)
  }
  (** Something that the pool decided, and why. *)

  type stats = {
    size : int;  (** {!size} *)
    tasks : int;  (** run from a deque or from outside; not those that ran in place *)
    forks : int;  (** offered to other workers; not those that ran in place *)
    steals : int;
    parks : int;  (** times that a worker went to sleep *)
    regions : int;  (** {!Team} calls *)
    workers : int;  (** present now; the caller's place counts even if no caller is there *)
    allowed : int;  (** that may take work now, a caller included *)
    cpus : int;  (** that the process may use: {!Cpu.available}, looked up at most once a second *)
    lent : int;  (** of these, left to other processes at the moment *)
    minor_heap_words : int list;
        (** of the workers present, the caller's place first, as of their last look or pause; those
            that had neither yet are left out *)
    domains_started : int;
    domains_ended : int;
    waits : int;  (** times that a worker stood in the kernel's run queue for 1 ms or more *)
    waited_seconds : float;  (** in these, all workers together *)
    minor_collections : int;
        (** in which a worker's domain took part, counted for each domain; but for the first after
            a worker came to its place *)
    minor_gc_seconds : float;
        (** that these took the domains for their parts of the copying, all together. What they
            waited for each other, before and after, is not in it: of the runtime only [runtime_events]
            tells that. *)
    decisions : decision list;
        (** the last ones, of at most 32 that the process remembers, newest last: how many workers
            there are, CPUs lent and taken back, domains started and ended, minor heaps sized *)
  }
  (** Counts are since the pool's creation. *)

  val stats : t -> stats
  (** What the pool did and does, and why. Workers add what they counted when they pause, and every
      few milliseconds. A pool that insists on its domains ({!create}) has no [waits]: it does not
      look. Where the system does not tell ([waits] on others than Linux) or the compiler is newer
      than the known ones (collections), counts stay 0.

      {b Cost}: some microseconds. {b Domains}: any, of a closed pool too; figures of other
      workers may be a little old. {b Order}: none. *)
end

(** The whole pool at once, each worker knowing its index (the interface of Fork Union, by Ash
    Vardanian). Worker indices go from 0 to [Pool.size pool - 1]; two calls of the function with
    one index never run at the same time within one call of these. Stubs in C have [for_slices] and
    [for_n_dynamic] by [muster.h].

    {b Order} of all of them: what happened before the call happens before every call of the function;
    these are unordered, but for those with one worker index, which follow each other; all happen
    before the return.

    {b Cancels}: a task that is cancelled leaves before a worker's slice, and between two chunks of
    {!Team.for_n_dynamic}, of which the first is up to half of one worker's share: longer pieces
    than those of {!parallel_for}. A function that takes long calls {!Task.check}. *)
module Team : sig
  val broadcast : Pool.t -> (int -> unit) -> unit
  (** [broadcast pool f] calls [f worker] once on every worker. It waits for workers that are
      busy with a task, and has those start that are not there, if the machine has other work, too. The caller stands in for worker 0 if nobody has that place.

      {b Cost}: about 0.5 us on 2 cores, for a pool that was busy less than 60 us ago; 10-16 us
      more for each worker that sleeps, about 0.2 ms if a domain has to start. *)

  val for_n : Pool.t -> int -> (worker:int -> int -> unit) -> unit
  (** [for_n pool n f] calls [f ~worker i] for each [i] in 0 … [n - 1], in [Pool.size pool]
      slices whose lengths differ by at most 1. The caller takes over the slice of a worker that
      has not begun when its own is done.

      {b Raises} the exception of the smallest index that raises; [Invalid_argument] if [n < 0].
      {b Cancels}: before a slice, and every 64 to 1,024 indices. *)

  val for_n_dynamic : Pool.t -> int -> (worker:int -> int -> unit) -> unit
  (** The same with the indices shared out as workers get free, in shrinking chunks.

      A loop whose body was so fast before that sharing would gain nothing (less than about 1 us
      for all, or 25 us for each worker that sleeps) stays with the caller, in index order, as
      long as the body is as fast as it was.

      {b Cost}: where it stays with the caller, about 100 ns more than the loop. *)

  val for_slices : Pool.t -> int -> (worker:int -> start:int -> count:int -> unit) -> unit
  (** The same slices as {!for_n}, whole; empty ones are left out. *)
end

(** {1 Channels} *)

module Chan = Muster_sync.Chan

(** {1 Synchronisation}

    These suspend the task that waits, not its worker's domain; a thread outside all pools blocks.
    They may be used from any domain and thread, and by several pools at once.

    {b Order}: each says what happens before what. Beside that, what happened before one was made
    happens before all that is done with it by who was handed it; and their looks ({!Barrier.waiting},
    {!Semaphore.get_value}, …) order nothing unless they say so. *)

module Mutex = Muster_sync.Mutex
module Condition = Muster_sync.Condition
module Semaphore = Muster_sync.Semaphore
module Barrier = Muster_sync.Barrier
module Latch = Muster_sync.Latch
module Rwlock = Muster_sync.Rwlock
module Lazy = Muster_sync.Lazy

(** {1 The machine} *)

module Cpu : sig
  val available : unit -> int
  (** CPUs that the process may use: by its affinity mask and by the quota of its control groups,
      whichever is less, at least 1. [MUSTER_DOMAINS] overrides it. What other processes use does
      not count: see {!Pool.stats}.

      {b Cost}: 60 us. {b Order}: none. *)
end

(** {1 Collections}

    The stdlib's, run in parallel where it pays. A program moves over by [module Array = Muster.Array].

    {b Order} of all of them: what happened before the operation happens before every call of a
    function; these are unordered unless one gets what another made; all happen before the return. *)

module Array = Muster_collections.Array
module Floatarray = Muster_collections.Floatarray
module Bigarray = Muster_collections.Bigarray
module Bytes = Muster_collections.Bytes
module String = Muster_collections.String
module List = Muster_collections.List
module Seq = Muster_collections.Seq
