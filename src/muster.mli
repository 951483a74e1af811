(** Multicore for OCaml: fork-join tasks and parallel loops on one pool of domains.

    {[
      let rec fib n =
        if n < 2 then n
        else
          let a, b = Muster.both (fun () -> fib (n - 1)) (fun () -> fib (n - 2)) in
          a + b

      let () = assert (fib 20 = 6765)
    ]}

    {2:rules What holds everywhere}

    {b Open.} [open Muster] leaves the stdlib's [List], [Array] and their like as they are. It does
    bring [Mutex], [Condition], [Semaphore] and [Lazy], whose types are others than the stdlib's.
    {!Parallel} has collections with the stdlib's names and types. Open it only where the functions
    that you pass may run in any order.

    {b Pool.} Every call acts on the {e current} pool: that of the running task, else that of the
    calling thread's innermost {!Pool.run}, else the default pool. The default pool starts on first
    use. {!Team}'s functions take their pool as an argument.

    {b Exceptions.} A call that runs several functions returns or raises only when all that it
    started have ended. If several raise, the leftmost exception wins: it is the one that the
    sequential program would raise. Functions to the right of an exception that were not started are
    skipped. Every exception keeps the backtrace of its origin. For [Sys.Break] and its like see
    {{!page-limits.section-asynchronous_exceptions}doc/limits.md, "Asynchronous exceptions"}.

    {b Domains.} Every function may be called from any domain and any thread, inside and outside
    tasks, below a C callback and under any effect handler. A thread outside the pool works in the
    pool during its call. A task may move to another domain when it waits, when it forks, and
    between two chunks of a loop.

    {b Order.} All that happened before a call happens before the functions that were passed to it.
    All that a function did happens before the return, or the exception, of the call that gives its
    result. Calls that only look, such as {!Pool.val-size} or {!Chan.length}, order nothing.

    {b Waiting.} A task that waits in this library is suspended, and its worker runs other tasks. A
    thread outside all pools blocks. A fiber of another scheduler that provides
    [domain-local-await], such as Eio's, is suspended. Its functions run in the pool, as tasks.
    Other blocking calls (Stdlib's [Mutex] and [Condition], I/O,
    [Thread.delay]) hold the worker that makes them: wrap them in {!Task.blocking}. Libraries that
    wait through [domain-local-await], such as Kcas, suspend the task. See
    {{!page-limits.section-fibers_of_other_schedulers}doc/limits.md, "Fibers of other schedulers"}.

    {b Fields.} Each value states what it {b Raises}, its {b Cost}, the {b Domains} that may call
    it, its {b Order} and where it {b Cancels}. A field is left out where these rules say it all.
    Costs were measured on a 2-core x86-64 machine: see [bench/README.md]. Corner cases and their
    workarounds are in {{!page-limits}doc/limits.md}. *)

(** {1 Fork and join} *)

val both : (unit -> 'a) -> (unit -> 'b) -> 'a * 'b
(** [both f g] is [(f (), g ())]; another worker may run [g] at the same time. Recursions need no
    cut-off. [f] must not wait for something that [g] does: on one worker, [g] runs after [f].

    A recursion along a list should pass the rest of the list as [g]. The caller runs [f] first, and
    offers only its eight outermost forks to other workers.

    {b Raises} what [f] raises, else what [g] raises. If [f] raises, a [g] not started is skipped,
    and one that runs goes on without help.
    {b Cost}: 2 to 40 ns more than the two calls; 12 words with closures of one captured value.
    {b Order}: [f] and [g] are unordered; both happen before the return. *)

(** {1 Loops} *)

val parallel_for : ?grain:int -> start:int -> finish:int -> (int -> unit) -> unit
(** [parallel_for ~start ~finish f] calls [f i] for every [i] from [start] to [finish], both
    included. The calls come in any order and at the same time. An empty range does nothing.

    {[
      let squares = Array.make 10 0
      let () = Muster.parallel_for ~start:0 ~finish:9 (fun i -> squares.(i) <- i * i)
    ]}

    [grain] (default 1) is the least number of iterations in a task. You rarely need it, because
    Muster measures how long an iteration takes.

    {b Raises} the exception of the smallest index that raises; [Invalid_argument] if [grain < 1].
    {b Cost}: up to 100 ns more than [for], where the loop is too short to share. See
    {{!page-limits.section-cheap_loops_that_turn_dear}doc/limits.md, "Cheap loops that turn dear"}.
    {b Order}: iterations are unordered; all happen before the return. *)

val parallel_for2 :
  ?grain:int -> start:int * int -> finish:int * int -> (int -> int -> unit) -> unit
(** [parallel_for2 ~start:(i0, j0) ~finish:(i1, j1) f] calls [f i j] for every [i] from [i0] to [i1]
    and every [j] from [j0] to [j1]. It is {!parallel_for} over the pairs, row by row: a task has a
    part of a row, or several rows.

    {[
      let table = Array.make_matrix 10 10 0

      let () =
        Muster.parallel_for2 ~start:(1, 1) ~finish:(9, 9) (fun i j -> table.(i).(j) <- i * j)
    ]}

    {b Raises} the exception that two nested loops raise; [Invalid_argument] if [grain < 1].
    {b Cost}: as {!parallel_for}, and some nanoseconds for each row.
    {b Order}: as {!parallel_for}. *)

val parallel_for_init :
  ?grain:int -> start:int -> finish:int -> init:(unit -> 's) -> ('s -> int -> unit) -> unit
(** [parallel_for_init ~start ~finish ~init f] is {!parallel_for} with a state, such as a buffer. It
    calls [f s i], where [init] has made [s]. No other call has [s] meanwhile, even if [f] waits.

    {[
      let texts = Array.make 10 ""

      let () =
        let init () = Buffer.create 80 in
        Muster.parallel_for_init ~start:0 ~finish:9 ~init (fun buffer i ->
            Buffer.clear buffer;
            Printf.bprintf buffer "%d squared is %d" i (i * i);
            texts.(i) <- Buffer.contents buffer)
    ]}

    [init] is called once, and again where a chunk begins while all states are in use. So there are
    at most as many as workers, and one more for each call that waits or has raised.

    {b Raises} as {!parallel_for}; also the exception of [init].
    {b Cost}: as {!parallel_for}, and a state to take and give back for each chunk.
    {b Order}: as {!parallel_for}; [init], and a call, before the next call with that state. *)

