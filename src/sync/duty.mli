(** The work that a party owes to others, at a lock whose state is one atomic with an immutable
    value. The party changes the state by a compare-and-set, and then grants the waiters that this
    step has let in. A dead waiter (its task was cancelled) means more work: its turn goes to
    another waiter.

    The rest of the work stands in a cell. If an asynchronous exception (Ctrl-C) cuts the party
    short, it works the rest off, and then the exception goes on. *)

type 's t =
  | Done
  | Step of ('s -> 's * 's t)
      (** from a state to the next state and the rest of the work; it may be called again *)
  | Grant of { waiter : Waiter.t; granted : 's t; dead : 's t }
      (** and the rest of the work in either case *)
  | Misuse of string  (** the message of an [Invalid_argument] *)

val grants : Waiter.t list -> 's t
(** To grant them all, dead or not. *)

val fulfil : 's Atomic.t -> 's t ref -> unit
(** Unbroken (Outcome) until it looks at the cell. *)

val step : 's Atomic.t -> ('s -> 's * 's t) -> unit
(** A {!Step} and all that follows from it. *)

val stay_away : unit -> unit
(** For a party whose compare-and-set has failed, before it tries again: it is the other's turn. *)
