(** Muster in a program of Lwt's: the main loop has the pool compute, and goes on meanwhile; a task
    has the main loop do something, and is suspended meanwhile.

    {[
      let answer channel request =
        let page = String.uppercase_ascii request in
        Muster_lwt.on_loop (fun () -> Lwt_io.write_line channel page)

      let answer_all channel requests =
        Muster_lwt.run (fun () -> Muster.Parallel.List.iter (answer channel) requests)
    ]}

    {b The main loop.} Results and requests come to the loop that [Lwt_main.run] runs. While none
    runs they wait, and the next [Lwt_main.run] finds all of them. Lwt's own functions belong to the
    loop's thread, as ever. *)

(** {1 From the loop to the pool} *)

val run : (unit -> 'a) -> 'a Lwt.t
(** [run f] is a promise of [f ()], which a task of the current pool computes. [f] may fork, loop
    and wait by Muster's calls; what calls Lwt goes through {!on_loop}.

    [Lwt.cancel] of the promise rejects it at once, and cancels the task, which goes on to its next
    checkpoint.

    {b Raises} nothing: the promise is rejected with what [f] raises, without its backtrace.
    {b Cost}: about 10 us where a worker has to be woken, and a turn of the loop.
    {b Domains}: the loop's thread.
    {b Order}: everything before the call happens before [f], and [f] before the promise's end. *)

val await : 'a Muster.Task.t -> 'a Lwt.t
(** [await t] is a promise of the result of [t].

    Each side cancels the other: [Lwt.cancel] of the promise cancels [t], and where [t] was
    cancelled, the promise is rejected with [Lwt.Canceled].

    {b Raises} nothing: the promise is rejected with the exception of [t].
    {b Cost}: as {!run}.
    {b Domains}: the loop's thread.
    {b Order}: all that [t] did happens before the promise's end. *)

(** {1 From a task to the loop} *)

val on_loop : (unit -> 'a Lwt.t) -> 'a
(** [on_loop f] has the main loop call [f], and waits for its promise. The calling task is suspended
    meanwhile. [f] sees the caller's values of {!Muster.Task.with_local} until it returns its promise.

    Each side cancels the other. If the task is cancelled, the promise is, by [Lwt.cancel]; an [f]
    that has not begun never does. If the promise is cancelled, the call raises [Lwt.Canceled].

    {b Raises} what [f] raises, or its promise is rejected with; [Invalid_argument] in code of the
    loop itself. If such code waits for a task that calls [on_loop], both wait for ever.
    {b Cost}: about 10 us, and a turn of the loop.
    {b Domains}: any task or thread but the loop's.
    {b Order}: everything before the call happens before [f], and the promise's end before the
    return.
    {b Cancels}: at once; a result that comes later is dropped. *)
