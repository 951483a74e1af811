(** Affinity masks and CPU quotas for child processes. *)

val pinned : unit -> (Child.confine, string) result
(** To one CPU, by [taskset]; an error says why not. *)

val with_quota : float -> (Child.confine -> 'a) -> ('a, string) result
(** [with_quota cpus f] makes a control group of version 1 or 2, whose processes may use so many
    CPUs, for the time of [f confine]. *)
