(** The one of several sends and receives that can be done first. *)

type 'b case

val receive : 'a Port.t -> ('a option -> 'b) -> 'b case
(** [None] once closed and drained. *)

val send : 'a Port.t -> 'a -> sent:(unit -> 'b) -> refused:(unit -> 'b) -> 'b case

val after : float -> (unit -> 'b) -> 'b case
(** In so many seconds, if no other case can be done. *)

val first : 'b case list -> 'b
(** {b Raises} [Invalid_argument] if there is none. *)

val first_ready : 'b case list -> 'b option
