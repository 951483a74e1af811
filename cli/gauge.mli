(** How quick the CPUs are while a program runs on them. Two CPUs may be threads of one core; a
    virtual machine's may be threads of cores that others use; and the clock may be lower where many
    cores work. All these make a loop that only computes take longer. *)

type t

val make : unit -> t

val look : cpus:int list -> t -> unit
(** Has the calling thread compute for some 200 us on one of these CPUs, each time on the next. Linux
    only. *)

val mean : t -> float option
(** The mean of the looks so far, in seconds of CPU time. *)
