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

type pool = {
  workers : int;
  minor_heaps : int list;  (** words, by worker *)
}

type t = {
  muster : string;  (** its version *)
  ocaml : ocaml;
  cpu : Muster_core.Cpu.report;
  minor_heap : int;  (** words, before there is a pool *)
  minor_heap_source : source;
  pool : pool;  (** as it really started *)
}

val muster_version : string

val gather : unit -> t
(** Starts the default pool, to see what it is like. *)
