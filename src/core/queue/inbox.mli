(** A first-in first-out queue for any number of senders and receivers. Lock-free. *)

type 'a t

val create : 'a -> 'a t
(** [create empty]: [empty] is never pushed. It stands for "nothing" (compared physically), so
    that to pop allocates nothing, and is put where an item was: the queue does not keep what was
    received. *)

val push : 'a t -> 'a -> unit
(** What the sender did before is visible to the receiver. *)

val pop : 'a t -> 'a
(** The oldest item, or [empty]. *)

val is_empty : 'a t -> bool

val oldest : 'a t -> 'a
(** What {!pop} would return, or [empty]; [empty], too, while a receiver takes it. *)
