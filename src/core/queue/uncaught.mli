(** Exceptions of tasks that nobody awaits: each is reported once, none is lost. *)

val set_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
(** Replaces the default handler, which prints to [stderr]. *)

val note : Promise.owner -> Promise.unheard
(** A task of that pool has failed, and nobody has waited for it so far. [Sys.Break] of one that was
    cancelled is raised. *)

val collect : unit -> unit
(** Reports the failures whose promises have been collected. Workers call it when they find nothing
    to do, when they look up, and before they leave. A few loads if there is no failure. *)

val flush : ?owner:Promise.owner -> unit -> unit
(** Reports all failures (of one pool), and waits a second at most for other threads that are
    reporting some. The program's end calls it, too. *)

val protect : string -> (unit -> unit) -> unit
(** [protect what f] is [f ()]; its exception goes to the handler. By default that prints that
    [what] raised it. [Sys.Break] goes to the caller, here and wherever a handler raises it. *)

val complain : string -> exn -> unit
(** [complain what exn] tells on [stderr] that [what] raised it. *)

val complain_of_handler : exn -> unit
