(** Affinity masks and CPU quotas for child processes. *)

val pinned : unit -> (Child.confine, string) result
(** To one CPU, by [taskset]; an error says why not. *)

val with_quota_of_one_cpu : (Child.confine -> 'a) -> ('a, string) result
(** [with_quota_of_one_cpu f] makes a control group of version 1 or 2 for the time of
    [f confine]. *)
