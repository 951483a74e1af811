(** Exceptions of tasks that nobody awaits: each is reported once, none is lost. *)

val set_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
(** Replaces the default handler, which prints to [stderr]. *)

val note : Promise.owner -> Promise.unheard
(** A task of that pool has failed, and nobody has waited for it so far. *)

val collect : unit -> unit
(** Reports the failures whose promises have been collected. Workers call it when they find nothing
    to do, when they look up, and before they leave. A few loads if there is no failure. *)

val flush : ?owner:Promise.owner -> unit -> unit
(** Reports all failures (of one pool), and waits a second at most for other threads that are
    reporting some. The program's end calls it, too. *)

val protect : (unit -> unit) -> unit
(** Calls the function; its exception goes to the handler. [Sys.Break] goes to the caller, here and
    wherever a handler raises it. *)

val complain : exn -> unit
(** Tells on [stderr] that the handler raised it. *)
