(** The event with the smallest index, of many that come from anywhere at any time. *)

type 'a t

val create : unit -> 'a t

val note : 'a t -> int -> 'a -> unit
(** Remembers the event of that index, unless one with a smaller or equal index is known. *)

val stops : 'a t -> int -> bool
(** Whether an event left of this index is known. One or two loads. *)

val index : 'a t -> int option
val get : 'a t -> 'a option
