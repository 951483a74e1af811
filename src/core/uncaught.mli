(** Exceptions of tasks that nobody awaits: each is reported once, none is lost. *)

val set_handler : (exn -> Printexc.raw_backtrace -> unit) -> unit
(** Replaces the default handler, which prints to [stderr]. *)

val note : Promise.owner -> Promise.unheard
(** A task of that pool has failed and nobody waits for it, so far. Where there are many, calls the handler for
    those that are certain. *)

val collect : unit -> unit
(** Reports those whose promises have been collected. Workers call it when they go to sleep, and now and then while they
    work. One load if there is none. *)

val is_watched_by : Promise.owner -> bool
(** Whether the last one is of the last ten seconds, and of that pool: then a worker of it has to look for
    collected ones, whoever's. *)

val flush : ?owner:Promise.owner -> unit -> unit
(** Reports what is left (of one pool), and waits a second at most for other threads that are reporting. Also called when the
    program ends. *)

val protect : (unit -> unit) -> unit
(** Calls the function; its exception goes to the handler. [Sys.Break] goes to the caller, here and wherever
    a handler raises it. *)

val complain : exn -> unit
(** Tells on [stderr] that the handler raised it. *)
