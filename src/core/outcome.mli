(** An exception carried as a value, with the backtrace of its origin. *)

type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

val caught : exn -> failure
(** To be called first thing in an exception handler. *)

val raise : failure -> 'a
(** Raises the exception as if from its origin. *)
