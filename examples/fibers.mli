(** Fibers of Eio, where that is installed. *)

val each : int -> int -> (int -> unit) -> unit
(** [each first last f] calls [f i] for each of these numbers, each call in a fiber of one loop that
    runs here. Without Eio it is a plain loop. *)
