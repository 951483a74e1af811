(** One channel: its state, and the steps that never wait. {!Chan} waits between them. *)

type 'a t

val create : capacity:int -> 'a t
(** [max_int] for no bound; 0 for messages that go from hand to hand. *)

val number : 'a t -> int
(** Each has its own. *)

(** {1 Steps} *)

type sent =
  | Sent
  | Refused  (** closed *)
  | Full

type 'a received =
  | Message of 'a
  | Drained  (** closed, and nothing left *)
  | Nothing

val send : 'a t -> 'a -> sent
val receive : 'a t -> 'a received
val close : 'a t -> unit
val is_closed : 'a t -> bool
val length : 'a t -> int

(** {1 Getting in line}

    Whoever found no partner leaves an offer. *)

val line_up_to_send : 'a t -> Offer.t -> 'a -> sent ref option
(** What became of it, to be read when the offer has been accepted ([Sent] or [Refused]). [None],
    and nothing was left, if the step would succeed now. *)

val line_up_to_receive : 'a t -> Offer.t -> 'a received ref option
(** The same for [Message] or [Drained]. *)
