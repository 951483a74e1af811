(** Domain-local-await (by Vesa Karvonen), where it is installed: how code waits that knows no
    scheduler, or that another scheduler runs. Where it is missing nobody else provides a way. *)

type trigger = { release : unit -> unit; await : unit -> unit }
(** A one-time event, as in that library: [await] returns once [release] was called, or earlier. *)

(** {2 Muster's way} *)

val within : (unit -> trigger) -> (unit -> 'a) -> 'a
(** [within prepare f] is [f ()]; meanwhile waits through domain-local-await in the calling domain
    are those of [prepare]. Nested calls must end in reverse order. So of a domain's threads only
    the one whose place domain-local storage shows may call it, unless {!has_each_its_own}. 15 ns.
    *)

val each_thread : self:(unit -> 'thread) -> id:('thread -> int) -> unit
(** From now on each thread of the calling domain has a way of waiting of its own. Raises [Failure]
    if that is so already. *)

val has_each_its_own : unit -> bool
(** Whether {!each_thread} was called in this domain. *)

(** {2 Other schedulers' ways} *)

val foreign : unit -> trigger option
(** A trigger for the calling thread, if its domain has another scheduler's way. 10 ns. *)

val await : firmly:bool -> trigger -> bool
(** Waits. False where the scheduler does not run the calling thread or stack, which cannot be
    suspended. Raises the scheduler's cancellation; if [firmly], returns early instead. *)

val is_cancellation : exn -> bool
(** Whether {!val-await} has raised such an exception before: its fiber is cancelled. *)
