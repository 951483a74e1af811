(** The CPUs that the process may use, as of the last look. *)

val usable : unit -> int

val affinity : unit -> int
(** How many the process is bound to. *)

val refresh : int -> int option
(** [refresh now] looks again if the process is bound to other CPUs, which a system call tells in
    1 us; or if a second has passed: a container may have been resized, which is read from files in
    half a millisecond. The number before, if that has changed. *)
