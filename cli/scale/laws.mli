(** What the times on several numbers of workers say about others: Amdahl's law and the universal
    scalability law (Gunther).

    With [n] workers on [p] CPUs at most, and [c = min n p] of them at work, a run takes
    [a (1 / c + σ (1 - 1 / c) + κ (n - 1))]. [σ] is the part of the time that is not shared, or spent
    waiting in line; [κ] the cost of each further worker for all the others. Amdahl's law has no [κ].
    Where each worker has a CPU, these are the laws as they are known. The form is linear in [a], [a σ],
    [a κ]: they are found by least squares of the relative errors, none of them below 0. *)

type law = {
  one : float;  (** the time on one worker *)
  sigma : float;
  kappa : float;
  error : float;  (** the root of the mean square of the relative errors *)
}

val amdahl : cpus:float -> (int * float) list -> law option
(** Of numbers of workers and times; only those count that have a CPU for each worker. [None] for fewer
    than two. *)

val universal : cpus:float -> (int * float) list -> law option
(** [None] for fewer than three, or without two that have a CPU for each worker. *)

val time : cpus:float -> law -> int -> float

val speed_up : law -> float -> float
(** Over one worker, of so many that have a CPU each. *)

val best : cpus:float -> law -> int
(** The number of workers with the shortest time, the smallest of them. *)

val peak : law -> float
(** The same where every worker has a CPU; infinity where more are always better. *)
