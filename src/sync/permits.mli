(** A number of permits, which parties take and give back. {!Mutex}, {!Semaphore} and {!Rwlock} are
    made of them: a mutex has one, a reader takes one of very many, and a writer all.

    Free permits go to any comer. A waiter that was woken and finds too few goes before all that
    come later, and is handed the next. *)

type line
(** Those that wait. *)

type state = {
  free : int;  (** permits that nobody has *)
  holder : int;  (** the number of the party that has all by name; else 0, or no party's number *)
  line : line;
}

type t = state Atomic.t

val nobody : line
val make : int -> t

val try_take : t -> int -> me:int -> bool
(** [try_take t n ~me] takes [n] permits, if they are free. [me]: its number, of a party that takes
    all by name, or 0. *)

val wait_and_take :
  t -> int -> me:int -> wait:((Waiter.t -> unit) -> unit) -> unit
(** The same, but waits for them: looks for a moment, then sleeps by [wait]. *)

val give : t -> int -> why_not:(string -> state -> string option) -> string -> unit
(** [give t n ~why_not fn] gives so many back, also if an asynchronous exception strikes.
    [why_not fn] is why it would be a misuse of the function [fn]. *)
