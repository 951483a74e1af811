(** An exception carried as a value, with the backtrace of its origin. *)

type failure = { exn : exn; backtrace : Printexc.raw_backtrace }

val caught : exn -> failure
(** To be called first thing in an exception handler. An asynchronous exception that strikes here
    takes the place of the first, and the handler goes on. *)

val index_of : failure -> int -> int
(** Where a failure of code at that index stands among those of other code: Ctrl-C comes first, as
    it may have struck code that is in vain. *)

val raise : failure -> 'a
(** Raises the exception as if from its origin. *)

val on_failure : (unit -> 'a) -> (failure -> unit) -> 'a
(** [on_failure f look] is [f ()]. An exception goes on after [look] has seen it. *)

val firmly : ('a -> 'b -> unit) -> 'a -> 'b -> unit
(** [firmly f x y] is [f x y], for an [f] that may be called again: where an asynchronous exception
    cuts it short, it is called once more before that goes on. A second one is let through. Nothing
    is allocated before the call. Where the call must begin, [firmly] may not be applied partially:
    that looks for signals first. *)

val finally : ('b -> unit) -> 'b -> ('c -> 'a) -> 'c -> 'a
(** [finally last x f y] is [f y]; however that ends, [last x] is called before it goes on. Unbroken
    until [f]. An exception of [last] hides that of [f]. *)
