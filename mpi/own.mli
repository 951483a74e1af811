(** A rank's life, and its CPUs. Muster_mpi.run says what it does. *)

val run : (unit -> unit) -> unit
