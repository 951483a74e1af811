(** The CPUs that this process may use. *)

val available : unit -> int
(** How many workers make sense now, at least 1: the CPUs of the {!field-affinity} mask, or
    fewer if a {!field-quota} allows less time than they have; the value of [MUSTER_DOMAINS]
    instead, if that is a number from 1. Never more than {!field-runtime_limit}.

    - {b Raises} nothing: a file that is unreadable, or makes no sense, does not count.
    - {b Cost} reads two files in [/proc] and one or two for each level of nested cgroups:
      60 us. Nothing is remembered, so a changed quota is seen.
    - {b Domains} any may call it. *)

val available_now : before:int -> int
(** {!val-available}, for a caller that had [before] at the last look: that is not exceeded where
    the files cannot be opened any more, as by a process that has too many of others open. Raises,
    Cost and Domains as there. *)

val affinity : unit -> int
(** CPUs that the calling thread may be scheduled on ([taskset], cpusets); all CPUs of the
    machine where the system has no such mask. Never more than {!val-runtime_limit}. *)

val quota : unit -> float option
(** CPU time per unit of time that the tightest enclosing Linux cgroup (v1 or v2) grants:
    1.5 is one and a half CPUs. [None] without a quota, and on every other system. *)

val runtime_limit : unit -> int
(** Domains that OCaml's runtime can have at once: 128, or [d=] of [OCAMLRUNPARAM] from
    OCaml 5.3 on. *)

(** {1 Where the numbers come from} *)

val parameters : (string -> string option) -> string option
(** The settings that the runtime heeds, in that environment: [OCAMLRUNPARAM], else
    [CAMLRUNPARAM]. *)

type reading = { file : string; cpus : float option }
(** The content of one cgroup's file; [None] is no limit. *)

(** The environment variable [MUSTER_DOMAINS]. *)
type override =
  | Unset
  | Domains of int
  | Ignored of string  (** this value is not a number from 1 *)

type report = {
  affinity : int;
  readings : reading list;  (** of the process's cgroup and those around it, inside out *)
  quota : reading option;  (** the tightest *)
  override : override;
  runtime_limit : int;
  available : int;
}

val report : unit -> report

val report_of :
  affinity:int -> getenv:(string -> string option) -> read:(string -> string option) -> report
(** {!type-report} for a machine with this affinity, environment and these files ([None]: there
    is no such file, or it may not be read). *)
