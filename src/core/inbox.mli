(** A first-in first-out queue for any number of senders and receivers. Lock-free. *)

type 'a t

val create : unit -> 'a t

val push : 'a t -> 'a -> unit
(** What the sender did before is visible to the receiver. *)

val pop : 'a t -> 'a option
val is_empty : 'a t -> bool
