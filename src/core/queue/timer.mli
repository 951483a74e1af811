(** Actions that are due at a certain time, without a thread that waits for it. *)

type key

val add : int -> (unit -> unit) -> key
(** [add at f] has [f] called at time [at] (of [Machine.now]), or as soon as a worker {!look}s after
    it. [f] is short and does not raise; it is called again if an asynchronous exception cuts it
    short. *)

val remove : key -> unit
(** It is not called any more, unless it is due. *)

val look : unit -> bool
(** Does what is due; whether there was anything. One load if nothing is set. *)

val are_set : unit -> bool
(** Whether anything is still to come. *)

val at_most : int -> int
(** So many milliseconds, or as many as are left until something is due. *)
