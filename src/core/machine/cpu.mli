(** The CPUs that this process may use. *)

val available : unit -> int
(** How many workers make sense now, at least 1: the CPUs of the {!field-affinity} mask, or fewer if
    a {!field-quota} allows less time than they have; the value of [MUSTER_DOMAINS] instead, if that
    is a number from 1. Never more than {!field-runtime_limit}.

    A file that is unreadable, or makes no sense, does not count. 60 us. *)

val available_now : before:int -> int
(** The same, for a caller that had [before] at the last look: not more than that where the files
    cannot be opened any more, as by a process that has too many of others open. *)

val affinity : unit -> int
(** CPUs that the calling thread may be scheduled on ([taskset], cpusets); all CPUs of the machine
    where the system has no such mask. Never more than {!field-runtime_limit}. *)

(** {2 Where the numbers come from} *)

type reading = { file : string; cpus : float option }
(** A cgroup's file, v1 or v2, and the CPU time per unit of time that it grants: 1.5 is one and a
    half CPUs, [None] no limit. *)

(** The environment variable [MUSTER_DOMAINS]. *)
type override =
  | Unset
  | Domains of int
  | Ignored of string  (** this value is not a number from 1 *)

val override : unit -> override

type report = {
  affinity : int;
  readings : reading list;  (** of the process's cgroup and those around it, inside out *)
  quota : reading option;  (** the tightest *)
  override : override;
  runtime_limit : int;  (** domains *)
  available : int;
}

val report : unit -> report

val report_of :
  affinity:int ->
  runtime_limit:int ->
  setting:string option ->
  read:(string -> string option) ->
  report
(** {!type-report} for a machine with these numbers, value of [MUSTER_DOMAINS], and files ([None]:
    there is no such file, or it may not be read). *)

val idle : unit -> int option
(** For how long the machine's CPUs have had nothing to run, all together, in ns (Linux only). *)
