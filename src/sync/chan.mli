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

    {!select} takes the first of several events, here a message or the end:

    {[
      let next input stop =
        Chan.(select [ recv_case input Option.some; recv_opt_case stop (fun _ -> None) ])
    ]}

    {!after} is a case for the time:

    {[
      let next_within seconds c =
        Chan.(select [ recv_case c Option.some; after seconds (fun () -> None) ])

      let () = assert (next_within 0.001 (Chan.bounded 1) = None)
    ]}

    {2 What holds for all}

    {b Domains.} Any task, thread or domain may call any function. A task that waits is suspended,
    and its worker runs other tasks; a thread outside all pools blocks. Some code cannot be
    suspended, such as code below a C callback or the functions of a [Team] call. There the worker
    runs other tasks on top of it: see
    {{!page-limits.section-code_that_cannot_be_suspended}doc/limits.md, "Code that cannot be
    suspended"}.

    {b Order.} Messages of one sender arrive in the order in which it sent them. Waiting receivers
    are served in the order of their arrival, and so are waiting senders. These rules also hold for
    successful [try_] calls and for the cases of {!select}:

    - Everything before a {!send} happens before the return of the {!recv} that gets its message.
    - In a channel of [n] places, everything before the [k]th {!recv} happens before the return of
      the [k + n]th {!send}. In a rendezvous, each side sees all that the other did before.
    - Everything before a {!close} happens before the return, or the {!Closed}, of each call that
      finds the channel closed.

    {b Cancels.} A wait that is cancelled raises, and leaves the channel as if it had never begun. A
    wait whose partner came first is not cancelled. So no message is lost or received twice, also
    with a time limit. All calls that may wait are checkpoints; the [try_] calls are not.

    {[
      let recv_within seconds c =
        match Task.with_deadline seconds (fun () -> Chan.recv c) with
        | message -> Some message
        | exception Task.Deadline_exceeded -> None

      let () = assert (recv_within 0.001 (Chan.bounded 1) = None)
    ]}

    {b Cost.} A call that need not wait takes about 15 ns and 20 words, if no other call uses the
    channel at that moment. A wait costs a task about 0.2 us more, and a thread 10 to 25 us. It
    keeps some 130 words. Where 500 tasks wait in turn the collector copies these: then a wait takes
    three times as long. *)

type 'a t
(** A channel of messages of type ['a]. A channel need not be closed. *)

exception Closed
(** Raised by a {!send} to a closed channel, and by a {!recv} from one that is also empty. *)

val bounded : int -> 'a t
(** [bounded n] is a channel whose buffer holds up to [n] messages. [bounded 0] is a rendezvous:
    each {!send} waits for its receiver.

    {b Raises} [Invalid_argument] if [n < 0]. *)

val unbounded : unit -> 'a t
(** [unbounded ()] is a channel where {!send} never waits. *)

(** {1 One at a time} *)

val send : 'a t -> 'a -> unit
(** [send c v] gives [v] to a waiting receiver, or puts it into the buffer. While that is full, it
    waits.

    {b Raises} {!Closed} if [c] is closed, before or while it waits: [v] was not sent.
    {b Cancels}: while it waits; [v] was not sent, and will not be received. *)

val recv : 'a t -> 'a
(** [recv c] takes the oldest message. While there is none, it waits.

    {b Raises} {!Closed} if [c] is closed and empty.
    {b Cancels}: while it waits; no message was taken. *)

val recv_opt : 'a t -> 'a option
(** [recv_opt c] is [Some (recv c)], or [None] where that raises {!Closed}. *)

val try_send : 'a t -> 'a -> bool
(** [try_send c v] sends [v] if that needs no wait, and tells whether it did. It may also be false
    while a receive that makes room is still going on.

    {b Raises} {!Closed} if [c] is closed. *)

val try_recv : 'a t -> 'a option
(** [try_recv c] is [Some (recv c)], or [None] if that would wait.

    {b Raises} {!Closed} if [c] is closed and empty. *)

(** {1 The end} *)

val close : 'a t -> unit
(** [close c] ends sending: {!send} raises {!Closed}, in waiting senders too. Receivers still get
    the messages in the buffer, and then {!Closed}. Closing again does nothing.

    {b Cost}: a wake for each waiter. *)

val is_closed : 'a t -> bool
(** [is_closed c] tells whether {!close} was called. *)

(** {1 Many} *)

val length : 'a t -> int
(** [length c] is the number of messages in the buffer now, without those of waiting senders. *)

val iter : ('a -> unit) -> 'a t -> unit
(** [iter f c] receives messages until [c] is closed and empty, and calls [f] with each.

    {b Raises} what [f] raises; later messages are still in the channel.
    {b Cancels}: between two messages. *)

val to_seq : 'a t -> 'a Seq.t
(** [to_seq c] is the sequence of the messages of [c]. Each step receives one, so use it only
    once. *)

(** {1 The first of several} *)

type 'b case
(** A send or a receive to choose from, and a function to call after it. *)

val recv_case : 'a t -> ('a -> 'b) -> 'b case
(** [recv_case c f] receives [v] and calls [f v]. Once [c] is closed and empty, the case can be
    chosen and raises {!Closed}. *)

val recv_opt_case : 'a t -> ('a option -> 'b) -> 'b case
(** [recv_opt_case c f] calls [f (Some v)], and [f None] once [c] is closed and empty. *)

val send_case : 'a t -> 'a -> (unit -> 'b) -> 'b case
(** [send_case c v f] sends [v] and calls [f ()]. Once [c] is closed, the case can be chosen and
    raises {!Closed}. *)

val after : float -> (unit -> 'b) -> 'b case
(** [after seconds f] calls [f ()] if none of the other cases can be done in so many seconds, from
    the call of {!select} on. With 0 seconds or less it is chosen at once, unless another case can
    be. Of several, the shortest counts.

    {b Raises} [Invalid_argument] if [seconds] is not a number.
    {b Cost}: about 0.2 us, if the [select] waits. *)

val select : 'b case list -> 'b
(** [select cases] waits until a case can be done, and does exactly one. Of several it chooses one
    at random, each with the same chance. The others leave no trace. A channel may be in several
    cases, but a [select] does not receive the message that it sends itself.

    {b Raises} {!Closed} as its cases say; any exception of the function; [Invalid_argument] for no
    cases.
    {b Cost}: 40 to 150 ns for each case; up to three times that if it waits.
    {b Cancels}: while it waits; then no case was done. *)

val try_select : 'b case list -> 'b option
(** [try_select cases] is [Some (select cases)], or [None] if that would wait, or for no cases.

    {b Raises} {!Closed} as its cases say; any exception of the function. *)
