(** A party's entry in the line of a channel. The wait of a party ends by one of its offers. *)

type t

val is_open : t -> bool
(** Whether {!accept} could say yes. Once false, it stays so, but for an offer that was accepted. *)

val accept : t -> bool
(** Ends the party's wait by this offer, and tells whether it did, now or in an earlier call. All
    callers get the same answer: if false, the party has taken another offer, or was cancelled. *)

val alone : Muster_core.Waiter.t -> t
(** The only offer of a party. *)

(** {1 Several offers, of which one is accepted} *)

type race

val race : unit -> race
val one_of : race -> int -> Muster_core.Waiter.t -> t

val winner : race -> int option
(** The number of the accepted offer, once the wait is over; none after {!withdraw}. *)

val is_decided : race -> bool

val withdraw : race -> bool
(** Makes all its offers void. If false, one has been chosen, and the waiter gets its grant. *)
