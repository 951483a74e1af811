(** Actions that are due at a certain time, without a thread that keeps watch. *)

type key

val add : int -> (unit -> unit) -> key
(** [add at f] calls [f] at time [at] (of [Machine.now]) or, as soon as somebody {!look}s, after it.
    [f] is short and doesn't raise. Where an asynchronous exception cuts it short, it is called
    again. O(log n). *)

val remove : key -> unit
(** It is not called any more, unless it is due. *)

val look : unit -> bool
(** Does what is due; whether there was anything. Two loads if nothing is set. *)

val are_set : unit -> bool
(** Whether anything is still to come. One load. *)

val at_most : int -> int
(** As many milliseconds, or as are left until something is due. *)
