(** A first-in first-out queue for any number of senders and receivers. Lock-free. *)

type 'a t

val create : 'a -> 'a t
(** [create empty]: [empty] is never pushed. It stands for "nothing" (compared physically), so that to pop
    allocates nothing, and is put where an item was: the queue does not keep what was received. *)

val push : 'a t -> 'a -> unit
(** What the sender did before is visible to the receiver. *)

val pop : 'a t -> 'a
(** The oldest item, or [empty]. *)

val is_empty : 'a t -> bool

(** {1 Whether it is served} *)

type 'a moment

val moment : 'a t -> 'a moment
(** Another one after every item that is taken: two that are the same, [==], with an item there,
    mean that nobody took one meanwhile. Whoever keeps one keeps the memory of what came after it. *)

val never : 'a moment
(** That of no queue. *)
