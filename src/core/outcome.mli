(** An exception carried as a value, with the backtrace of its origin. *)

type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

val caught : exn -> failure
(** To be called first thing in an exception handler. An asynchronous exception that strikes here is
    the result, and does not cut the handler short. *)

val raise : failure -> 'a
(** Raises the exception as if from its origin. *)

val on_failure : (unit -> 'a) -> (failure -> unit) -> 'a
(** [on_failure f look] is [f ()]. An exception goes on after [look] has seen it. *)

val finally : ('b -> unit) -> 'b -> (unit -> 'a) -> 'a
(** [finally last x f] is [f ()]; however that ends, [last x] is called before it goes on. No
    closure but [f]. What [last] raises hides what [f] did. *)
