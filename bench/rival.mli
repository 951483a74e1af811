(** Domainslib, where it is installed. *)

type pool

type runner = { run : 'a. domains:int -> (pool -> 'a) -> 'a }
(** [run ~domains f] is [f pool] for a new pool of [domains] domains, the caller included,
    as a task of that pool, which is torn down afterwards. *)

val runner : runner option
(** [None] where Domainslib is not installed; then there is no [pool] either. *)

type 'a promise

val async : pool -> (unit -> 'a) -> 'a promise
val await : pool -> 'a promise -> 'a
val parallel_for : pool -> start:int -> finish:int -> (int -> unit) -> unit
