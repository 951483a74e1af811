(** A region: one function, called by several workers of a pool at once. *)

val run :
  ?to_the_end:bool -> Place.t -> revoke:bool -> workers:int -> (int -> unit) -> unit
(** [run w ~revoke ~workers share] calls [share] with 0 to [workers - 1], each on the worker of that
    index, and returns when all have ended. [revoke]: a share that its worker has not begun may be
    run by the caller, or by any worker. The exception of the leftmost share is raised.

    [to_the_end]: no asynchronous exception, nor a second one, ends the call before every share has
    ended. Kernels need it, since C code uses the caller's memory. *)

val alone : Place.t -> (int -> unit) -> unit
(** One share, on the calling thread, run as in a region. *)
