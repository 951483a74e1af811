(** A lock-free first-in first-out queue for any number of senders and receivers. *)

type 'a t

val create : 'a -> 'a t
(** [create empty]: [empty] is never pushed. It stands for "nothing" in results (compared
    physically), so that none allocates. *)

val push : 'a t -> 'a -> unit
(** The item's receiver sees the sender's earlier writes. *)

val pop : 'a t -> 'a
(** The oldest item. The queue does not keep it. *)

val is_empty : 'a t -> bool

val oldest : 'a t -> 'a
(** The item that {!pop} would return; [empty], too, while a receiver takes it. *)
