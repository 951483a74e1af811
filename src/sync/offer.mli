(** One party that waits at a channel, or at several for the first event. Names only
    [Atomic] and [Waiter]. *)

type t
(** Its entry at one of them. *)

val is_open : t -> bool
(** Whether {!accept} could say yes. Once false, it stays so, but for an offer that was accepted.
    *)

val accept : t -> bool
(** Ends the party's wait by this offer; whether it did, now or in an earlier call. Any number of
    parties may call it, and all get the same answer: if false, the party has taken another offer,
    or was cancelled. *)

val alone : Muster_core.Waiter.t -> t
(** The only offer of a party. *)

(** {1 Several offers, of which one is accepted} *)

type race

val race : unit -> race
val one_of : race -> int -> Muster_core.Waiter.t -> t

val winner : race -> int option
(** The number of the offer that was accepted, if the wait is over; none if {!withdraw}n. *)

val is_decided : race -> bool

val withdraw : race -> bool
(** Makes all its offers void; whether that came first. If not, one has been chosen, and the
    waiter gets its grant. *)
