(** Operations of all ranks. Each begins with one exchange of slots of 200 bytes: a slot has the digest
    of the operation, the number of the call, and the rank's value, or its failure. So every rank
    sees that all ranks are at the same operation, and leaves it in the same way. *)

type failure = { rank : int; exn : string; backtrace : string }

exception Raised of failure

val failure : exn -> failure
(** Of the exception that was raised last. *)

val agree : string -> (unit -> 'a) -> 'a array
(** [agree call f]: the values of [f ()] of all ranks, in their order. [call] is the operation's name,
    and what of its arguments has to be the same on all ranks.

    Raises {!Raised} on all ranks if [f] does on one, that of the lowest rank;
    [Invalid_argument] on all ranks if these are at different operations, and if called in [f]. *)

val within : string -> (unit -> 'a) -> 'a
(** [within call f]: the whole of an operation, in which {!share} may be used several times. *)

val share : string -> (unit -> 'a) -> 'a array
(** A part of an operation: as {!agree}, within {!within}. *)

val on_all_alike : (unit -> 'a) -> 'a
(** Of a function that does the same on all ranks: its exception is {!Raised}, without a word to the
    others. *)

val attempt : (unit -> 'a) -> ('a, failure) result
val value : ('a, failure) result -> 'a
(** Raises {!Raised}. *)

val patience : string -> unit -> unit
(** [patience place] is to be called again and again by a rank that waits there for others: where
    [MUSTER_MPI_CHECK] is 1 it says so, once, after 5 seconds. *)
