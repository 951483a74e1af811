(** What [muster doctor] finds on this machine. *)

type ocaml = {
  version : string;
  architecture : string;
  system : string;
  flambda : bool;
  thread_sanitizer : bool;
  backtraces : bool;
  parameters : string option;  (** [OCAMLRUNPARAM] *)
}

(** Who said how large a minor heap is. *)
type source = Runtime_default | Parameters

(** [MUSTER_GOVERNOR] *)
type governor = On | Off | Random

type sight = {
  run_queue_wait : bool;  (** how long a thread waited for a CPU *)
  runnable : int option;  (** threads that want to run now, the doctor's own included *)
  online : int;  (** CPUs of the machine *)
  whole_machine : bool;  (** the process may use them all, so [runnable] is about its CPUs *)
  governor : governor;
  ignored_governor : string option;  (** what [MUSTER_GOVERNOR] says instead *)
}
(** What a pool can see of the machine's other work. *)

type pool = {
  workers : int;
  minor_heaps : int list;  (** words, by worker *)
  trial : Muster.Pool.stats;  (** after some work *)
}

type t = {
  muster : string;  (** its version *)
  ocaml : ocaml;
  cpu : Muster_core.Cpu.report;
  minor_heap : int;  (** words, before there is a pool *)
  minor_heap_source : source;
  minor_heap_room : int;
      (** of the sizes that a pool sets, the largest for which the address space has room; or 0 *)
  sight : sight;
  pool : pool;  (** as it really started *)
}

val muster_version : string

val worker_heaps : Muster.Pool.t -> int list
(** The words of each worker's minor heap, whose domains it has start if they are not there. *)

val gather : unit -> t
(** Starts the default pool, to see what it is like. *)
