(** Actions that are due at a certain time, without a thread that waits for it. *)

type key

val after : float -> int
(** The time in so many seconds. *)

val add : int -> (unit -> unit) -> key
(** [add at f] has a worker that {!look}s at time [at] (of [Machine.now]) or later call [f], which
    is short and does not raise; once more if an asynchronous exception cuts it short. *)

val remove : key -> unit
(** The action is not done any more, unless it is due. *)

val look : unit -> bool
(** Does what is due; whether there was anything. One load if nothing is set. *)

val are_set : unit -> bool
(** Whether anything is still to come. *)

val at_most : int -> int
(** So many milliseconds, or as many as are left until something is due. *)
