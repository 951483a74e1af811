(** Channels: queues between tasks, bounded or not, and rendezvous.

    {[
      open Muster

      let sum_of_squares n =
        let squares = Chan.bounded 16 and sum = ref 0 in
        let produce () =
          for i = 1 to n do Chan.send squares (i * i) done;
          Chan.close squares
        in
        let producer = Task.async produce in
        Chan.iter (fun square -> sum := !sum + square) squares;
        Task.await producer;
        !sum

      let () = assert (sum_of_squares 10 = 385)
    ]}

    Whatever comes first of several: a message, or the end.

    {[
      let next input stop =
        Chan.(select [ recv_case input Option.some; recv_opt_case stop (fun _ -> None) ])
    ]}

    {2 What holds for all}

    {b Domains.} Any task, systhread or domain may call any function. A task that waits is
    suspended, and its worker does other things; a thread outside all pools blocks. What cannot
    be suspended though a worker runs it (below a C callback, in a loop entered from outside, in a
    task that nobody had begun when it was awaited from outside, in [Team]'s functions) runs other tasks until its turn has come, and those end before it goes
    on: it must not wait for what only a party below it on the stack will do.

    {b Order.} Messages of one sender arrive in the order in which it sent them; those of
    several, in some order that agrees with each one's. Waiting receivers are served in the order
    in which they came, and so are waiting senders. What happened before a {!send} happens before
    the return of the {!recv} that gets its message. In a channel of [n] places, what happened before
    the [k]th {!recv} happens before the return of the [k + n]th {!send}: in a rendezvous each sees what
    the other did before. What happened before a {!close} happens before the return, or the {!Closed},
    of whatever finds the channel closed, {!is_closed} too. All that holds for [try_] calls that
    do something, and for cases of {!select}, as well; {!length} orders nothing.

    {b Cancels.} A wait that is cancelled raises and leaves the channel as if it had never begun:
    its message was not sent and will not be; it has taken no message. A wait whose partner came
    first is not cancelled. So each message is received once, or in the buffer, or its [send]
    raised. Calls that may wait are checkpoints ([Task.check]) also where they need not; the
    [try_] ones are not. So a receive with a time limit loses no message, either:

    {[
      let recv_within seconds c =
        match Task.with_deadline seconds (fun () -> Chan.recv c) with
        | message -> Some message
        | exception Task.Deadline_exceeded -> None

      let () = assert (recv_within 0.001 (Chan.bounded 1) = None)
    ]}

    {b Cost.} A step that need not wait takes about 15 ns and allocates about 20 words, where
    nobody else works on the channel at that moment; a step that meets another's is tried again.
    A wait costs a task about 0.2 us more, a thread that blocks 10-25 us. *)

type 'a t
(** A channel of messages ['a]. One that nobody uses any more needs no {!close}. *)

exception Closed
(** Raised where a channel is closed: by {!send}s, and by {!recv}s when nothing is left in it. *)

val bounded : int -> 'a t
(** [bounded n] holds up to [n] messages that nobody has received; 0 is a rendezvous: each
    {!send} waits for its receiver.

    {b Raises} [Invalid_argument] if [n < 0]. *)

val unbounded : unit -> 'a t
(** A channel where {!send} never waits. *)

(** {1 One at a time} *)

val send : 'a t -> 'a -> unit
(** [send c v] gives [v] to a waiting receiver, or puts it into the buffer; while that is full,
    it waits.

    {b Raises} {!Closed} if [c] is closed, before or while it waits: [v] was not sent.
    {b Cancels}: [v] was not sent, and will not be received. *)

val recv : 'a t -> 'a
(** [recv c] is the oldest message; while there is none, it waits.

    {b Raises} {!Closed} if [c] is closed and empty.
    {b Cancels}: no message was taken. *)

val recv_opt : 'a t -> 'a option
(** [recv_opt c] is [Some (recv c)], or [None] where that raises {!Closed}. *)

val try_send : 'a t -> 'a -> bool
(** [try_send c v] does what [send c v] would do without waiting; false if it would wait. (It may
    also be false while a receive that makes room is not over.)

    {b Raises} {!Closed} if [c] is closed. *)

val try_recv : 'a t -> 'a option
(** [try_recv c] is [Some (recv c)], or [None] if that would wait.

    {b Raises} {!Closed} if [c] is closed and empty. *)

(** {1 The end} *)

val close : 'a t -> unit
(** [close c] lets nothing more in: {!send} raises {!Closed}, also those that wait at this moment.
    What is in the buffer can still be received. Receivers that wait end at once: there is
    nothing for them. Closing again does nothing.

    {b Cost}: in proportion to the number of those who wait. *)

val is_closed : 'a t -> bool
(** Whether {!close} was called. *)

(** {1 Many} *)

val length : 'a t -> int
(** The number of messages in the buffer, at this moment. Messages of waiting senders are not in
    it. *)

val iter : ('a -> unit) -> 'a t -> unit
(** [iter f c] receives messages until [c] is closed and empty, and calls [f] with each.

    {b Raises} what [f] raises; what comes after is still in the channel. {b Cancels}: between two
    messages. *)

val to_seq : 'a t -> 'a Seq.t
(** The same as a sequence; to read on is to receive, so it is for one use. *)

(** {1 Whatever comes first} *)

type 'b case
(** A send or a receive to choose from, and what to do after it. *)

val recv_case : 'a t -> ('a -> 'b) -> 'b case
(** [recv_case c f] receives [v] and calls [f v]. Once [c] is closed and empty it can be chosen,
    and raises {!Closed}. *)

val recv_opt_case : 'a t -> ('a option -> 'b) -> 'b case
(** The same with [f None] for that end. *)

val send_case : 'a t -> 'a -> (unit -> 'b) -> 'b case
(** [send_case c v f] sends [v] and calls [f ()]. If [c] is closed it can be chosen, and raises
    {!Closed}. *)

val select : 'b case list -> 'b
(** [select cases] does the first case that can be done, exactly one; the others leave no trace.
    If several can be done at once, it chooses one of them at random, each with the same chance.
    A channel may be in several cases; a [select] that both sends to a channel and receives from it
    does not deal with itself.

    {b Raises} {!Closed} as its cases say; what the chosen function raises; [Invalid_argument]
    for no cases.
    {b Cost}: 40 to 150 ns for each case, and as much again or, of thousands, twice as much if it waits.
    {b Cancels}: none was done. The chosen function is called afterwards, outside of all this. *)

val try_select : 'b case list -> 'b option
(** [try_select cases] is [Some (select cases)], or [None] if that would wait: at some moment none of
    them could be done. *)
