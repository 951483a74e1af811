(** A party's entry in the line of a channel. A party has a race of several offers, and its wait
    ends by one of them. *)

type race

val race : unit -> race

val winner : race -> int option
(** The number of the accepted offer, once the wait is over; none after {!withdraw}. *)

val is_decided : race -> bool

val withdraw : race -> bool
(** Makes all its offers void. If false, one has been chosen, and the waiter gets its grant. *)

type t

val of_race : race -> int -> Waiter.t -> t

val is_open : t -> bool
(** Whether {!accept} could say yes. Once false, it stays so, but for an offer that was accepted. *)

val accept : t -> bool
(** Ends the party's wait by this offer, and tells whether it did, now or in an earlier call. All
    callers get the same answer: if false, the party has taken another offer, or was cancelled. *)
