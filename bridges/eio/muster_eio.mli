(** Muster in a program of Eio's: a fiber has the pool compute, a task has the event loop do
    something, and each is suspended meanwhile.

    {[
      let answer_all ~sw sink requests =
        let loop = Muster_eio.loop ~sw in
        let answer request =
          let page = String.uppercase_ascii request in
          Muster_eio.on_loop loop (fun () -> Eio.Flow.copy_string page sink)
        in
        Muster_eio.run (fun () -> Muster.Parallel.List.iter answer requests)
    ]}

    Every call of Muster's may also be made in a fiber as it is: see [doc/guide.md], "Other
    libraries". *)

(** {1 From a fiber to the pool} *)

val run : (unit -> 'a) -> 'a
(** [run f] is [f ()], run as a task of the current pool. The calling fiber is suspended, and its
    loop goes on. [f] may fork, loop and wait by Muster's calls; what calls Eio goes through
    {!on_loop}.

    If the fiber is cancelled, so is the task, as by {!Muster.Task.cancel}. The call then ends with
    the task, so what [f] uses may be given back after it. A message that came first is kept.

    {b Raises} what [f] raises; [Eio.Cancel.Cancelled].
    {b Cost}: about 10 us where a worker has to be woken.
    {b Domains}: any fiber, task or thread.
    {b Order}: everything before the call happens before [f], and [f] before the return.
    {b Cancels} [f], and returns when it has ended. *)

(** {1 From a task to the loop} *)

type loop
(** An event loop that does things for others. *)

exception Ended
(** The switch of the loop has ended, before the function began. *)

val loop : sw:Eio.Switch.t -> loop
(** [loop ~sw] is the loop of the calling fiber, until [sw] ends. It does not keep [sw] open, but
    the functions that it runs do.

    {b Raises} [Invalid_argument] if [sw] has finished, or belongs to another domain;
    [Effect.Unhandled] in a thread without a loop.
    {b Domains}: a fiber of [sw]'s domain.
    {b Order}: none. *)

val on_loop : loop -> (unit -> 'a) -> 'a
(** [on_loop loop f] is [f ()], run by a new fiber of the loop. The calling task is suspended
    meanwhile. Calls of one task follow each other; others run beside each other, as fibers do. [f]
    sees the caller's values of {!Muster.Task.with_local}, and belongs to its job of
    {!Muster.Workers}; fibers that it starts do not.

    If the task is cancelled, so is the fiber. The call then ends with the fiber. A value that [f]
    returns all the same, such as a message, is kept.

    {b Raises} what [f] raises; {!Ended}; [Eio.Cancel.Cancelled] if the switch is cancelled while
    [f] runs.
    {b Cost}: about 10 us, and a turn of the loop.
    {b Domains}: any task, fiber or thread.
    {b Order}: everything before the call happens before [f], and [f] before the return.
    {b Cancels} [f], and returns when it has ended. *)

(** {1 Eio's pool of domains} *)

(** [Eio.Executor_pool] on Muster's default pool: a program moves by the name alone.

    A job is a task. It may fork and loop, and idle workers help it. A job that calls Eio moves, at
    its first such call, to a domain with a loop, and stays there. A wait for a promise, a stream, a
    mutex or the like needs no loop. The pool has [domain_count] such domains; each starts when a job
    needs it. Within a scope or deadline of Muster's a job cannot move: there Eio's calls raise
    [Effect.Unhandled]. *)
module Executor_pool : sig
  type t
  (** A pool of jobs. *)

  val create : sw:Eio.Switch.t -> domain_count:int -> _ Eio.Domain_manager.t -> t
  (** [create ~sw ~domain_count manager] is a new pool. Jobs whose weights add up to more than
      [domain_count] do not run at the same time, unless the last one exceeds it. The pool does not
      keep [sw] open. When [sw] ends, the jobs are cancelled and awaited.

      {b Raises} [Invalid_argument] if [domain_count] is not between 1 and 1,000,000, or as
      {!Muster_eio.val-loop}.
      {b Cost}: some microseconds; no domain starts.
      {b Domains}: as {!Muster_eio.val-loop}.
      {b Order}: none. *)

  val submit : t -> weight:float -> (unit -> 'a) -> ('a, exn) result
  (** [submit t ~weight f] is [Ok (f ())], or [Error exn] if [f] raises [exn]. Jobs begin in the
      order of their submission. [weight] says which part of a CPU the job needs.

      {b Raises} [Invalid_argument] if [weight] is not between 0 and 1, or if the pool's switch has
      ended. A job that is stopped with the pool is [Error (Eio.Cancel.Cancelled _)].
      {b Cost}: as {!Muster_eio.run}.
      {b Domains}: any fiber, task or thread.
      {b Order}: everything before the call happens before [f], and [f] before the return.
      {b Cancels}: at once; the job goes on, as Eio's does. *)

  val submit_exn : t -> weight:float -> (unit -> 'a) -> 'a
  (** [submit_exn t ~weight f] is [f ()], a job as by {!submit}.

      {b Raises} what [f] raises, with its backtrace; else as {!submit}.
      {b Cost}, {b Domains}, {b Order}, {b Cancels}: as {!submit}. *)

  val submit_fork : sw:Eio.Switch.t -> t -> weight:float -> (unit -> 'a) -> 'a Eio.Promise.or_exn
  (** [submit_fork ~sw t ~weight f] is a promise of [submit_exn t ~weight f], which a new fiber of
      [sw] calls.

      {b Raises} as [Eio.Fiber.fork_promise]; what {!submit_exn} raises is in the promise.
      {b Cost}: as {!submit}.
      {b Domains}: a fiber of [sw]'s domain.
      {b Order}: as {!submit}, where the promise is awaited. *)
end