val parallel_for_range :
  ?grain:int -> start:int -> finish:int -> (start:int -> finish:int -> unit) -> unit
(** [parallel_for_range ~start ~finish f] cuts the range into parts. It calls [f] with the first and
    the last index of each, in any order and at the same time. [f] runs a plain loop over its part:
    a cheap iteration costs no call, and a float needs no box.

    {[
      let scale factor a =
        let scale_part ~start ~finish =
          for i = start to finish do
            a.(i) <- factor *. a.(i)
          done
        in
        Muster.parallel_for_range ~start:0 ~finish:(Array.length a - 1) scale_part
    ]}

    The cuts are those of {!parallel_reduce_range}.

    {b Raises} the exception of the leftmost part that raises; [Invalid_argument] if [grain < 1].
    {b Cost}: up to 150 ns, and 5 to 8 ns for each part; one part is a plain call.
    {b Order}: parts are unordered; all happen before the return.
    {b Cancels}: between two parts. *)

val parallel_reduce :
  ?grain:int -> start:int -> finish:int -> combine:('a -> 'a -> 'a) -> init:'a -> (int -> 'a) -> 'a
(** [parallel_reduce ~start ~finish ~combine ~init f] combines [f start], …, [f finish], in this
    order, in some bracketing. It is [init] for an empty range. [combine] must be associative, and
    [init] neutral for it.

    {[
      let sum = Muster.parallel_reduce ~start:1 ~finish:100 ~combine:( + ) ~init:0 Fun.id
      let () = assert (sum = 5050)
    ]}

    The bracketing depends on the range and [grain] alone, so a sum has the same bits on any number
    of domains. Runs of [grain] elements (default: 1/512 of the range) are combined from left to
    right, and then with each other.

    Floats are boxed on their way ({{!page-boxing}doc/boxing.md}): to sum them use
    {!parallel_reduce_range}.

    {b Raises} the leftmost exception of [f] and [combine]; [Invalid_argument] if [grain < 1].
    {b Cost}: as {!parallel_for}, and 2 to 5 ns for each index, beside the calls.
    {b Order}: the calls that made a value happen before the [combine] that gets it; all calls
    happen before the return. *)

val parallel_reduce_range :
  ?grain:int ->
  start:int ->
  finish:int ->
  combine:('a -> 'a -> 'a) ->
  init:'a ->
  (start:int -> finish:int -> 'a) ->
  'a
(** [parallel_reduce_range ~start ~finish ~combine ~init f] combines the values of [f] for the parts
    of the range, as {!parallel_reduce} does. [f] keeps its sums in variables of its own, unboxed.

    {[
      let sum_of_squares a =
        let part ~start ~finish =
          let sum = ref 0. in
          for i = start to finish do
            sum := !sum +. (a.(i) *. a.(i))
          done;
          !sum
        in
        let finish = Array.length a - 1 in
        Muster.parallel_reduce_range ~start:0 ~finish ~combine:( +. ) ~init:0. part
    ]}

    The cuts depend on the range and [grain] alone, so a sum has the same bits on any number of
    domains. Parts have [grain] indices, the last one maybe fewer. By default there are up to 32
    parts; of more than 4,096 indices up to 512, with 128 indices or more in each.

    {b Raises} the leftmost exception of [f] and [combine]; [Invalid_argument] if [grain < 1].
    {b Cost}: as {!parallel_for_range}.
    {b Order}: as {!parallel_reduce}.
    {b Cancels}: between two parts. *)

val parallel_scan : ('a -> 'a -> 'a) -> 'a array -> 'a array
(** [parallel_scan op a] is the array of the inclusive prefixes: [a.(0)], [op a.(0) a.(1)], … [op]
    must be associative; the bracketing depends on the length of [a] alone.

    {b Raises} the exception of the leftmost prefix that raises.
    {b Cost}: two calls of [op] for each element; one up to 1,024 elements, without parallelism.
    {b Order}: as {!parallel_reduce}. *)

val parallel_find : ?grain:int -> start:int -> finish:int -> (int -> 'a option) -> 'a option
(** [parallel_find ~start ~finish f] is [f i] for the smallest [i] of the range where that is not
    [None]; [None] if there is no such [i]. [f] may be called for some larger indices too.

    {b Raises} the exception of the smallest index, if no smaller one is found; [Invalid_argument]
    if [grain < 1].
    {b Order}: all calls of [f], those for larger indices too, happen before the return. *)

val random_state : seed:int -> int -> Random.State.t
(** [random_state ~seed i] is the generator of index [i] for that seed. Each piece of work takes one
    by its index, so the numbers do not depend on the number of domains, nor on the schedule.

    {[
      let hits ~seed ~start ~finish =
        let random = Muster.random_state ~seed start and hits = ref 0 in
        for _ = start to finish do
          let x = Random.State.float random 1. and y = Random.State.float random 1. in
          if (x *. x) +. (y *. y) < 1. then incr hits
        done;
        !hits

      let pi ~seed n =
        let hits =
          Muster.parallel_reduce_range ~start:1 ~finish:n ~combine:( + ) ~init:0 (hits ~seed)
        in
        4. *. float_of_int hits /. float_of_int n
    ]}

    Generators of different indices or seeds are independent. One generator belongs to one task at a
    time.

    {b Cost}: about 300 ns, so take one for a piece of work, not for each number.
    {b Order}: none. *)

(** {1 Tasks} *)

(** Tasks whose result is asked for later, by any task or thread. *)
module Task : sig
  type 'a t
  (** A promise of the task's result. *)

  val async : (unit -> 'a) -> 'a t
  (** [async f] starts a task that runs [f] on any free worker, and returns at once. The task runs
      whether or not its result is awaited, at the latest when its pool is closed. The end of the
      program does not wait for it.

      {[
        let answer = Muster.Task.async (fun () -> 6 * 7)
        let () = assert (Muster.Task.await answer = 42)
      ]}

      Wait for a task by {!await}. Polling a flag that it sets keeps a worker busy: see
      {{!page-limits.section-waiting_by_other_means}doc/limits.md, "Waiting by other means"}.

      {b Cost}: with its [await] about 40 ns, if no other worker takes it. From outside the pool
      about 100 ns, and 10 to 16 us if a worker has to be woken.
      {b Order}: everything before the call happens before [f]. *)

  val await : 'a t -> 'a
  (** [await t] waits for [t] and returns its result. If no worker has started [t] yet, the calling
      worker runs it itself, on a fiber of its own. If [t] waits in turn, [t] alone is suspended,
      and the caller waits beside it.

      {b Raises} the task's exception; [Invalid_argument] where a task awaits itself.
      {b Cost}: see {!async}.
      {b Order}: all that [t] did happens before the return, and before its exception is raised,
      also {!Cancelled} if [t] was cancelled. (Not if the caller is.)
      {b Cancels}: at once; while the calling worker runs [t] itself, as soon as [t] waits or
      ends. *)

  val all : (unit -> 'a) list -> 'a list
  (** [all fs] runs all of [fs] as tasks, and gives their results in the order of [fs]. On one
      worker they begin in this order.

      {b Raises} the leftmost exception. Tasks to the right of one that raises are cancelled; the
      call waits for all.
      {b Cost}: about 0.2 us, and as much for each function. Small steps of a recursion take
      {!both}, or [Parallel.List.map].
      {b Order}: all that the tasks did happens before the return.
      {b Cancels} all of them, and returns when they have ended. *)

  val first : (unit -> 'a) list -> 'a
  (** [first fs] runs all of [fs] as tasks; its result is that of the first one to succeed. It
      cancels the others, with all tasks that these have started, and waits for them.

      The result of a task that lost is dropped, also a message that it has received. To receive
      from the first of several channels use {!Chan.select}.

      {b Raises} the leftmost exception if all fail; [Sys.Break] if one raises it;
      [Invalid_argument] if [fs] is empty.
      {b Order}: all that the tasks did, the losers too, happens before the return. *)

  val any : 'a t list -> 'a
  (** [any ts] waits for the first of [ts] that returns, and is its result; if several have returned
      already, the leftmost. The others go on, and may be awaited later.

      {[
        let slow = Muster.Task.(async (fun () -> sleep 0.1; "slow"))
        let quick = Muster.Task.async (fun () -> "quick")
        let () = assert (Muster.Task.any [ slow; quick ] = "quick")
      ]}

      {b Raises} the leftmost exception if all fail; [Invalid_argument] if [ts] is empty, or has the
      task that calls it. A failure before the return counts as awaited.
      {b Cost}: about 20 ns for each task that has not ended, and a wait.
      {b Order}: all that the returned task did happens before the return; if all fail, all that
      they did happens before the exception.
      {b Cancels}: at once; [ts] go on. *)

  val is_done : 'a t -> bool
  (** [is_done t] tells whether [t] has ended, so that {!await} need not wait for it. To poll it
      keeps a worker busy.

      {b Order}: all that [t] did happens before an answer of [true]. *)

  val peek : 'a t -> ('a, exn) result option
  (** [peek t] is the result or the exception of [t], or [None] if [t] has not ended. It never
      waits. A failure that it has shown counts as awaited.

      {b Order}: all that [t] did happens before an answer other than [None]. *)

  val sleep : float -> unit
  (** [sleep seconds] waits for so long, and up to 1 ms more. It takes no thread, so any number of
      tasks may sleep. With 0 seconds or less it is {!check}. It may end later while all
      workers compute: see {{!page-limits.section-deadlines}doc/limits.md, "Deadlines"}.

      {b Raises} [Invalid_argument] if [seconds] is not a number.
      {b Cost}: about 2 us of a worker's time.
      {b Order}: none.
      {b Cancels}: at once. *)

  val blocking : (unit -> 'a) -> 'a
  (** [blocking f] is [f ()], for an [f] that blocks its thread: a system call such as [Unix.read],
      [Thread.delay], a Stdlib [Mutex] or [Condition]. The task is suspended meanwhile, and its
      worker runs others.

      [f] runs in a systhread. It sees neither the task's effect handlers nor its
      domain-local storage. Any number of calls may wait at once. Their threads share one domain, so
      compute outside of [f]. In a thread outside all pools it is [f ()]. See
      {{!page-limits.section-blocking_calls}doc/limits.md, "Blocking calls"}.

      {b Raises} what [f] raises.
      {b Cost}: 6 us; 0.25 ms if the domain has to start.
      {b Order}: everything before the call happens before [f], and [f] before the return.
      {b Cancels}: raises at once; [f] goes on to its end, and its result is dropped. *)

  (** {2 At most so many at once}

      These call a function for each element, with no more calls at once than you say. They are for
      calls that wait: subprocesses, files, requests. Wrap what blocks in {!blocking}. A function
      that only computes is faster in a loop or a collection, which need no bound.

      Each call runs in a task. Calls begin in the order of the elements. A sequence is forced in
      order, each element once, by one task at a time, and only when its call may begin.

      {b Raises}: the exception of the leftmost element whose call or forcing raises. Calls to the
      right of it are cancelled; all that began have ended. [Invalid_argument] if a number is less
      than 1. *)

  val map : max:int -> ('a -> 'b) -> 'a list -> 'b list
  (** [map ~max f l] is [List.map f l], with at most [max] calls of [f] at once.

      {[
        let read file =
          Muster.Task.blocking (fun () -> In_channel.with_open_bin file In_channel.input_all)

        let read_all files = Muster.Task.map ~max:8 read files
      ]}

      {b Cost}: 0.2 us for each element; up to 0.8 us where several workers take them at once.
      {b Order}: each call happens before the return. The forcing of an element happens before its
      call, and before the forcing of the next one.
      {b Cancels} all calls, and returns when they have ended. *)

  val iter : max:int -> ('a -> unit) -> 'a list -> unit
  (** [iter ~max f l] is [List.iter f l], with at most [max] calls of [f] at once.

      {b Cost}: as {!map}. {b Order}: as {!map}. {b Cancels}: as {!map}. *)

  val iter_seq : max:int -> ('a -> unit) -> 'a Seq.t -> unit
  (** [iter_seq ~max f s] is {!iter} for a sequence of any length. Memory does not grow with it.

      {b Cost}: as {!map}. {b Order}: as {!map}. {b Cancels}: as {!map}. *)

  val with_map : ?max:int -> window:int -> ('a -> 'b) -> 'a Seq.t -> ('b Seq.t -> 'c) -> 'c
  (** [with_map ~window f s use] is [use (Seq.map f s)], with calls of [f] ahead of [use]. Results
      come in order, each as soon as it is there. At most [window] elements are forced and not yet
      taken; [max] (default [window]) bounds the calls at once. When [use] ends, the other calls are
      cancelled and awaited.

      {[
        let save lines channel =
          Muster.Task.with_map ~window:64 String.escaped lines (Seq.iter (output_string channel))
      ]}

      The results can be asked for once, and only within [use].

      {b Raises} what [use] raises. To ask for a result raises the exception of its element, the
      second time [Seq.Forced_twice], and after [use] [Invalid_argument].
      {b Cost}: 0.5 us for each element, up to 2.5 us on several workers. See
      {{!page-limits.section-windows}doc/limits.md, "Windows"}.
      {b Order}: as {!map}; a call happens before its result is there. All that [use] did before it
      asks for a result happens before the forcing of the element [window] later.
      {b Cancels}: as {!map}, and where [use] waits for a result, which it may ask for again. *)

  (** {2 Cancellation}

      Cancelling is cooperative. A cancelled task goes on to its next checkpoint, which raises
      {!Cancelled}. Checkpoints are every fork, every wait of this library, the end of a loop's
      chunk (about 10 us), and {!check}. A wait ends at once. The branches and loops that the task
      runs on other workers are cancelled too.

      {!Cancelled} is raised once. The code that cleans up may then fork and wait, in [Fun.protect]
      or elsewhere. Code that catches {!Cancelled} and goes on must not wait for a task that was
      cancelled with it.

      Cancelling a task cancels its branches, loops and scopes, but not the tasks that it started
      with {!async}. Cancelling a scope cancels all tasks that were started within it, by {!async}
      too. {!all}, {!first} and {!with_deadline} are scopes. *)

  exception Cancelled

  val cancel : 'a t -> unit
  (** [cancel t] cancels [t]. A task that has not started never runs. From now on [await t] raises
      {!Cancelled}, or the exception of [t]. Nothing happens if [t] has ended.

      One case keeps its value: [t] has waited, its message or permit has come first, and it returns
      without another checkpoint. See {{!page-limits.section-messages_on_their_way}doc/limits.md,
      "Messages on their way"} and {{!page-limits.section-signal_handlers_and_finalisers}"Signal
      handlers and finalisers"}.

      {b Cost}: about 100 ns for each worker of all pools, and 1 to 3 us for each task that waits.
      {b Order}: everything before the call happens before the {!Cancelled} of [t] and its parts,
      and before the hooks of {!on_cancel}. *)

  val check : unit -> unit
  (** [check ()] is a checkpoint, for long computations that contain none.

      {b Raises} {!Cancelled} if the task, or a scope around it, is cancelled.
      {b Cost}: about 5 ns.
      {b Order}: as {!cancel}. *)

  val yield : unit -> unit
  (** [yield ()] lets the tasks that wait for this worker run first. If there are none, it lets one
      of another worker's run. It returns at once where none waits, and in code that cannot be
      suspended. Outside all pools it is [Thread.yield ()], and in a fiber of another scheduler a
      turn of its loop.

      {b Raises} as {!check}.
      {b Cost}: about 0.4 us where a task waits, else 20 to 50 ns; as {!blocking} in a fiber of
      another scheduler.
      {b Order}: none. *)

  val on_cancel : (unit -> unit) -> unit
  (** [on_cancel hook] calls [hook] when the running task, or the innermost scope, is cancelled
      before it ends; at once if it is already. The hook should be short, and must not wait for a
      part of the cancelled task. It runs on the thread that cancels, or on the cancelled task's
      own. An exception of the hook goes to the handler of {!set_uncaught_handler}. See
      {{!page-limits.section-hooks_of_cancellation}doc/limits.md, "Hooks of cancellation"}.

      It stays in memory until the task or scope ends: see {!with_on_cancel}.

      {b Order}: everything before the call, and before the cancel, happens before [hook]. Nobody
      waits for [hook]. *)

  val with_on_cancel : (unit -> unit) -> (unit -> 'a) -> 'a
  (** [with_on_cancel hook f] is [f ()], with [hook] as by {!on_cancel} until [f] ends. Afterwards
      the hook is not called, and does not stay in memory. A hook that has begun may still run.

      {[
        let with_flag search =
          let stop = Atomic.make false in
          Muster.Task.with_on_cancel
            (fun () -> Atomic.set stop true)
            (fun () -> search ~stop)
      ]}

      {b Raises} what [f] raises.
      {b Order}: as {!on_cancel}; [f] is a part of the caller. *)

  val protect : (unit -> 'a) -> 'a
  (** [protect f] is [f ()], where no cancellation and no deadline from around the call arrives. The
      code after it is told at its next checkpoint. Tasks that [f] starts by {!async} are not part
      of the scopes around. Ctrl-C still comes through.

      {b Raises} what [f] raises.
      {b Order}: [f] is a part of the caller.
      {b Cancels}: not before [f] has ended. *)

  val bracket : acquire:(unit -> 'r) -> release:('r -> unit) -> ('r -> 'a) -> 'a
  (** [bracket ~acquire ~release use] is [use (acquire ())], and releases afterwards, whatever [use]
      does. [release] runs in {!protect}: it may wait, though the task be cancelled.

      {[
        let lines path =
          Muster.Task.bracket
            ~acquire:(fun () -> open_in path)
            ~release:close_in In_channel.input_lines
      ]}

      {b Raises} what [acquire] or [use] raises; [Fun.Finally_raised] if [release] raises.
      {b Order}: the three follow each other, as parts of the caller.
      {b Cancels}: within [acquire], where nothing was obtained, and within [use]. *)

  (** {2 Values that tasks inherit} *)

  type 'a local
  (** A variable that each task has for itself: the number of a request, a logger. *)

  val local : 'a -> 'a local
  (** [local default] is a new variable. {b Order}: none. *)

  val get_local : 'a local -> 'a
  (** [get_local l] is the value of [l] for the running code: that of the innermost {!with_local}
      around it, or around the code that started its task. Else it is the default.

      {b Cost}: 6 ns, and some for each further variable that has a value.
      {b Order}: none. *)

  val with_local : 'a local -> 'a -> (unit -> 'b) -> 'b
  (** [with_local l v f] is [f ()], with [v] as the value of [l]. All tasks, branches and loops that
      [f] starts inherit the value. So do the functions of {!Team} and {!blocking}, but not the
      hooks of {!on_cancel}.

      {[
        let user = Muster.Task.local "nobody"
        let greet () = "hello, " ^ Muster.Task.get_local user

        let greeting =
          Muster.Task.(with_local user "Ada" (fun () -> await (async greet)))

        let () = assert (greeting = "hello, Ada" && greet () = "hello, nobody")
      ]}

      A value is not copied: its tasks share it.

      {b Raises} what [f] raises.
      {b Cost}: 0.1 us. A task that inherits costs no more than another.
      {b Order}: [f] is a part of the caller. *)

  (** {2 Scopes} *)

  type scope

  val scope : (scope -> 'a) -> 'a
  (** [scope f] is [f s] for a new scope [s], and ends when all tasks of [s] have ended. The first
      exception, of [f] or of a task, cancels the scope. A task that {!cancel} has stopped is no
      failure of its scope. On one worker, the tasks that have not begun when [f] ends begin in the
      order of their forks.

      {[
        let () =
          Muster.Task.(
            scope (fun s ->
                let left = fork s (fun () -> 1) and right = fork s (fun () -> 2) in
                assert (await left + await right = 3)))
      ]}

      {b Raises} that exception; {!Cancelled} if the scope is cancelled.
      {b Cost}: see {{!page-limits.section-nested_scopes}doc/limits.md, "Nested scopes"}.
      {b Order}: all that the tasks did happens before the return, and before the exception. *)

  val fork : scope -> (unit -> 'a) -> 'a t
  (** [fork s f] starts a task of [s] that runs [f], in the pool in which the scope was opened. If
      [s] has been cancelled, the task never runs.

      {b Raises} [Invalid_argument] if the scope has ended.
      {b Order}: everything before the call happens before [f]. *)

  val cancel_scope : scope -> unit
  (** [cancel_scope s] cancels the code and the tasks of [s]. {b Order}: as {!cancel}. *)

  exception Deadline_exceeded

  val with_deadline : float -> (unit -> 'a) -> 'a
  (** [with_deadline seconds f] is [f ()] if that ends within so many seconds. At the deadline [f]
      is cancelled, with all tasks that were started within it. With 0 seconds or less, [f] is not
      called.

      An [f] that ends late without a checkpoint raises, too. One that has waited and got its
      message or lock at the last moment keeps its value. See
      {{!page-limits.section-deadlines}doc/limits.md, "Deadlines"}.

      {b Raises} {!Deadline_exceeded} if time is up; else what [f] raises; [Invalid_argument] if
      [seconds] is not a number.
      {b Order}: all that [f] did happens before the return, and before {!Deadline_exceeded}. *)

  (** {2 Failures that nobody sees} *)

  val set_uncaught_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
  (** [set_uncaught_handler handler] calls [handler] for each exception of a task that nobody
      awaits. By default the exception is printed on [stderr]. It is called once for each such
      exception, when the promise has been collected, when the pool is closed, or when the program
      ends. Failures in a {!val-scope} are raised by the scope instead. See
      {{!page-limits.section-failures_that_nobody_awaits}doc/limits.md, "Failures that nobody
      awaits"}.

      {b Order}: everything before [set_uncaught_handler], and all that the task did, happens before
      [handler]. *)
end

(** Promises that no task runs: somebody ends them. The promise is a {!Task.t} like any other, so
    {!Task.await}, {!Task.any} and {!Task.peek} serve.

    {[
      let answer, resolver = Muster.Promise.create ()
      let asks = Muster.Task.(async (fun () -> await answer + 1))
      let () = Muster.Promise.resolve resolver 41
      let () = assert (Muster.Task.await asks = 42)
    ]}

    A promise is resolved once. {!Task.cancel} is one way: then later calls do nothing.

    {b Domains}: any task, thread or domain may resolve it. *)
module Promise : sig
  type 'a resolver
  (** The right to end a promise. *)

  val create : unit -> 'a Task.t * 'a resolver
  (** [create ()] is a promise and its resolver. A promise that nobody resolves is awaited for ever.
      {b Order}: none. *)

  val resolve : 'a resolver -> 'a -> unit
  (** [resolve r v] ends the promise with the value [v], and wakes all tasks that wait for it.

      {b Raises} [Invalid_argument] if it has been resolved before.
      {b Cost}: about 50 ns, and a wake for each task that waits.
      {b Order}: everything before the call happens before the return of an await. *)

  val try_resolve : 'a resolver -> 'a -> bool
  (** [try_resolve r v] is [resolve r v] if the promise has not ended, and tells whether it was so.
      {b Order}: as {!resolve}. *)

  val fail : ?backtrace:Printexc.raw_backtrace -> 'a resolver -> exn -> unit
  (** [fail r exn] ends the promise with an exception, which {!Task.await} raises. Its backtrace is
      [backtrace], or the place of this call. If nobody awaits it, see
      {!Task.set_uncaught_handler}.

      {b Raises} [Invalid_argument] if it has been resolved before.
      {b Order}: everything before the call happens before the exception of an await. *)

  val try_fail : ?backtrace:Printexc.raw_backtrace -> 'a resolver -> exn -> bool
  (** [try_fail r exn] is [fail r exn] if the promise has not ended, and tells whether it was so.
      {b Order}: as {!fail}. *)
end

(** {1 Pools} *)

(** Programs seldom need more than the default pool. *)
module Pool : sig
  type t

  val create :
    ?name:string -> ?domains:int -> ?oversubscribe:bool -> ?minor_heap_words:int -> unit -> t
  (** [create ()] is a new pool. It has [domains] workers at most, the caller included; the default
      is {!Cpu.available}. Fewer work while the machine has no CPU for them. {!val-stats} tells why.

      Domains without work for 150 ms end, and start again on use. [~oversubscribe:true] keeps all
      workers on any machine. It is for tests: with more domains than CPUs, each collection waits.

      Muster sizes the workers' minor heaps, unless [minor_heap_words] or the program does. See
      {{!page-limits.section-domains_that_come_and_go}doc/limits.md, "Domains that come and go"} and
      {{!page-limits.section-minor_heaps}"Minor heaps"}.

      {b Raises} [Invalid_argument] if a number is less than 1, or [minor_heap_words] over 2{^28}.
      {b Cost}: about 100 us for each domain.
      {b Order}: everything before the call happens before a {!find} that gives the pool. *)

  val run : t -> (unit -> 'a) -> 'a
  (** [run pool f] is [f ()] with [pool] as the current pool. The calling thread works for the pool
      meanwhile. Once it has waited, [f] may go on on another worker, without the effect handlers
      around [run].

      In a task of [pool] it is just [f ()]. A task of another pool keeps its worker until [f] has
      ended. See {{!page-limits.section-many_callers_at_once}doc/limits.md, "Many callers at once"}.

      {b Raises} what [f] raises; [Invalid_argument] if [pool] is closed. An asynchronous exception
      is raised at once while [f] waits; [f] goes on by itself.
      {b Order}: everything before the call happens before [f], and [f] before the return. *)

  val close : t -> unit
  (** [close pool] waits for all tasks of [pool], awaited or not, and ends its domains. Ctrl-C ends
      the wait. Closing again does nothing; any other later use raises [Invalid_argument].

      {b Raises} [Invalid_argument] in a task of this pool. Where that task calls [exit], a [close]
      in a function of [at_exit] returns at once.
      {b Order}: all that the pool's tasks did happens before the return. *)

  val with_ : ?name:string -> ?domains:int -> ?oversubscribe:bool -> (t -> 'a) -> 'a
  (** [with_ f] is [run pool (fun () -> f pool)] for a new pool. That is closed afterwards, whatever
      happens, when the tasks that [f] left behind have ended. For a function outside the pool take
      {!create} and {!close}.

      {[
        let size_here () = Muster.Pool.(size (current ()))
        let () = assert (Muster.Pool.with_ ~domains:1 (fun _ -> size_here ()) = 1)
      ]}

      {b Raises} what [f] raises, and as {!create}. [f] must not {!close} the pool.
      {b Order}: as {!run} and {!close}. *)

  val default : unit -> t
  (** [default ()] is the pool that serves where no other is current. It need not be closed: a
      program that ends does not wait for its tasks. {b Order}: none. *)

  val set_default : domains:int -> unit
  (** [set_default ~domains] has the default pool start with [domains] workers at most, as {!create}
      does: for a program's option [-j]. Call it before anything that uses the default pool.

      {b Raises} [Invalid_argument] if [domains < 1], or if the default pool has started.
      {b Order}: none. *)

  val current : unit -> t
  (** [current ()] is the pool on which a call here acts. {b Order}: none. *)

  val size : t -> int
  (** [size pool] is the number of workers that [pool] may have at once, the caller included. It
      changes only with the CPUs that the process may use. {b Order}: none. *)

  val name : t -> string
  (** [name pool] is its name: that of {!create}, else ["pool-"] and a number. {b Order}: none. *)

  val equal : t -> t -> bool
  (** [equal a b] is whether [a] and [b] are one pool. [compare] and [=] do not serve: a pool holds
      functions. {b Order}: none. *)

  val find : string -> t option
  (** [find name] is an open pool of that name. {b Order}: see {!create}. *)

  type decision = {
    seconds_ago : float;
    what : string;  (** such as ["lend a CPU: use 1 of 2 CPUs"] *)
    why : string;  (** ["workers had to wait for one"] *)
  }
  (** A decision of the pool, and its reason. *)

  type worker = {
    worker : int;  (** its number; those of callers are 0, and above the domains' *)
    is_caller : bool;  (** a thread of the program's, or one after the other *)
    ran : int;  (** tasks *)
    stole : int;  (** tasks *)
    busy_seconds : float;  (** while it ran tasks, or was blocked in one *)
    idle_seconds : float;  (** while it looked for tasks, or slept *)
  }
  (** A worker, from the first time that it came. Neither time goes on while it is away. *)

  type wait = {
    call : string;  (** such as ["Mutex.lock"] *)
    times : int;
    total_seconds : float;  (** all tasks together *)
  }
  (** How often and how long tasks were suspended in calls of Muster. *)

  type stats = {
    seconds : float;  (** since the pool's creation; of a {!diff}, between the two *)
    size : int;  (** {!val-size} *)
    tasks : int;  (** tasks that a worker took from a queue *)
    forks : int;  (** tasks offered to other workers *)
    steals : int;  (** tasks taken from another worker *)
    parks : int;  (** times that a worker went to sleep *)
    regions : int;  (** {!Team} calls *)
    workers : int;  (** workers present now, the caller's place included *)
    each_worker : worker list;  (** that ever came, by their numbers *)
    allowed : int;  (** workers that may take work now, the caller included *)
    cpus : int;  (** {!Cpu.available}, read at most once a second *)
    cpus_yielded : int;  (** CPUs of these that the pool leaves to other processes now *)
    minor_heap_words : int list;  (** of each present worker, the caller's place first *)
    domains_started : int;
    domains_ended : int;
    waits : int;  (** times that a worker waited 1 ms or more for a CPU *)
    waited_seconds : float;  (** the time of these waits, all workers together *)
    task_waits : wait list;  (** of tasks that have gone on; calls that never waited are left out *)
    minor_collections : int;  (** counted once for each domain that took part *)
    minor_gc_seconds : float;  (** time of copying in these, without the domains' waits *)
    decisions : decision list;  (** the last 8 of each kind, newest last *)
  }
  (** Counts are since the pool's creation. *)

  val stats : t -> stats
  (** [stats pool] tells what the pool did and does, and why. Counts of other workers may be some
      milliseconds old. See {{!page-limits.section-statistics}doc/limits.md, "Statistics"}.

      {b Cost}: some microseconds.
      {b Domains}: any, also of a closed pool.
      {b Order}: none. *)

  val diff : since:stats -> stats -> stats
  (** [diff ~since:before now] has the counts and times of [now] less those of [before], which is of
      the same pool. Its decisions are those made in between. All that tells of one moment, such as
      [workers], is as in [now].

      {[
        let cost pool f =
          let before = Muster.Pool.stats pool in
          Muster.Pool.run pool f;
          Muster.Pool.(Format.eprintf "%a@." pp_stats (diff ~since:before (stats pool)))
      ]}

      {b Order}: none. *)

  val pp_stats : Format.formatter -> stats -> unit
  (** [pp_stats ppf s] prints [s] in some lines, for people. With [MUSTER_STATS=1] each pool that
      did something is printed so on [stderr], when it closes or the program ends.

      {b Order}: none. *)
end

(** Calls to the whole pool at once, where each worker knows its index (the interface of Fork Union,
    by Ash Vardanian). Indices of workers go from 0 to [Pool.size pool - 1]. Within one call, two
    calls of the function with the same worker never run at the same time. C stubs have [for_slices]
    and [for_n_dynamic] in [muster.h].

    {b Raises}: the exception of the smallest index; [Invalid_argument] for a negative number.
    {b Order}: everything before the call happens before each call of the function, and each call
    before the return. Calls with one worker's index follow each other; others are unordered.
    {b Cancels}: before a worker's slice, and between two chunks of {!Team.for_n_dynamic}. These are
    longer than in {!parallel_for}: a slow function should call {!Task.check}. *)
module Team : sig
  val broadcast : Pool.t -> (int -> unit) -> unit
  (** [broadcast pool f] calls [f worker] once on every worker. It waits for busy workers and starts
      missing ones. If worker 0 is missing, another worker makes its call.

      {b Cost}: about 0.5 us on 2 cores while the pool is awake; 10 to 16 us more for each sleeping
      worker, 0.2 ms for each domain that starts. *)

  val for_n : Pool.t -> int -> (worker:int -> int -> unit) -> unit
  (** [for_n pool n f] calls [f ~worker i] for each [i] in 0 … [n - 1]. Each worker gets one slice,
      and their lengths differ by at most 1. The caller also runs the slices of late workers.

      {b Cancels}: before a slice, and every 64 to 1,024 indices. *)

  val for_n_dynamic : Pool.t -> int -> (worker:int -> int -> unit) -> unit
  (** [for_n_dynamic pool n f] is [for_n pool n f], but free workers take the indices in shrinking
      chunks. A loop that is too short to share stays with the caller, in the order of its indices.

      {b Cost}: for a short loop, about 100 ns more than [for]. *)

  val for_slices : Pool.t -> int -> (worker:int -> start:int -> count:int -> unit) -> unit
  (** [for_slices pool n f] calls [f] once for each slice of {!for_n} that is not empty. *)
end

(** {1 Channels} *)

module Chan = Chan

(** {1 Synchronisation}

    These suspend the task that waits, not its worker's domain. A thread outside all pools blocks.
    Any domain and thread may use them, and several pools at once.

    {b Order}: each states its own. All that happened before one was made happens before its uses.
    Calls that only look, such as {!Barrier.waiting}, order nothing unless they say so. *)

module Mutex = Mutex
module Condition = Condition
module Semaphore = Semaphore
module Barrier = Barrier
module Latch = Latch
module Rwlock = Rwlock
module Lazy = Lazy

(** {1 Shared tables} *)

module Table = Table

(** {1 Services} *)

(** Jobs for a service. At most so many run at a time, and the others wait in a bounded queue. Each
    has a connection, a parser or a cache that no other job uses meanwhile.

    {[
      let solvers = Muster.Workers.create ~workers:2 (fun _ -> Buffer.create 1_000)

      let answer n =
        Muster.Workers.submit solvers (fun buffer ->
            Buffer.clear buffer;
            Buffer.add_string buffer (string_of_int (n * n));
            Buffer.contents buffer)

      let () = assert (answer 7 = "49")
      let () = Muster.Workers.drain solvers
    ]}

    A job is a task. It may fork, loop, wait, and be awaited, cancelled, or raced by {!Task.first}.
    A submitter that gives up takes its job out of the queue, or cancels it where it runs.

    {b Nested jobs.} A job that submits to its own workers never waits for one. Where none is free,
    the nested job gets an extra value ([make workers]), which is closed afterwards. So it is with
    all tasks that a job starts. {!Workers.post} queues as from anywhere: a job that awaits what it
    posted may wait for itself. *)
module Workers : sig
  type 'w t
  (** Workers of which each has a ['w]. *)

  (** Why a job never began. *)
  type reason =
    | Full  (** the queue was full: told at once *)
    | Expired  (** its deadline passed in the queue *)
    | Draining  (** it came after {!drain} *)

  exception Rejected of reason

  val create :
    ?name:string ->
    ?workers:int ->
    ?queue:int ->
    ?pool:Pool.t ->
    ?close:('w -> unit) ->
    ?reset:('w -> 'w) ->
    (int -> 'w) ->
    'w t
  (** [create make] is new workers, 0 to [workers - 1] (default: {!Pool.val-size}). Their jobs are
      tasks of [pool] (default: the current one). At most [queue] jobs wait (default: 64 for each
      worker): a longer queue only makes all answers late.

      [make i] makes the value of worker [i] at its first job. After a job that raises, [reset]
      makes a new one of it, or closes it and raises; without [reset] it is closed. Exceptions of
      these are the job's. {!drain} closes values.

      {b Raises} [Invalid_argument] if [queue < 0], or if [workers] is not from 1 to 1,000,000.
      {b Order}: none. *)

  val submit : ?priority:int -> ?deadline:float -> 'w t -> ('w -> 'a) -> 'a
  (** [submit t f] is [f w], where [w] is the value of a worker. It waits for a worker, and for [f].

      Jobs of [priority] 0 (the default) are served first. Each step lets at most 64 later jobs
      pass. After [deadline] seconds a job that waits is rejected, and one that runs is cancelled.

      {b Raises} {!Rejected}; {!Task.Deadline_exceeded} if [f] ran too long; else what [f] raises.
      [Invalid_argument] if [priority < 0], if [deadline] is not a number, or in a closed pool.
      {b Cost}: about 1 us.
      {b Order}: jobs of one worker follow each other.
      {b Cancels}: at once, the job too, which leaves the queue. An exception of the
      job is dropped then. *)

  val post : ?priority:int -> ?deadline:float -> 'w t -> ('w -> 'a) -> 'a Task.t
  (** [post t f] is {!submit}'s job, which the caller need not wait for. Posted by a job it may wait
      in the queue: a job that awaits it there can wait for itself.

      {b Raises} {!Rejected} at once if the queue is full, or after {!drain}; [Invalid_argument] as
      {!submit}. The task raises what else {!submit} raises.
      {b Cost}, {b Order}: as {!submit}. *)

  val drain : ?grace:float -> 'w t -> unit
  (** [drain t] takes no more jobs, waits for those that there are, and closes all values. After
      [grace] seconds it cancels the jobs, and waits for their ends. Until then nested jobs of
      running ones are taken. To drain again does no harm, and waits too.

      In a job of [t], or a signal's handler that has interrupted one, it does not wait: it would
      wait for itself. The next {!drain} elsewhere waits, and closes the values.

      {b Raises} what closing raises, when all are closed, or the [Sys.Break] of a job that nobody
      awaited. [Invalid_argument] if [grace] is negative or not a number.
      {b Order}: all jobs happen before the return.
      {b Cancels}: the wait alone. *)

  (** {2 Statistics} *)

  type times = private {
    counts : int array;  (** in buckets, for {!quantile} *)
    count : int;
    seconds : float;  (** all of them together *)
  }
  (** How long jobs took. *)

  val quantile : float -> times -> float
  (** [quantile 0.99 times] is a number of seconds that 99 % of the times do not exceed, and at most
      13 % above the least such number. 0 if there are none. Longer times count as 73 minutes.

      {b Raises} [Invalid_argument] if the first argument is not between 0 and 1.
      {b Order}: none. *)

  type stats = {
    workers : int;
    busy : int;  (** jobs that run *)
    queued : int;  (** jobs that wait for a worker, or are about to run *)
    returned : int;
    failed : int;  (** jobs that raised *)
    cancelled : int;  (** in the queue, as they ran, or by a deadline as they ran *)
    expired : int;  (** rejected, as the two below *)
    full : int;
    draining : int;
    queue_time : times;  (** from the post to the begin of each job that began *)
    work_time : times;  (** from the begin to the end *)
  }
  (** Counts since {!create}. *)

  val stats : 'w t -> stats
  (** [stats t] tells what the workers did and do.

      {b Cost}: some microseconds.
      {b Order}: none. *)

  val pp_prometheus : Format.formatter -> 'w t -> unit
  (** Prints {!val-stats} in the text format that Prometheus reads, with the name of [t], or its
      number, as a label. Two such texts in one page are not valid: see {!pp_prometheus_all}.

      {b Cost}: some 100 us.
      {b Order}: none. *)

  type any = Any : 'w t -> any  (** Workers, whatever their values are. *)

  val pp_prometheus_all : Format.formatter -> any list -> unit
  (** [pp_prometheus_all ppf [ Any solvers; Any writers ]] prints one text for all of them. Each
      should have a name of its own.

      {b Cost}, {b Order}: as {!pp_prometheus}, for each. *)
end

(** {1 The machine} *)

module Cpu : sig
  val available : unit -> int
  (** [available ()] is the number of CPUs that the process may use, at least 1. It is the smaller
      of its affinity mask and its control groups' quota. [MUSTER_DOMAINS] overrides it.

      {b Cost}: 60 us.
      {b Order}: none. *)
end

(** {1 Collections} *)

(** The stdlib's collections, run in parallel where it pays. A program moves over by one line:
    [module Array = Muster.Parallel.Array]. Open [Muster.Parallel] only where all calls may run in
    parallel: see {!Array.shared}. *)
module Parallel : sig
  module Array : sig
    (** @inline *)
    include module type of struct
      include Muster_collections.Array
    end

    (**/**)

    module Floatarray = Stdlib.Array.Floatarray
  end

  module Floatarray : module type of struct
    include Muster_collections.Floatarray
  end

  (** The stdlib's [Bigarray], whose {!Bigarray.Array1} and {!Bigarray.Array2} run in parallel where
      it pays. *)
  module Bigarray : sig
    include module type of struct
      include Stdlib.Bigarray
    end

    module Array1 : module type of struct
      include Muster_collections.Bigvector
    end

    module Array2 : module type of struct
      include Muster_collections.Bigmatrix
    end
  end

  module Bytes : module type of struct
    include Muster_collections.Bytes
  end

  module String : module type of struct
    include Muster_collections.String
  end

  module List : module type of struct
    include Muster_collections.List
  end

  module Seq : module type of struct
    include Muster_collections.Seq
  end
end

(** {2 Paths of old}

    The collections were here before they moved to {!Parallel}. Functions that the stdlib has are
    now the stdlib's own, so [open Muster] does not change what a program's [List.iter] does. The
    next version drops these paths. *)

module Array : module type of Parallel.Array
module Bytes : module type of Parallel.Bytes
module String : module type of Parallel.String
module List : module type of Parallel.List
module Seq : module type of Parallel.Seq

module Bigarray : sig
  include module type of struct
    include Stdlib.Bigarray
  end

  module Array1 : module type of Parallel.Bigarray.Array1
end

module Floatarray = Parallel.Floatarray [@@deprecated "It is Muster.Parallel.Floatarray."]
