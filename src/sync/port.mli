(** One channel: its state, and the steps that never wait. {!Chan} waits between them. *)

type 'a t

val create : capacity:int -> 'a t
(** [max_int] for no bound; 0 for messages that go from hand to hand. *)

val number : 'a t -> int
(** Each has its own. *)

val same : 'a t -> 'b t -> ('a, 'b) Type.eq option

(** {1 Steps} *)

type sent = Sent | Refused  (** closed *) | Full
type 'a received = Message of 'a | Drained  (** closed, and nothing left *) | Nothing

val send : 'a t -> 'a -> sent
val receive : 'a t -> 'a received
val close : 'a t -> unit
val is_closed : 'a t -> bool
val length : 'a t -> int

val unchanged : 'a t -> unit -> bool
(** [let unchanged = unchanged port in …]: whether [port] has not changed since then. *)

(** {1 Getting in line, with a cell for the result once the offer is accepted} *)

type 'a entry

val to_send : Offer.t -> 'a -> 'a entry * sent ref
(** [Sent] or [Refused]. *)

val drop : 'a entry -> unit
(** For the party, after its wait: an entry that was not accepted keeps no message alive. *)

val to_receive : Offer.t -> 'a entry * 'a received ref
(** [Message] or [Drained]. *)

val line_up : 'a t -> 'a entry list -> bool
(** Puts them all in line, in one step. If the step of one of them would succeed now, it puts none
    there, and is false. *)
